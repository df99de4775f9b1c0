// crypto/sha384.hpp - SHA-384 and HMAC-SHA-384: the hash of TLS_AES_256_GCM_SHA384's key schedule.
//
// Shape    one message, one digest. A key is prepared as in crypto/hmac.hpp: the two hash states behind its pads.
// Why      ours, in portable code: IPsec-MB 1.3 has no call that goes on from a state with a message of any size, and
//          this runs a few times a handshake, never for a packet.
// Owner    nothing. Errors  none; any size, 0 included.
// Source   FIPS 180-4 4.1.3 4.2.3 5.3.4 6.4 6.5, RFC 2104. Tests  test/crypto/sha384_test.cpp, against libcrypto
#pragma once

#include <array>

#include "base/bytes.hpp"

namespace millrace::crypto {

inline constexpr std::size_t sha384_size = 48;
inline constexpr std::size_t sha512_block_size = 128;
using sha384_digest = std::array<std::uint8_t, sha384_size>;
using sha512_words = std::array<std::uint64_t, 8>;

void sha384(base::byte_view message, sha384_digest& out) noexcept;

struct hmac384_key {
  sha512_words inner;  // after the block key ^ 0x36
  sha512_words outer;  // after the block key ^ 0x5c
};

// A key over 128 bytes is hashed first (RFC 2104 2).
void set_hmac384_key(base::byte_view key, hmac384_key& out) noexcept;
void hmac384(const hmac384_key& key, base::byte_view message, sha384_digest& out) noexcept;

}  // namespace millrace::crypto
