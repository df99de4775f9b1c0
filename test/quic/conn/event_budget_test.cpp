#include "quic/conn/event_budget.hpp"

#include <gtest/gtest.h>

namespace millrace::test {

namespace {

using quic::conn::event_budget;
using quic::conn::event_rate;
using quic::recovery::second;

unsigned taken(event_budget& b, const event_rate& rate, std::uint64_t now_ns, unsigned wanted) {
  unsigned got = 0;
  for (unsigned i = 0; i < wanted; ++i) got += b.take(rate, now_ns) ? 1u : 0u;
  return got;
}

}  // namespace

TEST(quic_event_budget, gives_a_burst_and_no_more) {
  event_budget b;
  EXPECT_EQ(taken(b, {100, 7}, 5 * second, 50), 7u);
}

TEST(quic_event_budget, comes_back_with_time_up_to_the_burst) {
  event_budget b;
  const event_rate rate{100, 20};
  EXPECT_EQ(taken(b, rate, 5 * second, 50), 20u);
  EXPECT_EQ(taken(b, rate, 5 * second + second / 10, 50), 10u);
  EXPECT_EQ(taken(b, rate, 5 * second + second / 10, 50), 0u);
  EXPECT_EQ(taken(b, rate, 100 * second, 50), 20u) << "and no more than that";
}

TEST(quic_event_budget, gives_as_much_as_the_rate_over_a_long_time) {
  event_budget b;
  const event_rate rate{100, 20};
  unsigned got = 0;
  for (std::uint64_t ms = 0; ms < 10'000; ++ms) got += taken(b, rate, second + ms * (second / 1000), 3);
  EXPECT_GE(got, 1000u);
  EXPECT_LE(got, 1020u);
}

TEST(quic_event_budget, is_endless_without_a_rate_and_never_none_with_one) {
  event_budget b;
  EXPECT_EQ(taken(b, {0, 0}, 1, 1000), 1000u);
  event_budget c;
  EXPECT_EQ(taken(c, {1, 0}, second, 10), 1u);
}

}  // namespace millrace::test
