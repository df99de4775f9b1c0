// crypto/hkdf.hpp - HKDF-Expand-Label with prepared secrets and labels known at compile time.
//
// Shape    QUIC and TLS 1.3 expand a secret by fixed labels into at most 32 bytes: one HMAC, whose message is the
// label.
//          make_hkdf_label() builds that message at compile time; hmac_each() runs several labels of one secret side
//          by side. Longer labels and larger outputs take hkdf_expand_label().
// Owner    nothing. Errors  none; sizes beyond the bounds do not compile, or assert.
// Source   RFC 5869 2.3, RFC 8446 7.1. Tests  test/crypto/hkdf_test.cpp
#pragma once

#include <string_view>

#include "crypto/hmac.hpp"
#include "crypto/sha384.hpp"

namespace millrace::crypto {

inline constexpr std::string_view hkdf_label_prefix = "tls13 ";                         // RFC 8446 7.1
inline constexpr std::size_t hkdf_label_max = 255 - hkdf_label_prefix.size();           // its length field is one byte
inline constexpr std::size_t hkdf_output_max = 255 * sha256_size;                       // RFC 5869 2.3
inline constexpr std::size_t hkdf_short_label_max = 32 - hkdf_label_prefix.size() - 5;  // what hkdf_label has room for

struct hkdf_label {
  std::array<std::uint8_t, 32> bytes{};  // HkdfLabel with an empty context, and the counter 1 of the only step
  std::uint8_t size = 0;                 // bytes used
  std::uint8_t output_size = 0;          // what the label says, 1 to 32
  [[nodiscard]] constexpr base::byte_view view() const noexcept { return {bytes.data(), size}; }
};

// make_hkdf_label<16>("quic key")
template <std::uint8_t OutputSize, std::size_t LabelSize>
  requires(OutputSize > 0 && OutputSize <= sha256_size && LabelSize <= hkdf_short_label_max + 1)
[[nodiscard]] consteval hkdf_label make_hkdf_label(const char (&label)[LabelSize]) {
  const std::string_view text(label, LabelSize - 1);
  hkdf_label out;
  std::size_t at = 0;
  out.bytes[at++] = 0;
  out.bytes[at++] = OutputSize;
  out.bytes[at++] = static_cast<std::uint8_t>(hkdf_label_prefix.size() + text.size());
  for (const char c : hkdf_label_prefix) out.bytes[at++] = static_cast<std::uint8_t>(c);
  for (const char c : text) out.bytes[at++] = static_cast<std::uint8_t>(c);
  out.bytes[at++] = 0;  // no context
  out.bytes[at++] = 1;  // the counter of the only step
  out.size = static_cast<std::uint8_t>(at);
  out.output_size = OutputSize;
  return out;
}

// One label: the first label.output_size bytes of `out` are the key material, all 32 are written.
void hkdf_expand(engine& e, const hmac_key& secret, const hkdf_label& label, sha256_digest& out) noexcept;

// Any label, any output up to hkdf_output_max.
void hkdf_expand_label(engine& e, const hmac_key& secret, std::string_view label, base::byte_span out) noexcept;

void hkdf_expand_label(const hmac384_key& secret, std::string_view label, base::byte_span out) noexcept;

// Either hash, for key schedules: a secret has hash_size() bytes.
enum class hash_algorithm : std::uint8_t { sha256, sha384 };
[[nodiscard]] constexpr std::size_t hash_size(hash_algorithm hash) noexcept {
  return hash == hash_algorithm::sha256 ? sha256_size : sha384_size;
}
// RFC 5869 2.2; out: exactly hash_size(hash) bytes.
void hkdf_extract(engine& e, hash_algorithm hash, base::byte_view salt, base::byte_view secret,
                  base::byte_span out) noexcept;
// secret: exactly hash_size(hash) bytes; out.size() <= 255 * hash_size(hash), label as above.
void hkdf_expand_label(engine& e, hash_algorithm hash, base::byte_view secret, std::string_view label,
                       base::byte_span out) noexcept;

}  // namespace millrace::crypto
