// bench/mem/rows.hpp - the rows that are registered after main() has looked for general allocators.
#pragma once

void register_small_pool_rows();
void register_pool_shape_rows();
