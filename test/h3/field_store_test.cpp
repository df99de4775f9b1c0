#include "h3/field_store.hpp"

#include <gtest/gtest.h>

#include <string>

namespace millrace::h3 {
namespace {

field_memory memory(std::uint32_t messages = 4, std::uint32_t limit = 64 << 10) {
  auto made = field_memory::make(messages, limit);
  EXPECT_TRUE(made);
  return std::move(made.value());
}

TEST(field_store, keeps_fields_in_their_order_while_it_grows) {
  field_memory m = memory();
  field_store s(m);
  std::vector<std::pair<std::string, std::string>> want;
  for (unsigned i = 0; i < 400; ++i) {
    want.emplace_back("name-" + std::to_string(i), std::string(i % 100, static_cast<char>('a' + i % 26)));
    ASSERT_TRUE(s.add(want.back().first, want.back().second)) << i;
    EXPECT_EQ(m.in_use(), 1u);
  }
  ASSERT_EQ(s.fields().size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(s.fields()[i].name, want[i].first);
    EXPECT_EQ(s.fields()[i].value, want[i].second);
  }
  s.clear();
  EXPECT_EQ(m.in_use(), 0u);
}

TEST(field_store, a_small_head_takes_the_smallest_block) {
  field_memory m = memory();
  field_store s(m);
  for (unsigned i = 0; i < 9; ++i) ASSERT_TRUE(s.add("accept-language", "en-US,en;q=0.5"));
  EXPECT_EQ(m.in_use_bytes(), 1024u);
}

TEST(field_store, takes_whatever_a_limit_of_the_rfc_s_kind_lets_through) {
  constexpr std::uint32_t limit = 64 << 10;
  for (const std::size_t text : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{30'000}}) {
    field_memory m = memory(4, limit);
    field_store s(m);
    const std::string value(text, 'v');
    for (std::size_t left = limit; left >= 32 + text; left -= 32 + text) ASSERT_TRUE(s.add("", value));
  }
}

TEST(field_store, says_no_when_memory_is_out_and_keeps_what_it_has) {
  field_memory m = memory(1, 1024);
  field_store a(m);
  ASSERT_TRUE(a.add("a", "b"));
  std::vector<std::unique_ptr<field_store>> others;
  for (;;) {
    auto s = std::make_unique<field_store>(m);
    if (!s->add("x", "y")) break;
    others.push_back(std::move(s));
  }
  EXPECT_FALSE(a.add("c", std::string(1000, 'd')));
  EXPECT_EQ(a.fields()[0].name, "a");
  EXPECT_EQ(a.fields()[0].value, "b");
  others.clear();
  EXPECT_TRUE(a.add("c", std::string(1000, 'd')));
  EXPECT_FALSE(a.add("c", std::string(1 << 20, 'd')));
}

}  // namespace
}  // namespace millrace::h3
