#include "http/router.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/seeded.hpp"

namespace {

using namespace millrace;
using http::route_match;
using http::router;
using http::router_builder;
using http::wire::method;
using outcome = http::route_match::outcome;

// GET routes, numbered from 0.
router of(const std::vector<std::string>& patterns) {
  router_builder builder;
  for (std::uint32_t i = 0; i < patterns.size(); ++i) {
    const auto added = builder.add(method::get, patterns[i], i);
    EXPECT_TRUE(added) << (added ? "" : added.error().what);
  }
  auto made = builder.build();
  EXPECT_TRUE(made);
  return std::move(made.value());
}

// "N name=value ..." of the route that was found, or "-".
std::string found(const router& r, std::string_view path) {
  const route_match m = r.match(method::get, path);
  if (m.result != outcome::found) return "-";
  std::string out = std::to_string(m.handler);
  for (const auto& p : m.parameters) out.append(" ").append(p.name).append("=").append(p.value);
  return out;
}

TEST(http_router, finds_text_parameters_and_the_rest) {
  const router r = of({"/", "/users/{id}", "/users/{id}/posts/{post}", "/files/{path...}", "/users/me", "/a/"});
  EXPECT_EQ(found(r, "/"), "0");
  EXPECT_EQ(found(r, "/users/17"), "1 id=17");
  EXPECT_EQ(found(r, "/users/me"), "4");
  EXPECT_EQ(found(r, "/users/me/posts/3"), "2 id=me post=3") << "text that leads nowhere gives way";
  EXPECT_EQ(found(r, "/files/"), "3 path=");
  EXPECT_EQ(found(r, "/files/a/b.txt"), "3 path=a/b.txt");
  EXPECT_EQ(found(r, "/files/a/"), "3 path=a/");
  EXPECT_EQ(found(r, "/files"), "-");
  EXPECT_EQ(found(r, "/a/"), "5");
  EXPECT_EQ(found(r, "/a"), "-");
  EXPECT_EQ(found(r, "/users/"), "-") << "a parameter is not empty";
  EXPECT_EQ(found(r, "/users"), "-");
  EXPECT_EQ(found(r, ""), "-");
  EXPECT_EQ(found(r, "users/1"), "-");
}

TEST(http_router, the_first_difference_from_the_left_decides) {
  const router r = of({"/a/{x...}", "/{y}/b/{z...}", "/{y}/b/c", "/a/{p}/d", "/{all...}"});
  EXPECT_EQ(found(r, "/a/b/c"), "0 x=b/c") << "a is text, {y} is not";
  EXPECT_EQ(found(r, "/a/b/d"), "3 p=b");
  EXPECT_EQ(found(r, "/q/b/c"), "2 y=q");
  EXPECT_EQ(found(r, "/q/b/e/f"), "1 y=q z=e/f");
  EXPECT_EQ(found(r, "/q/b/"), "1 y=q z=");
  EXPECT_EQ(found(r, "/q/b"), "4 all=q/b");
  EXPECT_EQ(found(r, "/a"), "4 all=a");
  EXPECT_EQ(found(r, "/"), "4 all=");
}

TEST(http_router, compares_whole_segments_of_any_size) {
  std::vector<std::string> patterns;
  std::string text = "/";
  for (int i = 0; i < 40; ++i) {
    text += static_cast<char>('a' + i % 26);
    patterns.push_back(text);
    patterns.push_back(text + "\xff");
  }
  const router r = of(patterns);
  for (std::size_t i = 0; i < patterns.size(); ++i) EXPECT_EQ(found(r, patterns[i]), std::to_string(i)) << patterns[i];
  for (const std::string& p : patterns) {
    std::string other = p;
    other.back() = '~';
    EXPECT_EQ(found(r, other), "-") << other;
    EXPECT_EQ(found(r, p + std::string(1, '\0')), "-") << "a zero byte is not nothing";
  }
}

TEST(http_router, says_which_methods_there_are) {
  router_builder builder;
  ASSERT_TRUE(builder.add(method::get, "/x", 1));
  ASSERT_TRUE(builder.add(method::post, "/x", 2));
  ASSERT_TRUE(builder.add(method::put, "/{any}", 3));
  const router r = std::move(builder.build().value());
  EXPECT_EQ(r.match(method::post, "/x").handler, 2u);
  EXPECT_EQ(r.match(method::head, "/x").handler, 1u) << "RFC 9110 9.3.2";
  EXPECT_EQ(r.match(method::put, "/x").handler, 3u) << "of those that have the method";
  const route_match refused = r.match(method::delete_, "/x");
  EXPECT_EQ(refused.result, outcome::no_method);
  for (const method m : {method::get, method::head, method::post, method::put})
    EXPECT_TRUE(refused.allowed.contains(m));
  EXPECT_FALSE(refused.allowed.contains(method::delete_));
  EXPECT_EQ(r.match(method::get, "/y/z").result, outcome::no_path);
  EXPECT_EQ(r.match(method::get, "/x").parameter("any"), "");
  EXPECT_EQ(r.match(method::put, "/q").parameter("any"), "q");
}

TEST(http_router, refuses_patterns_that_say_nothing_clear) {
  for (const auto* bad : {"", "a", "/{", "/}", "/{}", "/{...}", "/a{b}", "/{a}b", "/{a}{b}", "/{{a}}", "/{a...}/b",
                          "/{a}/{a}", "/{1}/{2}/{3}/{4}/{5}/{6}/{7}/{8}/{9}"}) {
    router_builder builder;
    const auto added = builder.add(method::get, bad, 0);
    ASSERT_FALSE(added) << bad;
    EXPECT_NE(added.error().what.find(bad), std::string::npos);
    EXPECT_TRUE(added.error().unusable);
  }
  router_builder builder;
  EXPECT_TRUE(builder.add(method::get, "/a/{x}", 0));
  EXPECT_FALSE(builder.add(method::get, "/a/{y}", 1)) << "the same paths";
  EXPECT_TRUE(builder.add(method::get, "/a/{y}/b", 1)) << "names belong to a pattern";
  std::string deep;
  for (std::size_t i = 0; i < http::path_segments_max; ++i) deep += "/s";
  EXPECT_TRUE(builder.add(method::get, deep, 2));
  EXPECT_FALSE(builder.add(method::get, deep + "/s", 3));
}

TEST(http_router, walks_paths_longer_than_any_pattern) {
  std::string deep;
  for (std::size_t i = 0; i < http::path_segments_max; ++i) deep += "/s";
  const router r = of({deep, "/s/{rest...}"});
  EXPECT_EQ(found(r, deep), "0");
  EXPECT_EQ(found(r, deep + "/s"), "1 rest=" + deep.substr(3) + "/s");
  std::string long_path = "/s";
  for (int i = 0; i < 10'000; ++i) long_path += "/s";
  EXPECT_EQ(found(r, long_path), "1 rest=" + long_path.substr(3));
  EXPECT_EQ(found(r, "/t" + long_path), "-");
}

TEST(http_router, says_so_when_merging_needs_too_many_nodes) {
  router_builder builder;
  // Text at one of four places, parameters at the others: after each segment it matters which texts have been, so that
  // there are 21 ways on at each depth.
  std::uint32_t handler = 0;
  for (int place = 0; place < 4; ++place) {
    for (int text = 0; text < 20; ++text) {
      std::string pattern;
      for (int i = 0; i < 4; ++i) pattern += i == place ? "/t" + std::to_string(text) : "/{p" + std::to_string(i) + "}";
      ASSERT_TRUE(builder.add(method::get, pattern, handler++)) << pattern;
    }
  }
  const auto made = builder.build();
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().what.find("65536"), std::string::npos);
}

TEST(http_router, an_empty_router_finds_nothing) {
  EXPECT_EQ(router_builder().build().value().match(method::get, "/").result, outcome::no_path);
  EXPECT_EQ(router().match(method::get, "/").result, outcome::no_path);
}

// A plain reference: every pattern tried, the best by the rule as it is written.
std::vector<std::string> cut(std::string_view path) {
  std::vector<std::string> out(1);
  for (const char c : path.substr(1)) {
    if (c == '/') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}
// 0: text, 1: {name}, 2: {name...}, by segment; nothing when it does not fit.
std::optional<std::vector<int>> worth(const std::string& pattern, const std::string& path) {
  const auto wanted = cut(pattern);
  const auto given = cut(path);
  std::vector<int> out;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].ends_with("...}")) {
      if (i >= given.size()) return std::nullopt;
      out.push_back(2);
      return out;
    }
    if (i >= given.size()) return std::nullopt;
    if (wanted[i].starts_with("{")) {
      if (given[i].empty()) return std::nullopt;
      out.push_back(1);
    } else if (wanted[i] == given[i]) {
      out.push_back(0);
    } else {
      return std::nullopt;
    }
  }
  if (given.size() != wanted.size()) return std::nullopt;
  return out;
}

