#include "http/wire/field.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/guard_page.hpp"

namespace {

using namespace millrace;
using namespace millrace::http::wire;

TEST(http_field, a_token_has_the_characters_of_the_rfc_and_no_other) {
  const std::string_view marks = "!#$%&'*+-.^_`|~";
  for (int c = 0; c < 256; ++c) {
    const char ch = static_cast<char>(c);
    const bool wanted = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        marks.find(ch) != std::string_view::npos;
    const std::string text = std::string("ab") + ch + "c";
    EXPECT_EQ(is_token(text), wanted) << c;
    EXPECT_EQ(is_lower_token(text), wanted && !(c >= 'A' && c <= 'Z')) << c;
  }
  EXPECT_FALSE(is_token("") || is_lower_token(""));
  EXPECT_FALSE(is_lower_token(":path"));
}

TEST(http_field, a_value_has_no_control_character_wherever_it_stands) {
  for (std::size_t size = 1; size < 40; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (int c = 0; c < 256; ++c) {
        std::string text(size, 'v');
        text[at] = static_cast<char>(c);
        const bool edge = at == 0 || at + 1 == size;
        const bool wanted = c == ' ' || c == '\t' ? !edge : c >= 0x20 && c != 0x7f;
        ASSERT_EQ(is_field_value(text), wanted) << "byte " << c << " at " << at << " of " << size;
      }
    }
  }
  EXPECT_TRUE(is_field_value(""));
}

TEST(http_field, two_bad_bytes_beside_each_other_do_not_hide_one_another) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string text = std::string("x") + static_cast<char>(a) + static_cast<char>(b) + "yyyyyz";
      const auto allowed = [](int c) { return c == '\t' || (c >= 0x20 && c != 0x7f); };
      ASSERT_EQ(is_field_value(text), allowed(a) && allowed(b)) << a << ' ' << b;
    }
  }
}

TEST(http_field, what_may_be_sent_splits_no_message_and_speaks_of_no_connection) {
  EXPECT_TRUE(is_sendable_field("x-a", "a b"));
  EXPECT_TRUE(is_sendable_field("te", "trailers"));
  EXPECT_FALSE(is_sendable_field("X-a", "a"));
  EXPECT_FALSE(is_sendable_field(":path", "/"));
  EXPECT_FALSE(is_sendable_field("", "a"));
  EXPECT_FALSE(is_sendable_field("x", "a\r\nb: c"));
  EXPECT_FALSE(is_sendable_field("x", std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_sendable_field("connection", "close"));
  EXPECT_FALSE(is_sendable_field("transfer-encoding", "chunked"));
}

TEST(http_field, reads_nothing_behind_the_end) {
  test::guard_page page;
  for (std::size_t size = 0; size < 40; ++size) {
    const std::vector<std::uint8_t> bytes(size, 'a');
    const std::string_view text = base::as_text(page.place(bytes));
    EXPECT_EQ(is_token(text), size != 0);
    EXPECT_TRUE(is_field_value(text));
    std::string_view list = text;
    std::string_view element;
    EXPECT_EQ(next_element(list, element), size != 0);
  }
}

TEST(http_field, knows_the_fields_of_a_connection) {
  for (const auto* name : {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"})
    EXPECT_TRUE(is_connection_specific(name, "x")) << name;
  EXPECT_TRUE(is_connection_specific("te", "gzip"));
  EXPECT_FALSE(is_connection_specific("te", "trailers"));
  EXPECT_FALSE(is_connection_specific("host", "x") || is_connection_specific("content-length", "1"));
}

std::vector<std::string> elements(std::string_view list) {
  std::vector<std::string> out;
  std::string_view element;
  while (next_element(list, element)) out.emplace_back(element);
  return out;
}

TEST(http_field, takes_lists_apart) {
  using list = std::vector<std::string>;
  EXPECT_EQ(elements("a, b ,c"), (list{"a", "b", "c"}));
  EXPECT_EQ(elements(" , ,, a ,,"), (list{"a"})) << "RFC 9110 5.6.1.2: empty elements";
  EXPECT_EQ(elements("\"a,b\", \"c\\\",d\",e"), (list{"\"a,b\"", "\"c\\\",d\"", "e"}));
  EXPECT_EQ(elements("\"open, a"), (list{"\"open, a"})) << "a quote that never ends is one element";
  EXPECT_EQ(elements("\"\\"), (list{"\"\\"}));
  EXPECT_EQ(elements(""), list{});
}

TEST(http_field, a_decimal_is_digits_that_fit) {
  std::uint64_t n = 7;
  EXPECT_TRUE(parse_decimal("18446744073709551615", n));
  EXPECT_EQ(n, UINT64_MAX);
  EXPECT_TRUE(parse_decimal("000", n));
  EXPECT_EQ(n, 0u);
  for (const auto* text : {"", "+1", "-1", " 1", "1 ", "0x1", "1.0", "18446744073709551616", "99999999999999999999999"})
    EXPECT_FALSE(parse_decimal(text, n)) << text;
  EXPECT_EQ(n, 0u) << "left alone";
}

}  // namespace
