// crypto/wiped.hpp - secrets that leave no trace: their bytes are cleared when their owner ends.
//
// Shape    wiped<T> holds one T and clears it on destruction; wipe() clears bytes that end some other way. Types that
//          hold keys stay plain, so that public ones (a version's Initial keys) can lie in any memory; whoever owns
//          secret ones holds them in a wiped<T>.
// Owner    not copied, not moved: a secret has one place. Errors  none.
// Source   RFC 9001 4.9 (keys are discarded). Tests  test/crypto/wiped_test.cpp
#pragma once

#include <cstring>
#include <type_traits>

#include "base/bytes.hpp"

namespace millrace::crypto {

inline void wipe(base::byte_span bytes) noexcept {
  if (bytes.empty()) return;
  std::memset(bytes.data(), 0, bytes.size());
  // Memory that nobody reads again would be left as it is; this reads it, as far as the compiler can tell.
  asm volatile("" : : "r"(bytes.data()) : "memory");
}

template <class T>
  requires(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>)
class wiped {
  T value_{};

 public:
  wiped() noexcept = default;
  wiped(const wiped&) = delete;
  wiped& operator=(const wiped&) = delete;
  ~wiped() { clear(); }

  [[nodiscard]] T& operator*() noexcept { return value_; }
  [[nodiscard]] const T& operator*() const noexcept { return value_; }
  [[nodiscard]] T* operator->() noexcept { return &value_; }
  [[nodiscard]] const T* operator->() const noexcept { return &value_; }

  // All bytes zero, now.
  void clear() noexcept { wipe({reinterpret_cast<std::uint8_t*>(&value_), sizeof(value_)}); }
};

}  // namespace millrace::crypto
