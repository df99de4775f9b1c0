// The pacer: what leaves in a second, and in one burst.
#include <gtest/gtest.h>

#include "quic/recovery/pacer.hpp"

namespace {

using namespace millrace::quic::recovery;

// What is sent in a second by a loop that looks every `tick`, and the largest burst of it.
struct sent {
  std::uint64_t bytes = 0;
  std::uint64_t burst = 0;
};
sent run(std::uint64_t rate, std::uint64_t tick_ns) {
  pacer p;
  p.set_rate(rate, 1200);
  sent s;
  for (std::uint64_t now = second; now < 2 * second; now += tick_ns) {
    std::uint64_t burst = 0;
    while (p.may_send(now, 1200)) {
      p.on_sent(now, 1200);
      burst += 1200;
    }
    s.bytes += burst;
    s.burst = std::max(s.burst, burst);
  }
  return s;
}

TEST(pacer, keeps_the_rate_over_five_orders_of_magnitude) {
  for (const std::uint64_t rate : {100'000ull, 1'000'000ull, 10'000'000ull, 100'000'000ull, 5'000'000'000ull}) {
    SCOPED_TRACE(rate);
    const sent s = run(rate, 2 * us);
    EXPECT_NEAR(static_cast<double>(s.bytes), static_cast<double>(rate), static_cast<double>(rate) * 0.01 + 40'000);
  }
}

TEST(pacer, bursts_are_ten_datagrams_on_slow_paths_and_thirty_two_on_fast_ones) {
  EXPECT_LE(run(1'000'000, 10 * us).burst, 11 * 1200u);
  EXPECT_LE(run(20'000'000, 10 * us).burst, 18 * 1200u);  // a millisecond
  EXPECT_LE(run(1'000'000'000, 10 * us).burst, 33 * 1200u);
}

TEST(pacer, tells_when_the_next_may_leave) {
  pacer p;
  p.set_rate(12'000'000, 1200);  // 100 us a datagram
  std::uint64_t now = second;
  while (p.may_send(now, 1200)) p.on_sent(now, 1200);
  EXPECT_GT(p.next_ns(1200), now);
  EXPECT_LE(p.next_ns(1200), now + 101 * us);
  EXPECT_LT(p.burst_bytes(p.next_ns(1200) - 2), 1200u);
  EXPECT_GE(p.burst_bytes(p.next_ns(1200)), 1200u);
  EXPECT_FALSE(p.may_send(p.next_ns(1200) - 1, 1200));
  EXPECT_TRUE(p.may_send(p.next_ns(1200), 1200));
}

TEST(pacer, does_not_save_up_more_than_a_burst) {
  pacer p;
  p.set_rate(12'000'000, 1200);
  p.on_sent(second, 1200);
  EXPECT_NEAR(static_cast<double>(p.burst_bytes(100 * second)), 12'000.0, 1.0);
}

TEST(pacer, lets_everything_go_when_off) {
  pacer p;
  EXPECT_TRUE(p.may_send(0, 1200));
  EXPECT_EQ(p.burst_bytes(0), UINT64_MAX);
  p.set_rate(1000, 1200);
  EXPECT_NE(p.burst_bytes(0), UINT64_MAX);
  p.set_rate(0, 1200);
  for (int i = 0; i < 1000; ++i) p.on_sent(0, 1200);
  EXPECT_TRUE(p.may_send(0, 1200));
}

}  // namespace
