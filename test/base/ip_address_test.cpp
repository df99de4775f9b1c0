#include "base/ip_address.hpp"

#include <gtest/gtest.h>

#include <string>

namespace millrace::base {
namespace {

std::string text_of(const endpoint& e) {
  std::array<char, endpoint::max_text_size> room{};
  return {room.data(), e.format_to(room)};
}

TEST(ip_address, prints_both_families_as_operators_write_them) {
  EXPECT_EQ(text_of({*ip_address::parse("198.18.0.1"), 443}), "198.18.0.1:443");
  EXPECT_EQ(text_of({*ip_address::parse("2001:db8:0:0:0:0:0:1"), 65535}), "[2001:db8::1]:65535");
  const std::string longest = "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255";
  EXPECT_TRUE(ip_address::parse(longest).has_value());
}

TEST(ip_address, refuses_what_is_no_address) {
  for (const char* text : {"", "198.18.0", "198.18.0.256", "2001:db8::1::2", "name", "1.2.3.4 "})
    EXPECT_FALSE(ip_address::parse(text)) << text;
  EXPECT_FALSE(ip_address::parse(std::string(300, '1')));
}

TEST(ip_address, writes_nothing_without_room) {
  std::array<char, 4> small{};
  EXPECT_EQ(ip_address::parse("198.18.0.1")->format_to(small), 0u);
}

TEST(ip_address, compares_by_value_and_family) {
  EXPECT_EQ(*ip_address::parse("::1"), *ip_address::parse("0:0::1"));
  EXPECT_NE(*ip_address::parse("0.0.0.0"), *ip_address::parse("::"));
}

}  // namespace
}  // namespace millrace::base
