// base/unset_array.hpp - an array of plain values that nobody has written yet.
//
// Shape    as std::array, but without the initial values that its type gives its members: of a small table on the stack
//          that is filled a few places deep, zeroing all the others costs more than the work.
// Rules    what was not written is not read. T is trivially copyable and destructible, so that writing begins its life.
// Threads  a value. Tests  test/base/containers_test.cpp
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

namespace millrace::base {

template <class T, std::size_t N>
class unset_array {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> && N != 0);
  union {
    char nothing_;
    T items_[N];
  };

 public:
  unset_array() noexcept : nothing_() {}  // NOLINT(cppcoreguidelines-pro-type-member-init)

  [[nodiscard]] static constexpr std::size_t size() noexcept { return N; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return items_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return items_[i]; }
  [[nodiscard]] std::span<T, N> places() noexcept { return std::span<T, N>{items_, N}; }
  [[nodiscard]] T* data() noexcept { return items_; }
  [[nodiscard]] const T* data() const noexcept { return items_; }
};

}  // namespace millrace::base
