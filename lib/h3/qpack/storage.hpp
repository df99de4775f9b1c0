// h3/qpack/storage.hpp - arrays taken one behind the other out of memory that the caller brought.
//
// Shape    add<T>() sums up what will be needed; take<T>() then makes the arrays, all zero, in the same order.
// Owner    the caller keeps the memory; the arrays live as long as it does.
// Errors   take: an empty span when the memory ends: our own bug, as storage_size() said how much it takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/assert.hpp"

namespace millrace::h3::qpack {

inline constexpr std::size_t storage_align = 8;

class storage_sum {
  std::size_t size_ = storage_align;  // memory may begin anywhere

 public:
  template <class T>
  constexpr storage_sum& add(std::size_t count) noexcept {
    size_ += (count * sizeof(T) + storage_align - 1) / storage_align * storage_align;
    return *this;
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
};

class storage_cursor {
  std::span<std::byte> rest_;

 public:
  explicit storage_cursor(std::span<std::byte> memory) noexcept : rest_(memory) {
    const std::size_t off = reinterpret_cast<std::uintptr_t>(memory.data()) % storage_align;
    if (off != 0) skip(storage_align - off);
  }
  template <class T>
  [[nodiscard]] std::span<T> take(std::size_t count) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= storage_align);
    const std::size_t size = (count * sizeof(T) + storage_align - 1) / storage_align * storage_align;
    MILLRACE_ASSERT(size <= rest_.size());
    if (size > rest_.size()) return {};
    T* const at = reinterpret_cast<T*>(rest_.data());
    if (size != 0) std::memset(rest_.data(), 0, size);
    skip(size);
    return {at, count};
  }

 private:
  void skip(std::size_t size) noexcept { rest_ = rest_.subspan(size < rest_.size() ? size : rest_.size()); }
};

}  // namespace millrace::h3::qpack
