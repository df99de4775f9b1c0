// base/fixed_vector.hpp - a vector whose capacity is part of its type: no heap, refusal as a value.
//
// Shape    trivially copyable elements only, stored inline.
// Errors   push_back: false when full, and nothing changes.
// Tests    test/base/fixed_vector_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace millrace::base {

template <class T, std::size_t Capacity>
class fixed_vector {
  static_assert(std::is_trivially_copyable_v<T>, "elements move by memcpy and are never destroyed");
  std::array<T, Capacity> items_{};
  std::size_t size_ = 0;

 public:
  [[nodiscard]] bool push_back(const T& item) noexcept {
    if (size_ == Capacity) return false;
    items_[size_++] = item;
    return true;
  }
  void clear() noexcept { size_ = 0; }
  // Takes out element `i` < size(); what is behind moves up.
  void erase(std::size_t i) noexcept {
    for (std::size_t next = i + 1; next < size_; ++next) items_[next - 1] = items_[next];
    if (i < size_) --size_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] bool full() const noexcept { return size_ == Capacity; }
  [[nodiscard]] static constexpr std::size_t capacity() noexcept { return Capacity; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return items_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return items_[i]; }
  [[nodiscard]] T* begin() noexcept { return items_.data(); }
  [[nodiscard]] T* end() noexcept { return items_.data() + size_; }
  [[nodiscard]] const T* begin() const noexcept { return items_.data(); }
  [[nodiscard]] const T* end() const noexcept { return items_.data() + size_; }
  [[nodiscard]] std::span<const T> view() const noexcept { return {items_.data(), size_}; }
};

}  // namespace millrace::base
