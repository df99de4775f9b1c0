#include "json/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace millrace::json {
namespace {

// The scalar value encoded by the book (RFC 3629 3), as an independent model of what is well-formed.
std::string encode(std::uint32_t code_point) {
  std::string out;
  const auto tail = [&out](std::uint32_t bits) { out += static_cast<char>(0x80 | (bits & 0x3F)); };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xC0 | code_point >> 6);
    tail(code_point);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xE0 | code_point >> 12);
    tail(code_point >> 6);
    tail(code_point);
  } else {
    out += static_cast<char>(0xF0 | code_point >> 18);
    tail(code_point >> 12);
    tail(code_point >> 6);
    tail(code_point);
  }
  return out;
}

TEST(utf8, takes_every_scalar_value_whole_and_no_surrogate) {
  for (std::uint32_t c = 0; c <= 0x10FFFF; ++c) {
    const std::string text = encode(c);
    const utf8_sequence got = utf8_step(text);
    const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
    ASSERT_EQ(got.valid, !surrogate) << std::hex << c;
    ASSERT_EQ(got.size, surrogate ? 1u : text.size()) << std::hex << c;
  }
}

TEST(utf8, answers_the_maximal_subpart_of_a_broken_sequence) {
  // The example of the Unicode Standard, table 3-8: each broken part is one replacement.
  EXPECT_EQ(utf8_step("\xC0\xAF").size, 1);
  EXPECT_EQ(utf8_step("\xE0\x80\xBF").size, 1);
  EXPECT_EQ(utf8_step("\xF0\x81\x82").size, 1);
  EXPECT_EQ(utf8_step("\xE1\x80\xE2").size, 2);
  EXPECT_EQ(utf8_step("\xF0\x91\x92").size, 3);
  EXPECT_EQ(utf8_step("\xF1\xBF").size, 2);
  EXPECT_EQ(utf8_step("\xF4\x90\x80\x80").size, 1);
  EXPECT_EQ(utf8_step("\xF5\x80\x80\x80").size, 1);
  for (const char* broken :
       {"\xC0\xAF", "\xE0\x80\xBF", "\xE1\x80\xE2", "\xF0\x91\x92", "\xF4\x90\x80\x80", "\x80", "\xFF"})
    EXPECT_FALSE(utf8_step(broken).valid) << broken;
}

TEST(utf8, stops_at_the_end_of_the_view_though_memory_goes_on) {
  const std::string whole = "\xF0\x9F\x98\x80";
  for (std::size_t size = 1; size < 4; ++size) {
    const utf8_sequence got = utf8_step(std::string_view(whole).substr(0, size));
    EXPECT_FALSE(got.valid);
    EXPECT_EQ(got.size, size);
  }
  EXPECT_TRUE(utf8_step(whole).valid);
}

TEST(utf8, judges_whole_texts) {
  EXPECT_TRUE(utf8_is_valid(""));
  EXPECT_TRUE(utf8_is_valid("plain"));
  EXPECT_TRUE(utf8_is_valid("na\xC3\xAFve \xE2\x82\xAC"));
  EXPECT_FALSE(utf8_is_valid("cut \xE2\x82"));
  EXPECT_FALSE(utf8_is_valid(std::string("a\xEF\xBF\xBD\x80")));
}

}  // namespace
}  // namespace millrace::json
