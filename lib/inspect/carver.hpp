// inspect/carver.hpp - cuts one block of zeroed memory into the arrays of the tables, at start.
//
// Shape    run the same sequence of take() twice: over no memory to learn bytes(), then over a block of that size.
// Units    bytes; each array begins on a cache line.
// Owner    the block's; spans die with it.
// Errors   a block that is too small answers empty spans and is_short().
// Tests    test/inspect/aged_pool_test.cpp
#pragma once

#include <span>
#include <type_traits>

#include "base/bytes.hpp"

namespace millrace::inspect {

class carver {
  static constexpr std::size_t line = 64;
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
  bool short_ = false;

 public:
  carver() noexcept = default;  // measures only
  explicit carver(std::span<std::byte> zeroed) noexcept : base_(zeroed.data()), size_(zeroed.size()) {}

  // Room for `count` objects whose value is all zero bytes.
  template <class T>
  [[nodiscard]] std::span<T> take(std::size_t count) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> && alignof(T) <= line);
    const std::size_t at = used_;
    used_ += (count * sizeof(T) + line - 1) / line * line;
    if (base_ == nullptr) return {};
    if (used_ > size_) {
      short_ = true;
      return {};
    }
    return {reinterpret_cast<T*>(base_ + at), count};
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return used_; }
  [[nodiscard]] bool is_short() const noexcept { return short_; }
};

}  // namespace millrace::inspect
