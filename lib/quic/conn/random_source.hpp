// quic/conn/random_source.hpp - unpredictable numbers on the data path: a keyed hash of a counter.
//
// Shape    seeded once with bytes of the kernel (crypto/random.hpp), which is a system call; next() is not.
// Use      connection IDs, challenges, skipped packet numbers, grease. Not for keys: those are TLS's.
// Threads  one lcore. Tests  test/quic/sim/
#pragma once

#include <algorithm>
#include <array>

#include "base/endian.hpp"
#include "crypto/siphash.hpp"

namespace millrace::quic::conn {

class random_source {
  crypto::siphash_key key_;
  std::uint64_t count_ = 0;

 public:
  // Tests give a key of their own: the same key, the same numbers.
  explicit random_source(const crypto::siphash_key& key) noexcept : key_(key) {}

  [[nodiscard]] std::uint64_t next() noexcept {
    std::array<std::uint8_t, 8> message;
    base::store_le64(message.data(), count_++);
    return crypto::siphash_2_4(key_, message);
  }
  void fill(base::byte_span out) noexcept {
    while (!out.empty()) {
      std::array<std::uint8_t, 8> word;
      base::store_le64(word.data(), next());
      const std::size_t n = std::min(out.size(), word.size());
      std::copy_n(word.begin(), n, out.begin());
      out = out.subspan(n);
    }
  }
};

}  // namespace millrace::quic::conn
