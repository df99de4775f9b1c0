// crypto/aead.hpp - AES-128-GCM and AES header protection with expanded keys, by value, on IPsec-MB.
//
// Shape    aead_key and header_key are schedules; make them once a key, not once a packet.
// Units    tag 16 bytes, nonce 12 bytes.
// Owner    nothing is allocated; `associated`, `in` and `out` are used during the call only.
// Errors   open answers false on a wrong tag or when there is no room for one; it then clears what it wrote, so that
//          no caller can use bytes nobody vouched for.
// Source   RFC 5116 5.1, RFC 9001 5.3 5.4, NIST SP 800-38D. Tests  test/crypto/aead_test.cpp, against libcrypto
#pragma once

#include <array>
#include <span>

#include "crypto/engine.hpp"

namespace millrace::crypto {

inline constexpr std::size_t aead_tag_size = 16;
inline constexpr std::size_t aead_nonce_size = 12;
inline constexpr std::size_t aes128_key_size = 16;
inline constexpr std::size_t header_sample_size = 16;  // RFC 9001 5.4.2
inline constexpr std::size_t header_mask_size = 5;     // RFC 9001 5.4.1

using aead_tag = std::array<std::uint8_t, aead_tag_size>;

// Storage for IPsec-MB's own structs, so that this header does not include theirs; sizes asserted in aead.cpp.
struct alignas(64) aead_key {
  std::array<std::uint8_t, 1024> schedule;
};
struct alignas(16) header_key {
  std::array<std::uint8_t, 16 * 11> schedule;
};

// key16: exactly 16 bytes.
void set_aes128_gcm_key(engine& e, base::byte_view key16, aead_key& out) noexcept;
void set_aes128_header_key(engine& e, base::byte_view key16, header_key& out) noexcept;

// Decrypts `sealed` (ciphertext and tag) into `out`, which has sealed.size() - 16 bytes and may be the same memory.
// nonce: exactly 12 bytes.
[[nodiscard]] bool open(engine& e, const aead_key& key, base::byte_view nonce, base::byte_view associated,
                        base::byte_view sealed, std::uint8_t* out) noexcept;
// Encrypts in.size() bytes into `out`, followed by the 16-byte tag; in and out may be the same memory.
void seal(engine& e, const aead_key& key, base::byte_view nonce, base::byte_view associated, base::byte_view in,
          std::uint8_t* out) noexcept;
// The tag alone over `associated`, given in parts and read as one run: AES-128-GCM of an empty plaintext.
void authenticate(engine& e, const aead_key& key, base::byte_view nonce, std::span<const base::byte_view> associated,
                  aead_tag& tag) noexcept;
// RFC 9001 5.4.3: the first five bytes of AES-ECB(sample). sample: exactly 16 bytes.
void header_mask(engine& e, const header_key& key, base::byte_view sample,
                 std::array<std::uint8_t, header_mask_size>& mask) noexcept;

}  // namespace millrace::crypto
