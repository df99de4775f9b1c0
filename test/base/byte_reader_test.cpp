#include "base/byte_reader.hpp"

#include <gtest/gtest.h>

#include <array>

namespace millrace::base {
namespace {

constexpr std::array<std::uint8_t, 15> fifteen = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

TEST(byte_reader, reads_integers_in_network_order) {
  byte_reader in(fifteen);
  std::uint8_t a{};
  std::uint16_t b{};
  std::uint32_t c{};
  std::uint64_t d{};
  ASSERT_TRUE(in.u8(a) && in.u16(b) && in.u32(c) && in.u64(d));
  EXPECT_EQ(a, 0x01);
  EXPECT_EQ(b, 0x0203);
  EXPECT_EQ(c, 0x04050607u);
  EXPECT_EQ(d, 0x08090A0B0C0D0E0Full);
  EXPECT_EQ(in.offset(), 15u);
  EXPECT_TRUE(in.empty());
}

TEST(byte_reader, leaves_cursor_and_output_alone_when_bytes_are_short) {
  for (std::size_t size = 0; size < 8; ++size) {
    byte_reader in(byte_view(fifteen).first(size));
    std::uint64_t out = 42;
    EXPECT_FALSE(in.u64(out));
    EXPECT_EQ(out, 42u);
    EXPECT_EQ(in.offset(), 0u);
  }
  byte_reader in(byte_view(fifteen).first(2));
  std::uint32_t out24 = 42;
  EXPECT_FALSE(in.u24(out24));
  EXPECT_EQ(out24, 42u);
}

TEST(byte_reader, refuses_a_length_that_would_wrap_a_pointer) {
  byte_reader in(fifteen);
  byte_view out;
  EXPECT_FALSE(in.bytes(~std::uint64_t{0}, out));
  EXPECT_FALSE(in.skip(~std::uint64_t{0} - 4));
  EXPECT_EQ(in.remaining(), 15u);
  EXPECT_TRUE(in.bytes(15, out));
  EXPECT_EQ(out.size(), 15u);
}

TEST(byte_reader, is_empty_and_safe_over_nothing) {
  byte_reader in;
  std::uint8_t out{};
  byte_view none;
  EXPECT_FALSE(in.u8(out));
  EXPECT_FALSE(in.peek(out));
  EXPECT_TRUE(in.bytes(0, none));
  EXPECT_EQ(in.remaining(), 0u);
}

}  // namespace
}  // namespace millrace::base
