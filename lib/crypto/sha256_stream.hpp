// crypto/sha256_stream.hpp - SHA-256 of what comes in pieces: a file that is read block by block.
//
// Shape    update() with each piece, finish() once. Whole blocks of 64 bytes are hashed where they lie; what is left of
//          a piece waits here.
// Owner    the engine is the caller's. Errors  none. Threads  the engine's.
// Source   FIPS 180-4 6.2. Tests  test/crypto/sha256_stream_test.cpp
#pragma once

#include "crypto/engine.hpp"

namespace millrace::crypto {

class sha256_stream {
  const engine& engine_;
  sha256_words state_ = sha256_initial;
  std::uint64_t done_bytes_ = 0;  // mixed into state_
  std::array<std::uint8_t, sha256_block_size> rest_{};
  std::size_t rest_bytes_ = 0;

 public:
  explicit sha256_stream(const engine& e) noexcept : engine_(e) {}
  void update(base::byte_view piece) noexcept;
  void finish(sha256_digest& out) noexcept;
};

}  // namespace millrace::crypto