TEST(http_router, agrees_with_trying_every_pattern) {
  test::seeded random(405);
  for (int round = 0; round < 400; ++round) {
    router_builder builder;
    std::vector<std::string> patterns;
    for (std::uint32_t n = 0; n < 12; ++n) {
      std::string pattern;
      const std::size_t depth = 1 + random.below(4);
      for (std::size_t i = 0; i < depth; ++i) {
        const auto kind = random.below(i + 1 == depth ? 6 : 5);
        if (kind == 5) {
          pattern += "/{r...}";
        } else if (kind == 4) {
          pattern += "/{p" + std::to_string(i) + "}";
        } else {
          pattern += std::string("/") + "abc"[random.below(3)];
        }
      }
      if (builder.add(method::get, pattern, static_cast<std::uint32_t>(patterns.size()))) patterns.push_back(pattern);
    }
    const router r = std::move(builder.build().value());
    for (int i = 0; i < 200; ++i) {
      std::string path;
      for (std::size_t n = 1 + random.below(5); n != 0; --n)
        path += std::string("/") + (random.below(9) == 0 ? "" : std::string(1, "abcd"[random.below(4)]));
      std::optional<std::size_t> best;
      for (std::size_t p = 0; p < patterns.size(); ++p) {
        const auto w = worth(patterns[p], path);
        if (w && (!best || *w < *worth(patterns[*best], path))) best = p;
      }
      const route_match m = r.match(method::get, path);
      ASSERT_EQ(m.result == outcome::found, best.has_value()) << path;
      if (best) {
        ASSERT_EQ(patterns[m.handler], patterns[*best]) << path;
      }
    }
  }
}

}  // namespace
