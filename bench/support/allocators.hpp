// bench/support/allocators.hpp - the general allocators that pools are measured against.
//
// Shape    the C library's own entry points (the malloc of our binaries is mem/heap_counter's, which adds a test of a
//          thread-local), and mimalloc and jemalloc where they are installed. Both are loaded at run time with
//          RTLD_LOCAL: linked, each would replace the program's malloc or its operator new, and change what is
//          measured. jemalloc wants 2.6 KB of thread-local storage that libraries loaded late are not given by default:
//          main() calls restart_with_room_for_allocators() first, which starts the program again with a larger reserve.
#pragma once

#include <cstddef>
#include <span>

namespace millrace::bench {

struct allocator {
  const char* name;  // as it stands behind `__limit_`
  void* (*get)(std::size_t bytes);
  void (*give)(void* block);
};

// malloc first; what is not installed is not in it.
[[nodiscard]] std::span<const allocator> allocators();

// Returns when the reserve is there, or could not be had; then jemalloc is missing above.
void restart_with_room_for_allocators(char** argv);

}  // namespace millrace::bench
