// ws/wire/handshake.hpp - the two fields of the opening handshake that are computed, hashing apart (ws/accept.hpp).
//
// Shape    a key is 16 random bytes in base64, 24 characters; an accept value is the SHA-1 of key and GUID in base64,
// 28
//          characters.
// Owner    nothing. Errors  is_key(): false.
// Source   RFC 6455 4.1, 4.2.2, 11.3     Tests  test/ws/accept_test.cpp (vector W1)
#pragma once

#include <array>

#include "base/base64.hpp"

namespace millrace::ws::wire {

inline constexpr std::string_view guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";  // RFC 6455 1.3
inline constexpr std::string_view version = "13";                                 // RFC 6455 4.1
inline constexpr std::size_t key_bytes = 16;
inline constexpr std::size_t key_size = base::base64_size(key_bytes);
inline constexpr std::size_t accept_size = base::base64_size(20);

using key_text = std::array<char, key_size>;
using accept_text = std::array<char, accept_size>;

// RFC 6455 4.2.1: base64 that decodes to 16 bytes. Bits behind the last byte must be zero: one key, one spelling.
[[nodiscard]] inline bool is_key(std::string_view text) noexcept {
  std::array<std::uint8_t, key_bytes> bytes;
  std::size_t size = 0;
  return text.size() == key_size && base::decode_base64(text, bytes, size) && size == key_bytes;
}

// A client's key from 16 bytes of crypto/random.hpp.
[[nodiscard]] inline key_text make_key(const std::array<std::uint8_t, key_bytes>& nonce) noexcept {
  key_text out{};
  base::encode_base64(nonce, out.data());
  return out;
}

}  // namespace millrace::ws::wire
