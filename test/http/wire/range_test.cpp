#include "http/wire/range.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace millrace::http::wire;

std::string of(std::string_view value, std::uint64_t size) {
  const byte_range r = parse_range(value, size);
  if (r.verdict == range_verdict::whole) return "whole";
  return std::string(emit_content_range(r, size).view());
}

TEST(http_range, reads_the_examples_of_the_rfc) {  // RFC 9110 14.1.2, of 10000 bytes
  EXPECT_EQ(of("bytes=0-499", 10'000), "bytes 0-499/10000");
  EXPECT_EQ(of("bytes=500-999", 10'000), "bytes 500-999/10000");
  EXPECT_EQ(of("bytes=-500", 10'000), "bytes 9500-9999/10000");
  EXPECT_EQ(of("bytes=9500-", 10'000), "bytes 9500-9999/10000");
}

TEST(http_range, ends_where_the_resource_does) {
  EXPECT_EQ(of("bytes=9990-20000", 10'000), "bytes 9990-9999/10000");
  EXPECT_EQ(of("bytes=-20000", 10'000), "bytes 0-9999/10000");
  EXPECT_EQ(of("BYTES=0-0", 1), "bytes 0-0/1");
  EXPECT_EQ(of("bytes=0-18446744073709551615", 5), "bytes 0-4/5");
  EXPECT_EQ(of("bytes=1-", UINT64_MAX), "bytes 1-18446744073709551614/18446744073709551615");
}

TEST(http_range, says_when_nothing_lies_there) {
  EXPECT_EQ(of("bytes=10000-", 10'000), "bytes */10000");
  EXPECT_EQ(of("bytes=10000-10001", 10'000), "bytes */10000");
  EXPECT_EQ(of("bytes=-0", 10'000), "bytes */10000");
  EXPECT_EQ(of("bytes=0-", 0), "bytes */0");
  EXPECT_EQ(of("bytes=-1", 0), "bytes */0");
}

TEST(http_range, gives_the_whole_for_what_it_does_not_read) {
  for (const auto* value : {"", "bytes", "bytes=", "bytes=a-b", "bytes=1", "bytes=2-1", "bytes=-", "bytes= - ",
                            "items=0-1", "bytes=0-1,3-4", "bytes=0-1, -1", "bytes=0x1-2", "bytes=1--2",
                            "bytes=99999999999999999999-", "bytes:0-1", "bytes =0-1"})
    EXPECT_EQ(of(value, 100), "whole") << value;
}

}  // namespace
