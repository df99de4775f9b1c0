// quic/protect/packet_keys.hpp - from a traffic secret to the keys of one direction of one packet number space.
//
// Shape    TLS hands out a traffic secret and a cipher suite; derive_packet_keys() makes AEAD key, IV and header
//          protection key of them. A key update changes secret, AEAD key and IV, and leaves the header key as it is
//          (RFC 9001 6.1): next_secret(), then derive_payload_keys().
// Owner    plain values without heap. Those that are secret lie in a crypto::wiped<> of their owner.
// Errors   false: a version whose labels we do not know, or a secret of another size than the suite's hash.
// Source   RFC 9001 5.1 5.3 6.1 6.6, RFC 9369 3.3.2, RFC 8446 B.4. Tests  test/quic/protect/packet_keys_test.cpp
#pragma once

#include <optional>

#include "base/bytes.hpp"
#include "crypto/header_protection.hpp"
#include "crypto/hkdf.hpp"
#include "quic/wire/version.hpp"

namespace millrace::quic::protect {

// RFC 8446 B.4. AES-128-CCM (0x1304) is not offered by us, and RFC 9001 5.3 forbids 0x1305.
enum class cipher_suite : std::uint16_t {
  aes_128_gcm_sha256 = 0x1301,
  aes_256_gcm_sha384 = 0x1302,
  chacha20_poly1305_sha256 = 0x1303,
};

[[nodiscard]] constexpr std::optional<cipher_suite> find_cipher_suite(std::uint16_t number) noexcept {
  if (number < 0x1301 || number > 0x1303) return std::nullopt;
  return static_cast<cipher_suite>(number);
}
[[nodiscard]] constexpr crypto::aead_algorithm aead_of(cipher_suite suite) noexcept {
  switch (suite) {
    case cipher_suite::aes_128_gcm_sha256:
      return crypto::aead_algorithm::aes_128_gcm;
    case cipher_suite::aes_256_gcm_sha384:
      return crypto::aead_algorithm::aes_256_gcm;
    case cipher_suite::chacha20_poly1305_sha256:
      break;
  }
  return crypto::aead_algorithm::chacha20_poly1305;
}
[[nodiscard]] constexpr crypto::hash_algorithm hash_of(cipher_suite suite) noexcept {
  return suite == cipher_suite::aes_256_gcm_sha384 ? crypto::hash_algorithm::sha384 : crypto::hash_algorithm::sha256;
}

// RFC 9001 6.6. Confidentiality: packets sealed under one key. Integrity: packets refused over a connection's life.
struct aead_limits {
  std::uint64_t confidentiality_pkts;
  std::uint64_t integrity_pkts;
};
[[nodiscard]] constexpr aead_limits limits_of(crypto::aead_algorithm algorithm) noexcept {
  // ChaCha20-Poly1305 could seal more packets than packet numbers exist.
  if (algorithm == crypto::aead_algorithm::chacha20_poly1305) return {std::uint64_t{1} << 62, std::uint64_t{1} << 36};
  return {std::uint64_t{1} << 23, std::uint64_t{1} << 52};
}

using packet_iv = std::array<std::uint8_t, crypto::aead_nonce_size>;

struct payload_keys {  // what a key update replaces
  crypto::aead_key aead;
  packet_iv iv{};

  void fetch_ahead(std::size_t packet_bytes) const noexcept {
    crypto::fetch_ahead(aead, packet_bytes);
    base::fetch_ahead(&iv, sizeof(iv));
  }
};

struct packet_keys : payload_keys {
  crypto::header_key header;
};

struct traffic_secret {
  std::array<std::uint8_t, crypto::sha384_size> bytes{};
  std::uint8_t size = 0;  // 32 or 48
  [[nodiscard]] base::byte_view view() const noexcept { return {bytes.data(), size}; }
};
// False when `bytes` has not the size of the suite's hash; `out` is then untouched.
[[nodiscard]] bool set_secret(cipher_suite suite, base::byte_view bytes, traffic_secret& out) noexcept;

// What is fixed for all keys of one connection.
struct key_context {
  wire::version_number version = wire::version_1;
  cipher_suite suite = cipher_suite::aes_128_gcm_sha256;
};

[[nodiscard]] bool derive_packet_keys(crypto::engine& engine, const key_context& context, const traffic_secret& secret,
                                      packet_keys& out) noexcept;
[[nodiscard]] bool derive_payload_keys(crypto::engine& engine, const key_context& context, const traffic_secret& secret,
                                       payload_keys& out) noexcept;
// RFC 9001 6.1: the secret of the next key phase; `out` may be `secret`.
[[nodiscard]] bool next_secret(crypto::engine& engine, const key_context& context, const traffic_secret& secret,
                               traffic_secret& out) noexcept;

}  // namespace millrace::quic::protect
