#include "loadgen/pacer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace millrace::loadgen {
namespace {

constexpr std::uint64_t start_ns = 1'000'000'007;

// floor(k * 10^9 / rate), by arithmetic of another kind; k * 10^9 fits for the k of these tests.
std::uint64_t meant(std::uint64_t k, std::uint64_t rate) { return start_ns + k * 1'000'000'000 / rate; }

TEST(pacer, means_each_message_for_its_exact_time) {
  for (const std::uint64_t rate :
       {1ull, 3ull, 7ull, 1'000ull, 999'983ull, 5'000'000ull, 1'000'000'000ull, 3'000'000'001ull}) {
    pacer p({rate}, start_ns);
    for (std::uint64_t k = 0; k < 100'000; ++k) ASSERT_EQ(p.take(), meant(k, rate)) << "rate " << rate << " k " << k;
  }
}

TEST(pacer, does_not_drift_over_many_messages) {
  const std::uint64_t rate = 14'880'952;  // 64-byte frames at 10 Gb/s: no whole number of ns
  pacer p({rate}, start_ns);
  const std::uint64_t messages = 20 * rate;
  for (std::uint64_t k = 0; k < messages; ++k) p.take();
  EXPECT_EQ(p.next_ns(), start_ns + 20'000'000'000);
  EXPECT_EQ(p.taken(), messages);
}

TEST(pacer, is_due_at_its_time_and_not_before) {
  pacer p({1000}, start_ns);
  EXPECT_FALSE(p.is_due(start_ns - 1));
  EXPECT_TRUE(p.is_due(start_ns));
  p.take();
  EXPECT_FALSE(p.is_due(start_ns + 999'999));
  EXPECT_TRUE(p.is_due(start_ns + 1'000'000));
}

TEST(pacer, forgets_nothing_that_a_pause_held_up) {
  pacer p({1'000'000}, start_ns);
  std::vector<std::uint64_t> sent;
  // Nobody sends for 5 ms; then four messages a microsecond, until the rate is met again.
  std::uint64_t now = start_ns + 5'000'000;
  EXPECT_EQ(p.behind_ns(now), 5'000'000u);
  for (; p.behind_ns(now) != 0; now += 1000)
    for (int i = 0; i < 4 && p.is_due(now); ++i) sent.push_back(p.take());
  EXPECT_EQ(p.behind_ns(now), 0u);
  for (std::uint64_t k = 0; k < sent.size(); ++k) ASSERT_EQ(sent[k], meant(k, 1'000'000));
  EXPECT_NEAR(static_cast<double>(sent.size()), 6667, 3);  // 5000 held up, and those due while catching up
}

TEST(pacer, shares_make_the_whole_rate_together) {
  const std::uint64_t rate = 999'983;
  const std::uint16_t shares = 7;
  std::vector<std::uint64_t> all;
  for (std::uint16_t share = 0; share < shares; ++share) {
    pacer p({rate, share, shares}, start_ns);
    for (int i = 0; i < 5000; ++i) all.push_back(p.take());
  }
  std::sort(all.begin(), all.end());
  for (std::uint64_t k = 0; k < all.size(); ++k) ASSERT_EQ(all[k], meant(k, rate)) << k;
}

TEST(pacer, takes_the_highest_rate) {
  pacer p({max_rate}, start_ns);
  for (int i = 0; i < 1'000'000; ++i) p.take();
  EXPECT_EQ(p.next_ns(), start_ns + 1000);
}

}  // namespace
}  // namespace millrace::loadgen
