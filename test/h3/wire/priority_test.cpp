#include "h3/wire/priority.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/bytes.hpp"
#include "support/hostile.hpp"

namespace millrace::h3::wire {
namespace {

constexpr priority defaults;

TEST(h3_priority, reads_urgency_and_incremental) {
  EXPECT_EQ(parse_priority("u=5, i"), (priority{5, true}));
  EXPECT_EQ(parse_priority("u=0"), (priority{0, false}));
  EXPECT_EQ(parse_priority("i"), (priority{3, true}));
  EXPECT_EQ(parse_priority("i=?1,u=7"), (priority{7, true}));
  EXPECT_EQ(parse_priority("i=?0 ,\tu=2"), (priority{2, false}));
  EXPECT_EQ(parse_priority(""), defaults);
  EXPECT_EQ(parse_priority("u=1;x=y;z, i;q=\"\\\"\""), (priority{1, true}));
}

TEST(h3_priority, the_last_of_a_key_that_comes_twice_counts) {
  EXPECT_EQ(parse_priority("u=1, u=6"), (priority{6, false}));
  EXPECT_EQ(parse_priority("i, i=?0"), defaults);
}

TEST(h3_priority, passes_over_what_it_does_not_know) {
  EXPECT_EQ(parse_priority("a=(1 2.5 \"t\" tok/x :YWI=: ?1;p=1);q, u=2"), (priority{2, false}));
  EXPECT_EQ(parse_priority("*x=*tok, z=-12.250, u=4"), (priority{4, false}));
}

TEST(h3_priority, values_out_of_range_mean_the_default) {
  for (const char* text : {"u=8", "u=-1", "u=a", "u=1.0", "u", "u=\"1\"", "u=(1)"})
    EXPECT_EQ(parse_priority(text), defaults) << text;
  EXPECT_EQ(parse_priority("i=1"), defaults);
  EXPECT_EQ(parse_priority("i=tok"), defaults);
}

TEST(h3_priority, a_value_that_is_no_dictionary_says_nothing) {
  for (const char* text : {"u=1,", "u=1 i", "u=1;;a", "=1", "U=1", "u=", "u=1, ,i", "u=1, a=\"", "u=1, a=\"\x01\"",
                           "u=1, a=:@:", "u=1, a=?2", "u=1, a=1234567890123456", "u=1, a=1.", "u=1, a=1.2345",
                           "u=1, a=1234567890123.1", "u=1, a=(1", "u=1, a=(1\"x\")", "u=1, a=((1))", "u=1, a=-"})
    EXPECT_EQ(parse_priority(text), defaults) << text;
}

TEST(h3_priority, survives_any_change_and_never_answers_more_than_seven) {
  const test::byte_list good = test::from_text("u=5, i, a=(1 2.5 \"t\\\\\" tok :YWI=:);q=?0, z=-12.25");
  const auto check = [](base::byte_view in) { EXPECT_LE(parse_priority(base::as_text(in)).urgency, 7); };
  test::for_every_truncation(good, check);
  test::for_every_byte_change(good, check);
}

}  // namespace
}  // namespace millrace::h3::wire
