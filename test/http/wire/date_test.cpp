#include "http/wire/date.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <string>

#include "support/seeded.hpp"

namespace {

using namespace millrace;
using namespace millrace::http::wire;

constexpr std::int64_t now = 1'800'000'000;  // 2027

std::string text_of(std::int64_t at) {
  const date_text t = emit_date(at);
  return {t.data(), t.size()};
}

TEST(http_date, reads_the_three_forms_of_the_rfc) {
  for (const auto* text :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"})
    EXPECT_EQ(parse_date(text, now), 784'111'777) << text;
  EXPECT_EQ(text_of(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST(http_date, writes_as_the_c_library_does_and_reads_it_back) {
  test::seeded random(9110);
  for (int i = 0; i < 20'000; ++i) {
    const auto at = static_cast<std::int64_t>(random.below(253'402'300'800u + 11'000'000'000u)) - 11'000'000'000;
    const std::time_t t = at;
    std::tm parts{};
    gmtime_r(&t, &parts);
    char theirs[64];
    std::strftime(theirs, sizeof(theirs), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    ASSERT_EQ(text_of(at), theirs);
    ASSERT_EQ(parse_date(theirs, now), at) << theirs;
    std::strftime(theirs, sizeof(theirs), "%a %b %e %H:%M:%S %Y", &parts);
    ASSERT_EQ(parse_date(theirs, now), at) << theirs;
  }
}

TEST(http_date, two_digits_are_a_year_at_most_fifty_ahead) {
  EXPECT_FALSE(parse_date("Saturday, 01-Jan-77 00:00:00 GMT", now)) << "the day of the week of 1977";
  EXPECT_EQ(parse_date("Friday, 01-Jan-77 00:00:00 GMT", now), parse_date("Fri, 01 Jan 2077 00:00:00 GMT", now))
      << "2077 is 50 years ahead of 2027";
  EXPECT_EQ(parse_date("Sunday, 01-Jan-78 00:00:00 GMT", now), parse_date("Sun, 01 Jan 1978 00:00:00 GMT", now));
}

TEST(http_date, refuses_what_is_no_date) {
  const std::string good = "Sun, 06 Nov 1994 08:49:37 GMT";
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(parse_date(std::string_view(good).substr(0, size), now)) << size;
  for (const auto* text :
       {"Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "784111777"})
    EXPECT_FALSE(parse_date(text, now)) << text;
  EXPECT_EQ(parse_date("Sun, 06 Nov 1994 08:49:60 GMT", now), 784'111'800) << "a leap second";
}

TEST(http_date, stays_within_four_digits_of_years) {
  EXPECT_EQ(text_of(INT64_MAX), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(text_of(INT64_MIN), "Sat, 01 Jan 0000 00:00:00 GMT");
}

TEST(http_date, the_cache_changes_with_the_second) {
  date_cache cache;
  EXPECT_EQ(cache.at(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(cache.at(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(cache.at(784'111'778), "Sun, 06 Nov 1994 08:49:38 GMT");
}

}  // namespace
