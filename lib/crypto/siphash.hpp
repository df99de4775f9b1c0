// crypto/siphash.hpp - SipHash-2-4: a keyed hash for tables and identifiers whose values a peer can see.
//
// Shape    64 bits out. With a secret key a peer can neither aim at one bucket nor forge a value; base/hash.hpp is
//          faster and enough where the outcome stays hidden.
// Errors   none. Source  Aumasson, Bernstein: SipHash, a fast short-input PRF. Tests  test/crypto/siphash_test.cpp
#pragma once

#include "base/bytes.hpp"

namespace millrace::crypto {

struct siphash_key {
  std::uint64_t k0 = 0;  // the key's first eight bytes, little-endian
  std::uint64_t k1 = 0;
};

[[nodiscard]] std::uint64_t siphash_2_4(const siphash_key& key, base::byte_view message) noexcept;

}  // namespace millrace::crypto
