// base/hex.hpp - bytes as lower-case hexadecimal and back.
//
// Shape    write_hex fills room the caller owns (2 characters a byte, no terminator); parse_hex is strict.
// Errors   write_hex: 0 when there is no room. parse_hex: false on odd length, a foreign character or no room.
// Tests    test/base/hex_test.cpp
#pragma once

#include "base/bytes.hpp"

namespace millrace::base {

// Answers the characters written: 2 * in.size(), or 0 when `out` is shorter than that.
[[nodiscard]] inline std::size_t write_hex(byte_view in, std::span<char> out) noexcept {
  constexpr std::string_view digits = "0123456789abcdef";
  if (out.size() / 2 < in.size()) return 0;
  char* at = out.data();
  for (const std::uint8_t byte : in) {
    *at++ = digits[byte >> 4];
    *at++ = digits[byte & 15];
  }
  return in.size() * 2;
}

[[nodiscard]] constexpr int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Fills out.first(text.size() / 2); upper and lower case are accepted. `size` is written on success only.
[[nodiscard]] inline bool parse_hex(std::string_view text, byte_span out, std::size_t& size) noexcept {
  if (text.size() % 2 != 0 || out.size() < text.size() / 2) return false;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_digit(text[i]);
    const int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    out[i / 2] = static_cast<std::uint8_t>(high << 4 | low);
  }
  size = text.size() / 2;
  return true;
}

}  // namespace millrace::base
