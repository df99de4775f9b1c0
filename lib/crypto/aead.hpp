// crypto/aead.hpp - the AEADs of TLS 1.3 that QUIC uses, with expanded keys, by value, on IPsec-MB.
//
// Shape    an aead_key is a schedule; make it once a key, not once a packet. open() and seal() take one run of bytes;
//          open_parts() and seal_parts() take a text that lies in several places, which costs more and saves copying.
// Units    tag 16 bytes, nonce 12 bytes, key 16 or 32 by algorithm.
// Owner    nothing is allocated; what is passed is used during the call only. A key that is secret lies in a wiped<>.
// Errors   open answers false on a wrong tag or when there is no room for one; it then clears what it wrote, so that
//          no caller can use bytes nobody vouched for. Nothing else can fail.
// Source   RFC 5116 5.1 5.2, RFC 8439 2.8, RFC 9001 5.3, NIST SP 800-38D.
// Tests    test/crypto/aead_test.cpp, test/crypto/aead_parts_test.cpp, against libcrypto
#pragma once

#include <array>
#include <span>

#include "base/fetch_ahead.hpp"
#include "crypto/engine.hpp"

namespace millrace::crypto {

inline constexpr std::size_t aead_tag_size = 16;
inline constexpr std::size_t aead_nonce_size = 12;
inline constexpr std::size_t aes128_key_size = 16;
inline constexpr std::size_t aead_key_size_max = 32;

using aead_tag = std::array<std::uint8_t, aead_tag_size>;

enum class aead_algorithm : std::uint8_t { aes_128_gcm, aes_256_gcm, chacha20_poly1305 };

[[nodiscard]] constexpr std::size_t key_size(aead_algorithm algorithm) noexcept {
  return algorithm == aead_algorithm::aes_128_gcm ? aes128_key_size : aead_key_size_max;
}

// Storage for IPsec-MB's own structs, so that this header does not include theirs; sizes asserted in aead.cpp. Of
// ChaCha20-Poly1305 it is the key itself.
struct alignas(64) aead_key {
  std::array<std::uint8_t, 1008> schedule;
  aead_algorithm algorithm;
};
static_assert(sizeof(aead_key) == 1024, "sixteen cache lines; a connection holds several");

// Into the cache what a text of so many bytes will look at: the round keys in front, and from the end on as many powers
// of the hash key as the text has blocks, at most all 48. A hint that is wrong costs time and nothing else.
inline void fetch_ahead(const aead_key& key, std::size_t text_bytes) noexcept {
  constexpr std::size_t rounds = 11 * 16;
  constexpr std::size_t powers = 48 * 16;
  constexpr std::size_t besides = 4 * 16;  // the tag, the lengths, a block begun, whole vectors
  base::fetch_ahead(key.schedule.data(), rounds);
  const std::size_t tail = text_bytes + besides < powers ? text_bytes + besides : powers;
  base::fetch_ahead(key.schedule.data() + key.schedule.size() - tail, tail);
}

// key: exactly key_size(algorithm) bytes.
void set_aead_key(engine& e, aead_algorithm algorithm, base::byte_view key, aead_key& out) noexcept;
void set_aes128_gcm_key(engine& e, base::byte_view key16, aead_key& out) noexcept;

// Decrypts `sealed` (ciphertext and tag) into `out`, which has sealed.size() - 16 bytes and may be the same memory.
// nonce: exactly 12 bytes.
[[nodiscard]] bool open(engine& e, const aead_key& key, base::byte_view nonce, base::byte_view associated,
                        base::byte_view sealed, std::uint8_t* out) noexcept;
// Encrypts in.size() bytes into `out`, followed by the 16-byte tag; in and out may be the same memory.
void seal(engine& e, const aead_key& key, base::byte_view nonce, base::byte_view associated, base::byte_view in,
          std::uint8_t* out) noexcept;

// A piece of a text: where it lies and where it goes, which may be the same memory. Pieces may be empty.
struct text_part {
  const std::uint8_t* from = nullptr;
  std::uint8_t* to = nullptr;
  std::size_t size = 0;
};
// Decrypts each part; `tag`, 16 bytes, belongs to all of them, read as one run. On false every part's `to` is cleared.
[[nodiscard]] bool open_parts(engine& e, const aead_key& key, base::byte_view nonce, base::byte_view associated,
                              std::span<const text_part> parts, base::byte_view tag) noexcept;
// Encrypts the parts, read as one run, and writes their tag, 16 bytes.
void seal_parts(engine& e, const aead_key& key, base::byte_view nonce, base::byte_view associated,
                std::span<const text_part> parts, std::uint8_t* tag) noexcept;

// The tag alone over `associated`, given in parts and read as one run: AES-128-GCM of an empty plaintext.
void authenticate(engine& e, const aead_key& key, base::byte_view nonce, std::span<const base::byte_view> associated,
                  aead_tag& tag) noexcept;

}  // namespace millrace::crypto
