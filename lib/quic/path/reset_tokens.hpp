// quic/path/reset_tokens.hpp - stateless reset tokens of our connection IDs, known again after everything was
// forgotten.
//
// Shape    HMAC-SHA-256(static key, connection ID), its first 16 bytes. The key is none of the connection IDs' key and
//          not derived from it, so that who can read IDs cannot make tokens.
// Owner    the prepared key, cleared at the end; not copied. The engine is the caller's lcore's.
// Errors   none. An unset key cannot be: the constructor takes it.
// Cost     one HMAC of two blocks, about 230 ns: when an ID is issued, and when a reset is sent.
// Source   RFC 9000 10.3.2. Tests  test/quic/path/reset_tokens_test.cpp
#pragma once

#include "crypto/hmac.hpp"
#include "crypto/wiped.hpp"
#include "quic/wire/stateless_reset.hpp"

namespace millrace::quic::path {

inline constexpr std::size_t reset_key_size = 32;

class reset_tokens {
  crypto::wiped<crypto::hmac_key> key_;

 public:
  // Instances that serve the same addresses share the key; RFC 9000 10.3.2 then wants IDs that no two of them issue
  // (cid_codec's have the instance inside).
  reset_tokens(crypto::engine& engine, std::span<const std::uint8_t, reset_key_size> key) noexcept;

  // `cid`: as it stands in the packet, any size.
  [[nodiscard]] wire::stateless_reset_token_value of(crypto::engine& engine, base::byte_view cid) const noexcept;
};

}  // namespace millrace::quic::path
