// crypto/hmac.hpp - HMAC-SHA-256 with prepared keys, one message or several at once.
//
// Shape    an hmac_key is the two hash states behind the key's pads, which spares two of the four blocks of a short
//          HMAC each time the key is used again. constant_hmac_key() prepares a key at compile time.
// Units    any message size, 0 included. Owner  nothing; views die with the call.
// Errors   none. Source  RFC 2104 2 4. Tests  test/crypto/hmac_test.cpp, against libcrypto and RFC 4231
#pragma once

#include <span>

#include "crypto/engine.hpp"

namespace millrace::crypto {

struct alignas(16) hmac_key {  // IPsec-MB wants the states 16-byte aligned
  sha256_words inner;          // after the block key ^ 0x36
  sha256_words outer;          // after the block key ^ 0x5c
};

// A key over 64 bytes is hashed first (RFC 2104 2).
void set_hmac_key(engine& e, base::byte_view key, hmac_key& out) noexcept;

// For keys fixed by a specification; at most one block.
template <std::size_t Size>
  requires(Size <= sha256_block_size)
[[nodiscard]] consteval hmac_key constant_hmac_key(const std::array<std::uint8_t, Size>& key) noexcept {
  std::array<std::uint8_t, sha256_block_size> inner_pad{};
  std::array<std::uint8_t, sha256_block_size> outer_pad{};
  for (std::size_t i = 0; i < sha256_block_size; ++i) {
    const unsigned byte = i < Size ? key[i] : 0u;
    inner_pad[i] = static_cast<std::uint8_t>(byte ^ 0x36u);
    outer_pad[i] = static_cast<std::uint8_t>(byte ^ 0x5cu);
  }
  hmac_key out{sha256_initial, sha256_initial};
  sha256_blocks_portable(out.inner, inner_pad.data(), 1);
  sha256_blocks_portable(out.outer, outer_pad.data(), 1);
  return out;
}

void hmac(engine& e, const hmac_key& key, base::byte_view message, sha256_digest& out) noexcept;

struct hmac_request {
  base::byte_view message;
  sha256_digest* out = nullptr;
};
// The same as one hmac() a request, but independent messages run side by side: three short ones cost about two.
void hmac_each(engine& e, const hmac_key& key, std::span<const hmac_request> requests) noexcept;

}  // namespace millrace::crypto
