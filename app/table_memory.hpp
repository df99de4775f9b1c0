// app/table_memory.hpp - one zeroed block for the tables of a role that may be large and mostly unused.
//
// Shape    hugepages where EAL has them. Without, a private mapping of the kernel's zero pages: EAL's plain memory is
//          cleared by writing to all of it, so that a table of a million flows would take its gigabyte at start.
// Owner    the object; move-only. The hugepage block must die before EAL does.
// Errors   empty (`!memory`) when there is no such memory. Tests  test/e2e/inspect_test.py (resident size)
#pragma once

#include <cstddef>
#include <span>

#include "mem/region.hpp"

namespace millrace::app {

class table_memory {
  mem::region region_;
  void* mapped_ = nullptr;
  std::size_t size_ = 0;

 public:
  table_memory() noexcept = default;
  table_memory(const table_memory&) = delete;
  table_memory& operator=(const table_memory&) = delete;
  ~table_memory();

  // `what` names the block in EAL's memory dumps. Once an object.
  void take(const char* what, std::size_t bytes, bool hugepages) noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return region_ || mapped_ != nullptr; }
  [[nodiscard]] std::span<std::byte> bytes() noexcept {
    return {region_ ? region_.data() : static_cast<std::byte*>(mapped_), size_};
  }
};

}  // namespace millrace::app
