#include "srmp/pending_requests.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "support/seeded.hpp"

namespace millrace::srmp {
namespace {

TEST(srmp_pending, lets_what_expires_begin_another_request) {
  pending_requests table;
  for (std::uint64_t i = 0; i < 256; ++i) ASSERT_TRUE(table.begin(i, 10));
  std::size_t again = 0;
  EXPECT_EQ(table.expire(10, [&](const pending_request&) { again += table.begin(1000, 20).has_value(); }), 256u);
  EXPECT_EQ(again, 256u);
  EXPECT_EQ(table.size(), 256u);
  EXPECT_EQ(table.next_deadline(), 20u);
}

TEST(srmp_pending, finds_without_taking_and_cancels) {
  pending_requests table;
  EXPECT_FALSE(table.find(1));
  ASSERT_EQ(table.begin(7, UINT64_MAX), 1);
  EXPECT_EQ(table.find(1)->cookie, 7u);
  EXPECT_TRUE(table.cancel(1));
  EXPECT_FALSE(table.cancel(1));
  EXPECT_EQ(table.next_deadline(), UINT64_MAX);
}

// The same on a plain list, searched newest first as the other generation does.
void compare_with_list(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  test::seeded random(seed);
  pending_requests table;
  std::vector<pending_request> list;
  std::uint64_t now = 0;
  for (std::uint64_t step = 0; step < 5000; ++step) {
    const std::size_t what = random.below(8);
    if (what < 4) {
      const std::uint64_t deadline = random.below(20) == 0 ? UINT64_MAX : now + random.below(1000);
      const bool choose = seed % 2 == 0 && random.below(4) == 0;
      const auto wanted =
          choose ? std::optional<std::uint8_t>(static_cast<std::uint8_t>(random.below(16))) : std::nullopt;
      const auto seq = table.begin(step, deadline, wanted);
      ASSERT_EQ(seq.has_value(), list.size() < 256);
      if (!seq) continue;
      if (wanted) {
        ASSERT_EQ(*seq, *wanted);
      } else {
        for (const pending_request& one : list) ASSERT_NE(one.seq, *seq) << "a free number";
      }
      list.push_back({step, deadline, *seq});
    } else if (what < 7) {
      const auto seq = static_cast<std::uint8_t>(random.below(seed % 3 == 0 ? 256 : 32));
      const auto got = table.match(seq);
      std::size_t i = list.size();
      while (i != 0 && list[i - 1].seq != seq) --i;
      ASSERT_EQ(got.has_value(), i != 0);
      if (!got) continue;
      ASSERT_EQ(got->cookie, list[i - 1].cookie);
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i - 1));
    } else {
      now += random.below(300);
      std::set<std::uint64_t> gone;
      table.expire(now, [&](const pending_request& one) { gone.insert(one.cookie); });
      std::set<std::uint64_t> expected;
      for (const pending_request& one : list)
        if (one.deadline <= now) expected.insert(one.cookie);
      ASSERT_EQ(gone, expected);
      std::erase_if(list, [&](const pending_request& one) { return one.deadline <= now; });
    }
    ASSERT_EQ(table.size(), list.size());
    for (const pending_request& one : list) ASSERT_LE(table.next_deadline(), one.deadline);
  }
}

TEST(srmp_pending, does_what_a_list_does) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) compare_with_list(seed);
}

}  // namespace
}  // namespace millrace::srmp
