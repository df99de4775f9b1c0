#include "rpc/method_table.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/seeded.hpp"

namespace millrace::rpc {
namespace {

void nothing(void*, call&) noexcept {}

struct table {
  std::unique_ptr<method_table> made = method_table::make(64);
  method_table& methods = *made;

  table(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) EXPECT_EQ(methods.add(name, nothing, nullptr), add_errc::ok) << name;
  }
  std::string_view find(std::string_view name) const {
    const method* found = methods.find(name);
    return found == nullptr ? "-" : found->name_view();
  }
};

TEST(rpc_methods, are_found_whatever_their_case) {
  const table t{"Api/All", "My/Add", "Echo"};
  EXPECT_EQ(t.find("api/all"), "Api/All");
  EXPECT_EQ(t.find("API/ALL"), "Api/All");
  EXPECT_EQ(t.find("eCHO"), "Echo");
  EXPECT_EQ(t.find("Ech"), "-");
  EXPECT_EQ(t.find("Echoo"), "-");
  EXPECT_EQ(t.find(""), "-");
}

TEST(rpc_methods, differ_in_characters_that_are_no_letters) {
  const table t{"a[b", "a@b", "a`b", "a{b", "A/B", "A-B"};
  EXPECT_EQ(t.find("A[B"), "a[b");
  EXPECT_EQ(t.find("A{B"), "a{b");
  EXPECT_EQ(t.find("A@B"), "a@b");
  EXPECT_EQ(t.find("A`B"), "a`b");
  EXPECT_EQ(t.find("a/b"), "A/B");
  EXPECT_EQ(t.find("a_b"), "-");
}

TEST(rpc_methods, fall_back_to_the_controller_then_to_everything) {
  const table t{"My/Add", "My/*", "*"};
  EXPECT_EQ(t.find("my/add"), "My/Add");
  EXPECT_EQ(t.find("MY/other"), "My/*");
  EXPECT_EQ(t.find("my/deep/er"), "My/*") << "the controller ends at the first slash";
  EXPECT_EQ(t.find("Other/x"), "*");
  EXPECT_EQ(t.find("x"), "*");
  EXPECT_EQ(t.find("my/" + std::string(300, 'n')), "My/*");
  EXPECT_EQ(t.find(std::string(300, 'n') + "/x"), "*");
  const table strict{"My/*"};
  EXPECT_EQ(strict.find("Other/x"), "-");
  EXPECT_EQ(strict.find("My"), "-");
}

TEST(rpc_methods, are_refused_when_they_cannot_be_called) {
  table t{"Echo"};
  EXPECT_EQ(t.methods.add("ECHO", nothing, nullptr), add_errc::duplicate);
  EXPECT_EQ(t.methods.add("", nothing, nullptr), add_errc::bad_name);
  EXPECT_EQ(t.methods.add("caf\xC3\xA9", nothing, nullptr), add_errc::bad_name);
  EXPECT_EQ(t.methods.add(std::string(128, 'x'), nothing, nullptr), add_errc::bad_name);
  EXPECT_EQ(t.methods.add(std::string(127, 'x'), nothing, nullptr), add_errc::ok);
  EXPECT_EQ(t.find(std::string(127, 'X')), std::string(127, 'x'));
  for (int i = 0; i < 62; ++i) EXPECT_EQ(t.methods.add(std::to_string(i), nothing, nullptr), add_errc::ok);
  EXPECT_EQ(t.methods.add("one/more", nothing, nullptr), add_errc::full);
  EXPECT_EQ(t.methods.methods().size(), 64u);
}

TEST(rpc_methods, are_those_a_map_finds) {
  auto made = method_table::make(1000);
  ASSERT_TRUE(made);
  std::map<std::string, std::string> expected;  // lower case, as added
  test::seeded random(7);
  const auto name = [&] {
    std::string out;
    for (std::size_t i = 1 + random.below(20); i != 0; --i) out += "abcXYZ/019"[random.below(10)];
    return out;
  };
  const auto lower = [](std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    return text;
  };
  for (int i = 0; i < 900; ++i) {
    const std::string one = name();
    ASSERT_EQ(made->add(one, nothing, nullptr) == add_errc::ok, expected.emplace(lower(one), one).second);
  }
  for (int i = 0; i < 20'000; ++i) {
    const std::string one = name();
    const auto it = expected.find(lower(one));
    const method* found = made->find(one);
    ASSERT_EQ(found != nullptr, it != expected.end()) << one;
    if (found != nullptr) {
      ASSERT_EQ(found->name_view(), it->second);
    }
  }
}

}  // namespace
}  // namespace millrace::rpc
