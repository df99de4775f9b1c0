#include "../support/allocators.hpp"
#include "rows.hpp"
#include "support/eal_bench.hpp"

int main(int argc, char** argv) {
  millrace::bench::restart_with_room_for_allocators(argv);
  register_small_pool_rows();
  register_pool_shape_rows();
  return millrace::test::bench_under_eal(argc, argv, {"-m", "192"});
}
