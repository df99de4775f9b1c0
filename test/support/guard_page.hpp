// test/support/guard_page.hpp - bytes that end where memory ends: one read too far is a crash, not a passed test.
//
// Shape    place() copies bytes so that the last one stands right in front of a page nobody may touch.
// Owner    the page owns the copy; a view lives until the next place().
// Errors   throws std::bad_alloc when the system has no memory; asking for more than the capacity is a failed test.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

#include "base/bytes.hpp"

namespace millrace::test {

class guard_page {
  std::uint8_t* begin_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t page_ = 0;

 public:
  explicit guard_page(std::size_t capacity = 128 * 1024) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    capacity_ = (capacity + page_ - 1) / page_ * page_;
    void* room = mmap(nullptr, capacity_ + page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::uint8_t*>(room);
    if (mprotect(begin_ + capacity_, page_, PROT_NONE) != 0) throw std::bad_alloc();
  }
  ~guard_page() { munmap(begin_, capacity_ + page_); }
  guard_page(const guard_page&) = delete;
  guard_page& operator=(const guard_page&) = delete;

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  // The last `size` bytes before the guard, as they are: for writers.
  [[nodiscard]] base::byte_span room(std::size_t size) {
    if (size > capacity_) {
      ADD_FAILURE() << size << " bytes do not fit in " << capacity_;
      return {};
    }
    return {begin_ + capacity_ - size, size};
  }

  [[nodiscard]] base::byte_span place(base::byte_view in) {
    const base::byte_span copy = room(in.size());
    if (!copy.empty()) std::memcpy(copy.data(), in.data(), copy.size());
    return copy;
  }
};

}  // namespace millrace::test
