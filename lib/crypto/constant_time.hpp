// crypto/constant_time.hpp - comparing secrets without telling where they differ.
//
// Shape    time depends on the sizes alone. Errors  views of different sizes are unequal (sizes are no secret).
// Source   RFC 9001 9.5
// Tests    test/crypto/constant_time_test.cpp
#pragma once

#include "base/bytes.hpp"
#include "base/endian.hpp"

namespace millrace::crypto {

[[nodiscard]] inline bool equal_secret(base::byte_view a, base::byte_view b) noexcept {
  if (a.size() != b.size()) return false;
  std::uint64_t difference = 0;
  std::size_t i = 0;
  for (; a.size() - i >= 8; i += 8) difference |= base::load_le64(a.data() + i) ^ base::load_le64(b.data() + i);
  for (; i < a.size(); ++i) difference |= static_cast<std::uint64_t>(a[i] ^ b[i]);
  // The compiler must not see that only "zero or not" matters, or it could leave the loop early.
  asm volatile("" : "+r"(difference));
  return difference == 0;
}

}  // namespace millrace::crypto
