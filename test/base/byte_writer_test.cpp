#include "base/byte_writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace millrace::base {
namespace {

TEST(byte_writer, writes_integers_in_network_order) {
  std::array<std::uint8_t, 10> room{};
  byte_writer out(room);
  ASSERT_TRUE(out.u8(1) && out.u16(0x0203) && out.u24(0x040506) && out.u32(0x0708090A));
  EXPECT_EQ(out.size(), 10u);
  for (std::size_t i = 0; i < room.size(); ++i) EXPECT_EQ(room[i], i + 1);
  EXPECT_FALSE(out.u8(0));
}

TEST(byte_writer, writes_nothing_when_the_whole_does_not_fit) {
  std::array<std::uint8_t, 3> room{9, 9, 9};
  byte_writer out(room);
  EXPECT_FALSE(out.u32(1));
  EXPECT_FALSE(out.bytes(std::array<std::uint8_t, 4>{1, 2, 3, 4}));
  EXPECT_FALSE(out.varint(0x4000));
  byte_span hole;
  EXPECT_FALSE(out.reserve(4, hole));
  EXPECT_EQ(out.size(), 0u);
  EXPECT_TRUE(std::all_of(room.begin(), room.end(), [](std::uint8_t b) { return b == 9; }));
}

TEST(byte_writer, refuses_an_integer_that_no_varint_can_hold) {
  std::array<std::uint8_t, 16> room{};
  byte_writer out(room);
  EXPECT_FALSE(out.varint(varint_max + 1));
  EXPECT_TRUE(out.varint(varint_max));
}

}  // namespace
}  // namespace millrace::base
