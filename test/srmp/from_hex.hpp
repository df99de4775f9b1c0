// test/srmp/from_hex.hpp - the vectors of the reference sheet, as it writes them: "01 01 04 00 4F".
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/hex.hpp"

namespace millrace::srmp::test_support {

inline std::vector<std::uint8_t> from_hex(std::string_view text) {
  std::string digits;
  for (const char c : text)
    if (c != ' ') digits += c;
  std::vector<std::uint8_t> out(digits.size() / 2);
  std::size_t size = 0;
  EXPECT_TRUE(base::parse_hex(digits, out, size)) << text;
  return out;
}

}  // namespace millrace::srmp::test_support
