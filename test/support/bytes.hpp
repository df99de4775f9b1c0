// test/support/bytes.hpp - bytes as tests write them: hex with blanks, and joined pieces.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/hex.hpp"

namespace millrace::test {

using byte_list = std::vector<std::uint8_t>;

// "c3 00000001 08" and the like; anything that is no hex digit and no blank fails the test.
inline byte_list from_hex(std::string_view text) {
  std::string digits;
  for (const char c : text)
    if (std::isspace(static_cast<unsigned char>(c)) == 0) digits += c;
  byte_list out(digits.size() / 2);
  std::size_t size = 0;
  EXPECT_TRUE(base::parse_hex(digits, out, size)) << digits;
  return out;
}

inline std::string to_hex(base::byte_view in) {
  std::string out(in.size() * 2, '0');
  EXPECT_EQ(base::write_hex(in, out), out.size());
  return out;
}

inline byte_list join(std::initializer_list<base::byte_view> parts) {
  byte_list out;
  for (const base::byte_view part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

// The same bytes, alive until the program ends: for views that outlast the expression which made them.
inline base::byte_view keep(byte_list in) {
  static std::deque<byte_list> kept;
  return kept.emplace_back(std::move(in));
}

inline byte_list from_text(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace millrace::test
