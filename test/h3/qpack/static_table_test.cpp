#include "h3/qpack/static_table.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace millrace::h3;

TEST(static_table, holds_what_rfc_9204_appendix_a_lists) {
  const auto is = [](std::size_t index, std::string_view name, std::string_view value) {
    return qpack::static_at(index).name == name && qpack::static_at(index).value == value;
  };
  EXPECT_TRUE(is(0, ":authority", ""));
  EXPECT_TRUE(is(1, ":path", "/"));
  EXPECT_TRUE(is(17, ":method", "GET"));
  EXPECT_TRUE(is(25, ":status", "200"));
  EXPECT_TRUE(is(54, "content-type", "text/plain;charset=utf-8"));
  EXPECT_TRUE(is(62, "x-xss-protection", "1; mode=block"));
  EXPECT_TRUE(is(63, ":status", "100"));
  EXPECT_TRUE(is(95, "user-agent", ""));
  EXPECT_TRUE(is(98, "x-frame-options", "sameorigin"));
}

TEST(static_table, finds_every_entry_by_name_and_value) {
  for (std::size_t i = 0; i < qpack::static_table_size; ++i) {
    const qpack::static_field& entry = qpack::static_at(i);
    const qpack::static_match match = qpack::find_static(entry.name, entry.value);
    EXPECT_EQ(match.field, i);
    ASSERT_LE(match.name, i);
    EXPECT_EQ(qpack::static_at(match.name).name, entry.name);
  }
}

TEST(static_table, finds_the_name_alone_where_the_value_is_another) {
  for (std::size_t i = 0; i < qpack::static_table_size; ++i) {
    const qpack::static_field& entry = qpack::static_at(i);
    const qpack::static_match match = qpack::find_static(entry.name, std::string(entry.value) + "x");
    EXPECT_EQ(match.field, qpack::no_static) << entry.name;
    ASSERT_NE(match.name, qpack::no_static);
    EXPECT_EQ(qpack::static_at(match.name).name, entry.name);
  }
}

TEST(static_table, does_not_find_what_only_looks_alike) {
  for (std::size_t i = 0; i < qpack::static_table_size; ++i) {
    std::string name(qpack::static_at(i).name);
    name[1] ^= 1;  // a character the hash does not look at
    EXPECT_EQ(qpack::find_static(name, qpack::static_at(i).value).name, qpack::no_static) << name;
  }
  EXPECT_EQ(qpack::find_static("", "").name, qpack::no_static);
  EXPECT_EQ(qpack::find_static({}, {}).field, qpack::no_static);
}

}  // namespace
