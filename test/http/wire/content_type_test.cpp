#include "http/wire/content_type.hpp"

#include <gtest/gtest.h>

namespace {

using millrace::http::wire::content_type_of;

TEST(http_content_type, goes_by_the_ending_without_case) {
  EXPECT_EQ(content_type_of("/index.html"), "text/html; charset=utf-8");
  EXPECT_EQ(content_type_of("a.b/c.JS"), "text/javascript; charset=utf-8");
  EXPECT_EQ(content_type_of("x.woff2"), "font/woff2");
  EXPECT_EQ(content_type_of("x.webmanifest"), "application/manifest+json");
  EXPECT_EQ(content_type_of("x.avif"), "image/avif");
  EXPECT_EQ(content_type_of("x.zip"), "application/zip");
}

TEST(http_content_type, guesses_nothing) {
  for (const auto* path : {"", "html", "/a.html/b", "a.", ".", "a.unknownending", "a.htmlx", "a.htm l", "a.tar.gz2"})
    EXPECT_EQ(content_type_of(path), "application/octet-stream") << path;
}

}  // namespace
