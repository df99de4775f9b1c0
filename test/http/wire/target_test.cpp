#include "http/wire/target.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "support/seeded.hpp"

namespace {

using namespace millrace;
using namespace millrace::http::wire;

struct answer {
  path_errc code;
  std::string path;
};
answer normal(std::string_view path, std::size_t room = 256) {
  std::vector<char> scratch(room);
  const normal_path out = normalize_path(path, scratch);
  return {out.code, std::string(out.path)};
}

TEST(http_target, cuts_the_query_off) {
  EXPECT_EQ(split_target("/a?b=c?d").path, "/a");
  EXPECT_EQ(split_target("/a?b=c?d").query, "b=c?d");
  EXPECT_FALSE(split_target("/a").has_query);
  EXPECT_TRUE(split_target("/a?").has_query);
}

TEST(http_target, a_path_that_is_normal_stays_where_it_is) {
  std::array<char, 1> none{};
  for (const std::string_view path : {"/", "/a", "/a/", "/a.b/c..d/e.", "/~user/x;y=1,2/@:!$&'()*+", "/\xc3\xa4"}) {
    const normal_path out = normalize_path(path, std::span(none).first(0));
    EXPECT_EQ(out.code, path_errc::ok) << path;
    EXPECT_EQ(out.path.data(), path.data());
    EXPECT_EQ(out.path.size(), path.size());
  }
}

TEST(http_target, gives_one_resource_one_name) {
  const std::vector<std::pair<std::string_view, std::string_view>> rows = {
      {"/a/./b", "/a/b"},
      {"/a/../b", "/b"},
      {"/a/b/..", "/a/"},
      {"/a/b/../", "/a/"},
      {"/a/.", "/a/"},
      {"//a///b", "/a/b"},
      {"/a/b/../../c", "/c"},
      {"/.", "/"},
      {"/%41", "/A"},
      {"/a%2Fb", "/a/b"},
      {"/a/%2e%2E/b", "/b"},
      {"/%2e/a", "/a"},
      {"/a%20b", "/a b"},
      {"/a%25b", "/a%b"},
      {"/a%23b", "/a#b"},
      {"/a%252e", "/a%2e"},
      {"/.well-known/x", "/.well-known/x"},
      {"/.../a", "/.../a"},
      {"/a/..b", "/a/..b"},
      {"/%c3%a4", "/\xc3\xa4"},
      {"/a/.%2e/b", "/b"},
      {"/a%2f..%2fb", "/b"},
      {"/a//../b", "/b"},
  };
  for (const auto& [path, wanted] : rows) {
    const answer out = normal(path);
    EXPECT_EQ(out.code, path_errc::ok) << path;
    EXPECT_EQ(out.path, wanted) << path;
  }
}

TEST(http_target, a_normal_path_is_its_own_normal_form) {
  test::seeded random(3986);
  constexpr std::string_view pieces[] = {"/", "/", "a", "b", ".", "..", "%2e", "%2F", "%41", "c", "/.", "//"};
  for (int i = 0; i < 50'000; ++i) {
    std::string path = "/";
    for (std::size_t n = random.below(10); n != 0; --n) path += pieces[random.below(std::size(pieces))];
    const answer once = normal(path);
    if (once.code != path_errc::ok) {
      ASSERT_EQ(once.code, path_errc::above_root) << path;
      continue;
    }
    const answer twice = normal(once.path);
    ASSERT_EQ(twice.code, path_errc::ok) << path;
    ASSERT_EQ(twice.path, once.path) << path;
    ASSERT_EQ(once.path.find("//"), std::string::npos) << path;
    ASSERT_EQ((once.path + "/").find("/../"), std::string::npos) << path;
  }
}

TEST(http_target, refuses_what_no_path_may_be) {
  EXPECT_EQ(normal("").code, path_errc::not_absolute);
  EXPECT_EQ(normal("a/b").code, path_errc::not_absolute);
  EXPECT_EQ(normal("*").code, path_errc::not_absolute);
  for (const auto* path : {"/..", "/../", "/a/../..", "/a/../../b", "/%2e%2e/a", "//..", "/./.."})
    EXPECT_EQ(normal(path).code, path_errc::above_root) << path;
  for (const auto* path : {"/%", "/%4", "/%zz", "/a%2", "/%4g", "/% 41"})
    EXPECT_EQ(normal(path).code, path_errc::bad_escape) << path;
  for (const auto* path : {"/a b", "/a\tb", "/a\nb", "/a\x7f", "/a#b", "/a\\b", "/%00", "/%0a", "/%5c", "/a%7f"})
    EXPECT_EQ(normal(path).code, path_errc::bad_character) << path;
  EXPECT_EQ(normal("/abc%41", 4).code, path_errc::too_long);
  EXPECT_EQ(normal("/abc%41", 5).path, "/abcA");
}

TEST(http_target, takes_a_query_apart) {
  std::string_view query = "&a=1&&b&c==2&=3";
  std::vector<std::pair<std::string, std::string>> parts;
  query_part part;
  while (next_query_part(query, part)) parts.emplace_back(part.name, part.value);
  EXPECT_EQ(parts, (decltype(parts){{"a", "1"}, {"b", ""}, {"c", "=2"}, {"", "3"}}));
}

}  // namespace
