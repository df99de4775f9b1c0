#include "mem/region.hpp"

#include <rte_lcore.h>
#include <rte_malloc.h>

#include <bit>
#include <cstdlib>
#include <cstring>

#include "mem/sanitizer.hpp"

namespace millrace::mem {

region region::make(const char* what, std::size_t bytes, std::size_t alignment, int socket) noexcept {
  region made;
  if (bytes == 0 || !std::has_single_bit(alignment)) return made;
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  // EAL counts its lcores while it starts and never before: 0 means there is no EAL in this process.
  if (rte_lcore_count() != 0) {
    made.base_ = rte_zmalloc_socket(what, bytes, static_cast<unsigned>(alignment), socket);
    made.from_eal_ = made.base_ != nullptr;
    // A leak checker cannot see into EAL's pages, and a table may hold the only pointer to something on the heap.
    if (made.from_eal_) register_leak_root(made.base_, bytes);
  } else {
    if (bytes > std::numeric_limits<std::size_t>::max() - alignment) return made;
    const std::size_t rounded = (bytes + alignment - 1) & ~(alignment - 1);  // aligned_alloc wants a multiple
    made.base_ = std::aligned_alloc(alignment, rounded);
    if (made.base_ != nullptr) std::memset(made.base_, 0, bytes);
  }
  if (made.base_ != nullptr) made.size_bytes_ = bytes;
  return made;
}

void region::release() noexcept {
  if (base_ == nullptr) return;
  if (from_eal_) {
    unregister_leak_root(base_, size_bytes_);
    rte_free(base_);
  } else {
    std::free(base_);
  }
  base_ = nullptr;
  size_bytes_ = 0;
  from_eal_ = false;
}

}  // namespace millrace::mem
