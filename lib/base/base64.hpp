// base/base64.hpp - bytes as the 64 characters of RFC 4648, with padding.
//
// Shape    encode_base64() writes base64_size(n) characters; decode_base64() takes the standard alphabet alone.
// Owner    nothing; the caller brings the room.
// Errors   decode: false, and nothing promised about `out`, for a length that is no multiple of four, a foreign
//          character, padding elsewhere than at the end, bits that belong to no byte, or too little room.
// Source   RFC 4648 4     Tests  test/base/base64_test.cpp
#pragma once

#include "base/bytes.hpp"

namespace millrace::base {

[[nodiscard]] constexpr std::size_t base64_size(std::size_t bytes) noexcept { return (bytes + 2) / 3 * 4; }

// Writes base64_size(in.size()) characters at `out`; no terminator. Answers that number.
std::size_t encode_base64(byte_view in, char* out) noexcept;

// `size` is set to the bytes written to the front of `out`.
[[nodiscard]] bool decode_base64(std::string_view in, byte_span out, std::size_t& size) noexcept;

}  // namespace millrace::base
