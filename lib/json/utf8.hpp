// json/utf8.hpp - where one UTF-8 sequence ends, and whether it is one.
//
// Shape    utf8_step() judges the bytes at the front of a view; utf8_is_valid() a whole text.
// Errors   a broken sequence is answered with the bytes it spoils: the maximal subpart, which Unicode recommends to
//          replace by one U+FFFD, so that what follows it is read in step again.
// Source   The Unicode Standard 15.0, 3.9, table 3-7 and "U+FFFD substitution of maximal subparts"; RFC 3629 4.
// Tests    test/json/utf8_test.cpp
#pragma once

#include <cstring>
#include <type_traits>

#include "base/bytes.hpp"

namespace millrace::json {

struct utf8_sequence {
  std::uint8_t size = 0;  // bytes to take, 1..4
  bool valid = false;     // they are one scalar value; false: they are to be replaced as a whole
};

// `in` must not be empty.
[[nodiscard]] constexpr utf8_sequence utf8_step(std::string_view in) noexcept {
  const auto at = [in](std::size_t i) { return static_cast<std::uint8_t>(in[i]); };
  const std::uint8_t lead = at(0);
  if (lead < 0x80) return {1, true};
  std::uint8_t low = 0x80;  // bounds of the second byte: they alone exclude overlong forms, surrogates, > U+10FFFF
  std::uint8_t high = 0xBF;
  std::uint8_t size = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    size = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    size = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    size = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {1, false};
  }
  for (std::uint8_t i = 1; i < size; ++i) {
    if (i >= in.size() || at(i) < low || at(i) > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {size, true};
}

[[nodiscard]] constexpr bool utf8_is_valid(std::string_view text) noexcept {
  while (!text.empty()) {
    // Most texts are ASCII: eight bytes at a time.
    if (!std::is_constant_evaluated()) {
      std::uint64_t eight = 0;
      while (text.size() >= sizeof(eight)) {
        std::memcpy(&eight, text.data(), sizeof(eight));
        if ((eight & 0x8080'8080'8080'8080u) != 0) break;
        text.remove_prefix(sizeof(eight));
      }
      if (text.empty()) break;
    }
    const utf8_sequence next = utf8_step(text);
    if (!next.valid) return false;
    text.remove_prefix(next.size);
  }
  return true;
}

}  // namespace millrace::json
