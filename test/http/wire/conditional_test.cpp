#include "http/wire/conditional.hpp"

#include <gtest/gtest.h>

namespace {

using namespace millrace::http::wire;

constexpr std::int64_t now = 784'200'000;
constexpr std::int64_t changed = 784'111'777;
constexpr auto changed_text = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr auto before_text = "Sun, 06 Nov 1994 08:49:36 GMT";
constexpr auto after_text = "Sun, 06 Nov 1994 08:49:38 GMT";
constexpr validators strong{"\"v1\"", changed, true};
constexpr validators weak{"W/\"v1\"", changed, true};
constexpr validators absent{"", std::nullopt, false};

verdict of(const preconditions& asked, const validators& v = strong, method m = method::get) {
  return judge(m, asked, v, now);
}

TEST(http_conditional, an_entity_tag_is_quoted) {
  for (const auto* tag : {"\"\"", "\"a\"", "W/\"a\"", "W/\"\"", "\"!#\x80~\""}) EXPECT_TRUE(is_entity_tag(tag)) << tag;
  for (const auto* tag : {"", "a", "\"", "\"a", "a\"", "w/\"a\"", "W/", "W/a", "\"a b\"", "\"a\"b\"", "\"\x7f\"", "*"})
    EXPECT_FALSE(is_entity_tag(tag)) << tag;
}

TEST(http_conditional, compares_as_the_table_of_the_rfc) {  // RFC 9110 8.8.3.2
  EXPECT_FALSE(equal_strongly("W/\"1\"", "W/\"1\""));
  EXPECT_TRUE(equal_weakly("W/\"1\"", "W/\"1\""));
  EXPECT_FALSE(equal_weakly("W/\"1\"", "W/\"2\"") || equal_strongly("W/\"1\"", "W/\"2\""));
  EXPECT_FALSE(equal_strongly("W/\"1\"", "\"1\"") || equal_strongly("\"1\"", "W/\"1\""));
  EXPECT_TRUE(equal_weakly("W/\"1\"", "\"1\""));
  EXPECT_TRUE(equal_strongly("\"1\"", "\"1\"") && equal_weakly("\"1\"", "\"1\""));
}

TEST(http_conditional, if_none_match_spares_a_reader_the_content) {
  EXPECT_EQ(of({.if_none_match = "\"v1\""}), verdict::not_modified);
  EXPECT_EQ(of({.if_none_match = "\"v0\", W/\"v1\""}), verdict::not_modified) << "compared weakly";
  EXPECT_EQ(of({.if_none_match = "\"v1\""}, weak), verdict::not_modified);
  EXPECT_EQ(of({.if_none_match = "\"v2\""}), verdict::proceed);
  EXPECT_EQ(of({.if_none_match = "*"}), verdict::not_modified);
  EXPECT_EQ(of({.if_none_match = "*"}, absent), verdict::proceed);
  EXPECT_EQ(of({.if_none_match = "\"v1\""}, strong, method::head), verdict::not_modified);
  EXPECT_EQ(of({.if_none_match = "*"}, strong, method::put), verdict::precondition_failed);
  EXPECT_EQ(of({.if_none_match = "*"}, absent, method::put), verdict::proceed);
  EXPECT_EQ(of({.if_none_match = "v1"}), verdict::proceed) << "not an entity tag";
  EXPECT_EQ(of({.if_none_match = "\"a,\\\"v1\""}), verdict::proceed);
}

TEST(http_conditional, reads_a_list_of_tags_in_which_nothing_is_escaped) {
  EXPECT_EQ(of({.if_none_match = "\"a\\\", \"v1\""}), verdict::not_modified) << "a tag may end with a backslash";
  EXPECT_EQ(of({.if_none_match = "\"a,b\",\"v1\""}), verdict::not_modified) << "and hold a comma";
  EXPECT_EQ(of({.if_none_match = " ,, \"x\" ,\t\"v1\" ,"}), verdict::not_modified);
  for (const auto* bad : {"\"x\" \"v1\"", "x, \"v1\"", "\"x, v1\" y", "W/ \"v1\"", "\"v1", "\"a b\", \"v1\""})
    EXPECT_EQ(of({.if_none_match = bad}), verdict::proceed) << bad;
}

TEST(http_conditional, if_match_guards_a_change) {
  EXPECT_EQ(of({.if_match = "\"v1\""}, strong, method::put), verdict::proceed);
  EXPECT_EQ(of({.if_match = "\"v0\", \"v1\""}, strong, method::put), verdict::proceed);
  EXPECT_EQ(of({.if_match = "\"v1\""}, weak, method::put), verdict::precondition_failed) << "compared strongly";
  EXPECT_EQ(of({.if_match = "\"v2\""}), verdict::precondition_failed);
  EXPECT_EQ(of({.if_match = "*"}, absent, method::put), verdict::precondition_failed);
  EXPECT_EQ(of({.if_match = "*"}, strong, method::put), verdict::proceed);
}

TEST(http_conditional, dates_speak_where_no_tag_does) {
  EXPECT_EQ(of({.if_modified_since = changed_text}), verdict::not_modified);
  EXPECT_EQ(of({.if_modified_since = after_text}), verdict::not_modified);
  EXPECT_EQ(of({.if_modified_since = before_text}), verdict::proceed);
  EXPECT_EQ(of({.if_modified_since = changed_text}, strong, method::post), verdict::proceed);
  EXPECT_EQ(of({.if_modified_since = "yesterday"}), verdict::proceed);
  EXPECT_EQ(of({.if_modified_since = changed_text}, absent), verdict::proceed);
  EXPECT_EQ(of({.if_none_match = "\"v2\"", .if_modified_since = changed_text}), verdict::proceed)
      << "RFC 9110 13.1.3: the tag decides";
  EXPECT_EQ(of({.if_unmodified_since = changed_text}, strong, method::put), verdict::proceed);
  EXPECT_EQ(of({.if_unmodified_since = before_text}, strong, method::put), verdict::precondition_failed);
  EXPECT_EQ(of({.if_unmodified_since = "x"}, strong, method::put), verdict::proceed);
  EXPECT_EQ(of({.if_match = "\"v1\"", .if_unmodified_since = before_text}, strong, method::put), verdict::proceed);
}

TEST(http_conditional, what_guards_comes_before_what_spares) {
  EXPECT_EQ(of({.if_match = "\"v2\"", .if_none_match = "\"v1\""}), verdict::precondition_failed);
  EXPECT_EQ(of({.if_match = "\"v1\"", .if_none_match = "\"v1\""}), verdict::not_modified);
}

TEST(http_conditional, if_range_wants_exactly_what_is_there) {
  EXPECT_TRUE(range_applies({}, strong, now));
  EXPECT_TRUE(range_applies({.if_range = "\"v1\""}, strong, now));
  EXPECT_FALSE(range_applies({.if_range = "\"v2\""}, strong, now));
  EXPECT_FALSE(range_applies({.if_range = "W/\"v1\""}, weak, now)) << "RFC 9110 13.1.5: strong";
  EXPECT_TRUE(range_applies({.if_range = changed_text}, strong, now));
  EXPECT_FALSE(range_applies({.if_range = after_text}, strong, now));
  EXPECT_FALSE(range_applies({.if_range = changed_text}, strong, changed + 59)) << "RFC 9110 8.8.2.2: still weak";
  EXPECT_FALSE(range_applies({.if_range = "rubbish"}, strong, now));
}

}  // namespace
