#include "http/wire/method.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace millrace::http::wire;

TEST(http_method, reads_each_name_it_writes_and_no_other) {
  for (std::size_t i = 0; i + 1 < method_count; ++i) {
    const auto m = static_cast<method>(i);
    EXPECT_EQ(parse_method(to_string(m)), m) << to_string(m);
    std::string lower(to_string(m));
    for (std::size_t at = 0; at < lower.size(); ++at) {
      std::string other = lower;
      other[at] = static_cast<char>(other[at] | 0x20);
      EXPECT_EQ(parse_method(other), method::other) << "RFC 9110 9.1: case-sensitive";
      EXPECT_EQ(parse_method(std::string_view(lower).substr(0, at)), method::other);
    }
  }
  EXPECT_EQ(parse_method(""), method::other);
  EXPECT_EQ(parse_method("QUERY"), method::other);
}

TEST(http_method, knows_which_are_safe_and_idempotent) {
  EXPECT_TRUE(is_safe(method::get) && is_safe(method::head) && is_safe(method::options) && is_safe(method::trace));
  EXPECT_FALSE(is_safe(method::post) || is_safe(method::put) || is_safe(method::delete_) || is_safe(method::patch));
  EXPECT_TRUE(is_idempotent(method::put) && is_idempotent(method::delete_) && is_idempotent(method::get));
  EXPECT_FALSE(is_idempotent(method::post) || is_idempotent(method::patch) || is_idempotent(method::connect));
}

TEST(http_method, a_set_holds_what_was_added) {
  method_set set;
  EXPECT_TRUE(set.empty());
  set.add(method::get);
  set.add(method::other);
  EXPECT_TRUE(set.contains(method::get) && set.contains(method::other));
  EXPECT_FALSE(set.contains(method::head) || set.empty());
}

}  // namespace
