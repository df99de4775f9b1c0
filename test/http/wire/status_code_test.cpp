#include "http/wire/status_code.hpp"

#include <gtest/gtest.h>

namespace {

using namespace millrace::http::wire;

TEST(http_status_code, reads_the_digits_it_writes) {
  for (unsigned n = 100; n <= 599; ++n) {
    const auto text = digits(static_cast<status_code>(n));
    EXPECT_EQ(parse_status_code({text.data(), text.size()}), n);
  }
}

TEST(http_status_code, refuses_what_is_none) {
  for (const auto* text : {"", "2", "20", "2000", "099", "600", "999", "2x0", "-20", " 20", "20 "})
    EXPECT_EQ(parse_status_code(text), 0) << text;
}

TEST(http_status_code, names_what_it_lists) {
  EXPECT_EQ(reason(status_code::ok), "OK");
  EXPECT_EQ(reason(status_code::too_early), "Too Early");
  EXPECT_EQ(reason(static_cast<status_code>(299)), "");
}

TEST(http_status_code, says_which_answers_have_no_content) {
  EXPECT_FALSE(has_content(status_code::continue_) || has_content(status_code::no_content) ||
               has_content(status_code::not_modified));
  EXPECT_TRUE(has_content(status_code::ok) && has_content(status_code::not_found));
  EXPECT_TRUE(is_interim(status_code::early_hints));
  EXPECT_FALSE(is_interim(status_code::ok));
}

}  // namespace
