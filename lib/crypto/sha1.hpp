// crypto/sha1.hpp - SHA-1, for protocols that name it as a checksum between friends (WebSocket's handshake).
//
// Shape    one message, one digest. Nothing here may be used where an adversary profits from a collision.
// Owner    nothing; the engine is one lcore's. Errors  none.
// Source   FIPS 180-4 6.1     Tests  test/crypto/sha1_test.cpp, against libcrypto
#pragma once

#include "crypto/engine.hpp"

namespace millrace::crypto {

inline constexpr std::size_t sha1_size = 20;
using sha1_digest = std::array<std::uint8_t, sha1_size>;

void sha1(engine& e, base::byte_view message, sha1_digest& out) noexcept;

}  // namespace millrace::crypto
