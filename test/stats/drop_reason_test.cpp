#include "stats/drop_reason.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "stats/drop_counters.hpp"

namespace millrace::stats {
namespace {

TEST(drop_reason, has_a_name_and_a_text_of_its_own_for_every_value) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < drop_reason_count; ++i) {
    const auto reason = static_cast<drop_reason>(i);
    EXPECT_FALSE(describe(reason).empty()) << i;
    EXPECT_TRUE(names.insert(to_string(reason)).second) << to_string(reason);
  }
  EXPECT_GE(names.size(), 40u);  // operators asked for forty or more
}

TEST(drop_reason, names_no_value_outside_the_enum) { EXPECT_EQ(to_string(drop_reason::count_), "unknown"); }

TEST(drop_counters, sum_by_reason_is_the_total) {
  drop_counters drops;
  drops.add(drop_reason::ip_truncated, 3);
  drops.add(drop_reason::mempool_empty);
  EXPECT_EQ(drops.get(drop_reason::ip_truncated), 3u);
  EXPECT_EQ(drops.get(drop_reason::arp), 0u);
  EXPECT_EQ(drops.total(), 4u);
}

}  // namespace
}  // namespace millrace::stats
