#include "quic/path/amplification.hpp"

#include <gtest/gtest.h>

namespace millrace::quic::path {
namespace {

TEST(amplification, allows_nothing_to_who_sent_nothing) {
  amplification a;
  EXPECT_EQ(a.budget_bytes(), 0u);
  EXPECT_TRUE(a.is_blocked());
  EXPECT_TRUE(a.allows(0));
  EXPECT_FALSE(a.allows(1));
  EXPECT_EQ(a.sends_blocked(), 1u);
}

TEST(amplification, allows_three_times_what_came) {  // RFC 9000 8.1
  amplification a;
  a.on_received(1200);
  EXPECT_EQ(a.budget_bytes(), 3600u);
  EXPECT_TRUE(a.allows(3600));
  EXPECT_FALSE(a.allows(3601));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(a.allows(1200));
    a.on_sent(1200);
  }
  EXPECT_TRUE(a.is_blocked());
  EXPECT_FALSE(a.allows(1));
  a.on_received(1);  // one byte more, whatever is in it
  EXPECT_EQ(a.budget_bytes(), 3u);
  EXPECT_EQ(a.sends_blocked(), 2u);
  EXPECT_EQ(a.received_bytes(), 1201u);
  EXPECT_EQ(a.sent_bytes(), 3600u);
}

TEST(amplification, never_exceeds_the_factor_whatever_the_sizes) {
  amplification a;
  std::uint64_t state = 1;
  for (int i = 0; i < 10'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t size = state >> 52;
    if ((state >> 33) % 4 == 0)
      a.on_received(size);
    else if (a.allows(size))
      a.on_sent(size);
    ASSERT_LE(a.sent_bytes(), amplification::factor * a.received_bytes());
  }
  EXPECT_GT(a.sent_bytes(), 0u);
}

TEST(amplification, does_not_go_below_zero_when_more_was_sent_than_allowed) {
  amplification a;
  a.on_received(100);
  a.on_sent(1200);
  EXPECT_EQ(a.budget_bytes(), 0u);
  a.on_received(300);
  EXPECT_EQ(a.budget_bytes(), 0u);
  a.on_received(1);
  EXPECT_EQ(a.budget_bytes(), 3u);
}

TEST(amplification, has_no_limit_once_validated) {
  amplification a;
  a.on_validated();
  EXPECT_TRUE(a.is_validated());
  EXPECT_EQ(a.budget_bytes(), amplification::no_limit);
  EXPECT_TRUE(a.allows(UINT64_MAX));
  EXPECT_FALSE(a.is_blocked());
  EXPECT_TRUE(amplification(true).allows(1));
}

TEST(amplification, does_not_wrap_around) {
  amplification a;
  a.on_received(UINT64_MAX / 3 + 1);
  EXPECT_EQ(a.budget_bytes(), UINT64_MAX - 1);
  a.on_received(UINT64_MAX);
  EXPECT_EQ(a.received_bytes(), UINT64_MAX);
  a.on_sent(UINT64_MAX);
  a.on_sent(UINT64_MAX);
  EXPECT_TRUE(a.is_blocked());
}

}  // namespace
}  // namespace millrace::quic::path
