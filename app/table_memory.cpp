#include "app/table_memory.hpp"

#include <sys/mman.h>

namespace millrace::app {

void table_memory::take(const char* what, std::size_t bytes, bool hugepages) noexcept {
  size_ = bytes;
  if (hugepages) {
    region_ = mem::region::make(what, bytes);
    return;
  }
  // No reservation: what is never touched is never needed.
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  mapped_ = at == MAP_FAILED ? nullptr : at;
}

table_memory::~table_memory() {
  if (mapped_ != nullptr) ::munmap(mapped_, size_);
}

}  // namespace millrace::app
