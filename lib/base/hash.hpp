// base/hash.hpp - a fast mixing hash for tables of ours.
//
// Shape    64 bits out; `seed` comes from crypto/random at start, so that a peer who picks addresses or connection
//          IDs cannot aim at one bucket.
// Limits   not a MAC: where a peer sees the outcome, use SipHash (crypto).
// Tests    test/base/hash_test.cpp
#pragma once

#include "base/bytes.hpp"
#include "base/endian.hpp"

namespace millrace::base {

[[nodiscard]] inline std::uint64_t hash_mix(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using wide = unsigned __int128;
  const wide product = static_cast<wide>(a) * b;  // folded multiply: every input bit reaches every output bit
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

[[nodiscard]] inline std::uint64_t hash_bytes(byte_view in, std::uint64_t seed) noexcept {
  constexpr std::uint64_t odd_a = 0x9E37'79B9'7F4A'7C15;  // fractional bits of the golden ratio
  constexpr std::uint64_t odd_b = 0xD1B5'4A32'D192'ED03;  // the same of an irrational root; odd, well mixed
  std::uint64_t state = seed ^ hash_mix(in.size() ^ odd_b, odd_a);
  const std::uint8_t* p = in.data();
  std::size_t left = in.size();
  while (left >= 16) {
    state = hash_mix(load_le64(p) ^ odd_a ^ state, load_le64(p + 8) ^ odd_b);
    p += 16;
    left -= 16;
  }
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  if (left >= 8) {
    low = load_le64(p);
    std::memcpy(&high, p + 8, left - 8);
  } else if (left != 0) {
    std::memcpy(&low, p, left);
  }
  state = hash_mix(low ^ odd_a ^ state, high ^ odd_b);
  return hash_mix(state ^ odd_b, odd_a);
}

}  // namespace millrace::base
