// RFC 9438: the curve against the formula, worked out here in another way.
#include <gtest/gtest.h>

#include <cmath>

#include "quic/recovery/cubic.hpp"

namespace {

using namespace millrace::quic::recovery;

constexpr std::uint64_t rtt_ns = 100 * ms;

struct path {
  cubic c;
  std::uint64_t now_ns = 1 * second;
  explicit path(std::uint64_t datagrams) : c({.initial_window = datagrams * 1200}) {}

  [[nodiscard]] double window() const { return static_cast<double>(c.window_bytes()) / 1200; }
  void lose() { c.on_loss({.now_ns = now_ns, .lost_bytes = 1200, .largest_lost_sent_ns = now_ns - 1}); }
  // A round trip in which a window is acknowledged, in 50 ACKs.
  void round() {
    for (int i = 0; i < 50; ++i) {
      now_ns += rtt_ns / 50;
      ack_event e;
      e.now_ns = now_ns;
      e.acked_bytes = e.growth_bytes = c.window_bytes() / 50;
      e.smoothed_rtt_ns = e.latest_rtt_ns = rtt_ns;
      c.on_ack(e);
    }
  }
};

TEST(cubic, takes_seven_tenths_after_a_loss_and_remembers_the_window) {
  path p(1000);
  p.lose();
  EXPECT_EQ(p.c.window_bytes(), 840'000u);
  EXPECT_DOUBLE_EQ(p.c.w_max(), 1000.0);
  EXPECT_EQ(p.c.threshold_bytes(), 840'000u);
  EXPECT_FALSE(p.c.is_slow_start());
}

TEST(cubic, reduces_once_a_round_trip) {
  path p(1000);
  p.lose();
  p.c.on_loss({.now_ns = p.now_ns + 10, .lost_bytes = 1200, .largest_lost_sent_ns = p.now_ns});
  EXPECT_EQ(p.c.window_bytes(), 840'000u);
  p.c.on_ce({.now_ns = p.now_ns + 20, .sent_ns = p.now_ns + 1});
  EXPECT_EQ(p.c.window_bytes(), 588'000u);
}

TEST(cubic, follows_the_curve_of_the_rfc) {
  path p(1000);
  p.lose();
  p.round();  // the epoch begins with its first ACK
  const std::uint64_t epoch_ns = p.now_ns - rtt_ns + rtt_ns / 50;
  const double k = std::cbrt(1000 * (1 - 0.7) / 0.4);
  EXPECT_NEAR(p.c.k(), k, 1e-9);
  for (int i = 1; i < 150; ++i) {
    p.round();
    const double t = static_cast<double>(p.now_ns - epoch_ns) * 1e-9;
    const double expected = 0.4 * std::pow(t - k, 3) + 1000;
    // The window runs after a target one round trip ahead; in the steep parts it may be one step behind.
    const double slope = 1.2 * std::pow(t - k, 2) * 0.1;
    ASSERT_NEAR(p.window(), expected, slope + 2) << "at " << t;
  }
  EXPECT_GT(p.window(), 1000.0);  // K is 9.1 s: the window has passed its old maximum
}

TEST(cubic, is_flat_around_the_old_maximum) {
  path p(1000);
  p.lose();
  while (static_cast<double>(p.now_ns) * 1e-9 < 1 + std::cbrt(750.0)) p.round();
  const double at_k = p.window();
  for (int i = 0; i < 10; ++i) p.round();
  EXPECT_NEAR(at_k, 1000, 1);
  EXPECT_NEAR(p.window(), 1000.4, 1);  // C * 1 s^3
}

TEST(cubic, gives_room_to_others_when_it_loses_below_its_maximum) {
  path p(1000);
  p.lose();
  p.round();
  const double window = p.window();
  p.lose();
  EXPECT_NEAR(p.c.w_max(), window * (1 + 0.7) / 2, 1e-6);  // RFC 9438 4.7
}

TEST(cubic, is_never_slower_than_reno) {
  // A small window on a short path: K is 2 s, Reno is back much earlier.
  path p(20);
  p.lose();
  const double after = p.window();
  const double alpha = 3 * (1 - 0.7) / (1 + 0.7);
  for (int i = 0; i < 8; ++i) p.round();
  EXPECT_NEAR(p.window(), after + 8 * alpha, 0.5);  // RFC 9438 4.3: alpha a round trip, until the old window
}

TEST(cubic, takes_at_most_half_a_window_more_a_round_trip) {
  path p(10);
  p.lose();
  for (int i = 0; i < 20; ++i) p.round();
  p.now_ns += 100 * second;  // the curve is far above by now
  const double before = p.window();
  p.round();
  EXPECT_LE(p.window(), before * 1.5 * 1.1);  // RFC 9438 4.2; a window grows while it is acknowledged
  EXPECT_GE(p.window(), before * 1.4);
}

TEST(cubic, does_not_count_time_that_the_application_left_unused) {
  path busy(1000), idle(1000);
  busy.lose();
  idle.lose();
  busy.round();
  idle.round();
  for (int i = 0; i < 300; ++i) {  // 30 s of ACKs that must not grow the window
    idle.now_ns += rtt_ns;
    ack_event e;
    e.now_ns = idle.now_ns;
    e.acked_bytes = 1200;
    e.smoothed_rtt_ns = rtt_ns;
    idle.c.on_ack(e);
  }
  for (int i = 0; i < 20; ++i) {
    busy.round();
    idle.round();
  }
  EXPECT_NEAR(idle.window(), busy.window(), 1);
}

TEST(cubic, leaves_slow_start_by_hystart) {
  cubic c({});
  std::uint64_t number = 0;
  const auto round = [&](std::uint64_t rtt) {
    const std::uint64_t last = number;
    number += 100;
    for (int i = 0; i < 20; ++i) {
      ack_event e;
      e.now_ns = 1;
      e.growth_bytes = 1200;
      e.latest_rtt_ns = rtt;
      e.largest_acked = i == 19 ? last : 0;
      e.largest_sent = number;
      c.on_ack(e);
    }
  };
  round(50 * ms);
  round(50 * ms);
  for (int i = 0; i < 6; ++i) round(80 * ms);
  EXPECT_FALSE(c.is_slow_start());
  EXPECT_LE(c.threshold_bytes(), c.window_bytes());
  EXPECT_LT(c.window_bytes(), c.threshold_bytes() + 1200);  // congestion avoidance from there on
  EXPECT_EQ(c.k(), 0.0);                                    // RFC 9438 4.8: the window is its own maximum
}

TEST(cubic, undoes_a_reduction_for_losses_that_were_none) {
  path p(1000);
  p.lose();
  p.round();
  p.c.on_spurious();
  EXPECT_EQ(p.c.window_bytes(), 1'200'000u);
  EXPECT_TRUE(p.c.is_slow_start());  // as it was
  p.c.on_spurious();
  EXPECT_EQ(p.c.window_bytes(), 1'200'000u);
}

TEST(cubic, starts_over_after_persistent_congestion) {
  path p(1000);
  p.c.on_loss({.now_ns = p.now_ns, .largest_lost_sent_ns = p.now_ns - 1, .persistent = true});
  EXPECT_EQ(p.c.window_bytes(), 2400u);
  EXPECT_TRUE(p.c.is_slow_start());
  EXPECT_EQ(p.c.threshold_bytes(), 840'000u);
}

TEST(cubic, keeps_its_bytes_when_datagrams_grow) {
  path p(1000);
  p.lose();
  p.c.set_datagram_bytes(8972);
  EXPECT_EQ(p.c.window_bytes(), 840'000u);
  EXPECT_NEAR(p.c.w_max() * 8972, 1'200'000, 1);
}

}  // namespace
