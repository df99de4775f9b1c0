#include "base/hex.hpp"

#include <gtest/gtest.h>

#include <array>

namespace millrace::base {
namespace {

TEST(hex, round_trips_every_byte) {
  std::array<std::uint8_t, 256> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint8_t>(i);
  std::array<char, 512> text{};
  ASSERT_EQ(write_hex(all, text), 512u);
  std::array<std::uint8_t, 256> back{};
  std::size_t size = 0;
  ASSERT_TRUE(parse_hex({text.data(), text.size()}, back, size));
  EXPECT_EQ(size, 256u);
  EXPECT_EQ(back, all);
}

TEST(hex, refuses_odd_foreign_and_too_much) {
  std::array<std::uint8_t, 2> out{};
  std::size_t size = 7;
  EXPECT_FALSE(parse_hex("abc", out, size));
  EXPECT_FALSE(parse_hex("zz", out, size));
  EXPECT_FALSE(parse_hex("aabbcc", out, size));
  EXPECT_EQ(size, 7u);
  EXPECT_TRUE(parse_hex("AbCd", out, size));
  EXPECT_EQ(size, 2u);
  std::array<char, 3> small{};
  EXPECT_EQ(write_hex(out, small), 0u);
}

}  // namespace
}  // namespace millrace::base
