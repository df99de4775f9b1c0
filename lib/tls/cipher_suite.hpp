// tls/cipher_suite.hpp - the cipher suites, groups and encryption levels of a QUIC handshake, by their wire numbers.
//
// Source   RFC 8446 B.4 4.2.7, RFC 9001 4.1.3 5.3 (TLS_AES_128_CCM_8_SHA256 is not used; CCM is not offered here).
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::tls {

enum class cipher_suite : std::uint16_t {
  none = 0,
  aes_128_gcm_sha256 = 0x1301,
  aes_256_gcm_sha384 = 0x1302,
  chacha20_poly1305_sha256 = 0x1303,
};

enum class group : std::uint16_t { none = 0, secp256r1 = 0x0017, x25519 = 0x001d };

// The bytes of a traffic secret: the size of the suite's hash.
[[nodiscard]] constexpr std::size_t secret_size(cipher_suite suite) noexcept {
  switch (suite) {
    case cipher_suite::none:
      return 0;
    case cipher_suite::aes_128_gcm_sha256:
    case cipher_suite::chacha20_poly1305_sha256:
      return 32;
    case cipher_suite::aes_256_gcm_sha384:
      return 48;
  }
  return 0;
}
inline constexpr std::size_t max_secret_size = 48;

// In the order of the handshake. `early` carries no CRYPTO frames (RFC 9001 4.1.3): it exists for its secret.
enum class encryption_level : std::uint8_t { initial, early, handshake, application };
enum class direction : std::uint8_t { read, write };

}  // namespace millrace::tls
