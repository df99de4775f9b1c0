#include "mem/pool_listing.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace millrace;

struct some_pool {
  std::string named;
  std::uint32_t all = 0, out = 0;
  [[nodiscard]] const std::string& name() const noexcept { return named; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return all; }
  [[nodiscard]] std::uint32_t in_use() const noexcept { return out; }
};

TEST(pool_listing, pools_of_one_name_are_one_row_in_the_order_they_came) {
  const some_pool a{"links", 8, 3}, b{"fields", 100, 0}, c{"links", 8, 8};
  mem::pool_listing list;
  list.add(a);
  list.add(b);
  list.add(c);
  ASSERT_EQ(list.rows().size(), 2u);
  EXPECT_EQ(list.rows()[0].name, "links");
  EXPECT_EQ(list.rows()[0].capacity, 16u);
  EXPECT_EQ(list.rows()[0].in_use, 11u);
  EXPECT_EQ(list.rows()[1].name, "fields");
}

TEST(pool_listing, what_does_not_fit_is_left_out) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < 60; ++i) names.push_back("pool " + std::to_string(i));
  mem::pool_listing list;
  for (const std::string& name : names) list.add(name, 1, 1);
  EXPECT_TRUE(list.rows().full());
  list.add(names.front(), 1, 1);
  EXPECT_EQ(list.rows()[0].in_use, 2u);
}

}  // namespace
