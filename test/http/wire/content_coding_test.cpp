#include "http/wire/content_coding.hpp"

#include <gtest/gtest.h>

namespace {

using namespace millrace::http::wire;

constexpr stored_codings all = {true, true, true, true};
constexpr stored_codings plain = {true, false, false, false};
constexpr stored_codings gzip_too = {true, true, false, false};
constexpr stored_codings br_alone = {false, false, true, false};

TEST(http_content_coding, takes_the_heaviest_that_is_stored) {
  EXPECT_EQ(choose("gzip, deflate, br, zstd", all), content_coding::zstd);
  EXPECT_EQ(choose("gzip, deflate, br, zstd", gzip_too), content_coding::gzip);
  EXPECT_EQ(choose("gzip;q=1.0, br;q=0.5", all), content_coding::gzip);
  EXPECT_EQ(choose("gzip;q=0.5, br;q=0.8, zstd;q=0.1", all), content_coding::br);
  EXPECT_EQ(choose("deflate", all), content_coding::identity);
  EXPECT_EQ(choose("X-GZIP", all), content_coding::gzip);
  EXPECT_EQ(choose("gzip ; q=0.5 , br; q=0.4", all), content_coding::gzip);
}

TEST(http_content_coding, a_client_that_names_none_gets_none) {
  EXPECT_EQ(choose(std::nullopt, all), content_coding::identity);
  EXPECT_EQ(choose("", all), content_coding::identity);
  EXPECT_EQ(choose("gzip", plain), content_coding::identity);
}

TEST(http_content_coding, a_star_stands_for_those_not_named) {
  EXPECT_EQ(choose("*", all), content_coding::zstd);
  EXPECT_EQ(choose("*;q=0.5, gzip", all), content_coding::gzip);
  EXPECT_EQ(choose("gzip;q=0, *", gzip_too), content_coding::identity);
  EXPECT_EQ(choose("*;q=0", all), std::nullopt);
  EXPECT_EQ(choose("*;q=0, identity", all), content_coding::identity);
}

TEST(http_content_coding, gives_nothing_that_was_refused) {
  EXPECT_EQ(choose("identity;q=0", plain), std::nullopt);
  EXPECT_EQ(choose("identity;q=0, gzip", gzip_too), content_coding::gzip);
  EXPECT_EQ(choose("gzip", br_alone), std::nullopt);
  EXPECT_EQ(choose("gzip;q=0", gzip_too), content_coding::identity);
}

TEST(http_content_coding, passes_over_what_it_cannot_read) {
  EXPECT_EQ(choose("gzip;q=2, br;q=x, zstd;level=3, ;q=1", all), content_coding::identity);
  EXPECT_EQ(choose("@@, gzip", all), content_coding::gzip);
}

TEST(http_content_coding, a_weight_has_at_most_three_digits) {
  EXPECT_EQ(parse_weight("0"), 0u);
  EXPECT_EQ(parse_weight("1"), 1000u);
  EXPECT_EQ(parse_weight("0."), 0u);
  EXPECT_EQ(parse_weight("0.25"), 250u);
  EXPECT_EQ(parse_weight("0.001"), 1u);
  EXPECT_EQ(parse_weight("1.000"), 1000u);
  for (const auto* text : {"", "2", "1.1", "0.0001", "00", ".5", "-0", "0,5", "1.001"})
    EXPECT_FALSE(parse_weight(text)) << text;
}

}  // namespace
