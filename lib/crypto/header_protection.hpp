// crypto/header_protection.hpp - the masks that hide packet numbers, one at a time or a burst side by side.
//
// Shape    a header_key is expanded once. header_mask() answers one mask; header_masks() answers many, each under its
//          own key: eight AES blocks in flight cost about as much as one, because the cipher waits for itself.
// Units    sample 16 bytes, mask 5 bytes (8 are written by header_masks, the last three mean nothing).
// Owner    nothing; pointers are used during the call only. A key that is secret lies in a wiped<>.
// Errors   none.
// Why      IPsec-MB 1.3 has no call for this: its cheapest way to one block is a CFB call, its cipher bursts refuse
//          ECB and its ChaCha20 jobs refuse a block counter. So AES rounds, on the CPU's instructions that every
//          engine has made sure of, and the ChaCha20 block are ours.
// Source   RFC 9001 5.4, RFC 8439 2.3. Tests  test/crypto/header_protection_test.cpp, against libcrypto, RFC 9001 A
#pragma once

#include "crypto/aead.hpp"

namespace millrace::crypto {

inline constexpr std::size_t header_sample_size = 16;  // RFC 9001 5.4.2
inline constexpr std::size_t header_mask_size = 5;     // RFC 9001 5.4.1
using header_mask_bytes = std::array<std::uint8_t, header_mask_size>;

struct alignas(16) header_key {
  std::array<std::uint8_t, 16 * 15> schedule;  // AES: the round keys in order; ChaCha20: the key
  aead_algorithm algorithm;
};
static_assert(sizeof(header_key) == 256);

// key: exactly key_size(algorithm) bytes.
void set_header_key(engine& e, aead_algorithm algorithm, base::byte_view key, header_key& out) noexcept;
void set_aes128_header_key(engine& e, base::byte_view key16, header_key& out) noexcept;

// RFC 9001 5.4.3, 5.4.4. sample: exactly 16 bytes.
void header_mask(const header_key& key, base::byte_view sample, header_mask_bytes& mask) noexcept;

// Members without initialisers: a burst's worth of jobs lies on a stack, and clearing it would cost more than a mask.
struct header_mask_job {
  const header_key* key;
  const std::uint8_t* sample;        // 16 bytes
  std::array<std::uint8_t, 8> mask;  // out: the first five
};
void header_masks(std::span<header_mask_job> jobs) noexcept;

}  // namespace millrace::crypto
