// BBR: its filter, its phases on a path of fixed rate, and what losses and marks do to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "quic/recovery/bbr.hpp"
#include "support/seeded.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic::recovery;

TEST(max_filter, holds_the_largest_of_the_last_rounds) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    test::seeded random(seed);
    max_filter filter(10);
    std::deque<std::pair<std::uint64_t, std::uint64_t>> all;
    for (std::uint64_t round = 1; round < 300; ++round) {
      const std::uint64_t value = 1 + random.below(1000);
      filter.add(value, round);
      all.emplace_back(round, value);
      std::uint64_t recent = 0, longer = 0;
      for (const auto& [when, v] : all) {
        if (round - when <= 10) longer = std::max(longer, v);
        if (round - when <= 2) recent = std::max(recent, v);
      }
      // Three samples approximate: never more than the window's maximum, never less than the newest ones'.
      ASSERT_LE(filter.get(), longer);
      ASSERT_GE(filter.get(), recent);
    }
  }
}

// A path that delivers `rate` bytes a second after `rtt`, acknowledged in ticks; the queue has no end.
struct pipe {
  static constexpr congestion_config config{.seed = 2};
  bbr c{config};
  std::uint64_t rate = 10'000'000;
  std::uint64_t rtt_ns = 40 * ms;
  std::uint64_t now_ns = second;
  std::uint64_t sent_bytes = 0, delivered = 0, queued_until_ns = 0;
  std::uint64_t most_window = 0;
  struct packet {
    std::uint64_t arrives_ns, sent_ns, prior, prior_ns, first_sent_ns;
  };
  std::deque<packet> in_flight;
  std::uint64_t next_ns = 0, delivered_ns = second, first_sent_ns = second;
  double lost = 0;  // of the bytes acknowledged, reported with each ACK

  void run(std::uint64_t for_ns) {
    const std::uint64_t until = now_ns + for_ns;
    for (; now_ns < until; now_ns += 200 * us) {
      while (!in_flight.empty() && in_flight.front().arrives_ns <= now_ns) ack();
      const std::uint64_t pace = c.pacing_rate() == 0 ? 1'000'000 : c.pacing_rate();
      next_ns = std::max(next_ns, now_ns - 1 * ms);
      while (next_ns <= now_ns && in_flight.size() * 1200 + 1200 <= c.window_bytes()) {
        queued_until_ns = std::max(queued_until_ns, now_ns) + 1200 * second / rate;
        if (in_flight.empty()) delivered_ns = first_sent_ns = now_ns;
        in_flight.push_back({queued_until_ns + rtt_ns, now_ns, delivered, delivered_ns, first_sent_ns});
        next_ns += 1200 * second / pace;
      }
    }
  }
  void ack() {
    const packet p = in_flight.front();
    in_flight.pop_front();
    delivered += 1200;
    delivered_ns = now_ns;
    ack_event e;
    e.now_ns = now_ns;
    e.acked_bytes = e.growth_bytes = 1200;
    e.prior_in_flight = (in_flight.size() + 1) * 1200;
    e.in_flight = in_flight.size() * 1200;
    e.lost_bytes = static_cast<std::uint64_t>(1200 * lost);
    e.delivered_bytes = delivered;
    e.latest_rtt_ns = p.arrives_ns - p.sent_ns;
    e.rate = {.delivered_bytes = delivered - p.prior,
              .interval_ns = std::max(now_ns - p.prior_ns, p.sent_ns - p.first_sent_ns),
              .prior_bytes = p.prior};
    first_sent_ns = p.sent_ns;
    c.on_ack(e);
    most_window = std::max(most_window, c.window_bytes());
  }
  [[nodiscard]] double bdp() const { return static_cast<double>(rate) * static_cast<double>(rtt_ns) * 1e-9; }
};

TEST(bbr, finds_bandwidth_and_round_trip_and_leaves_startup) {
  pipe p;
  p.run(2 * second);
  EXPECT_EQ(p.c.state(), bbr_state::probe_bw);
  EXPECT_NEAR(static_cast<double>(p.c.bandwidth()), 1e7, 5e5);
  EXPECT_NEAR(static_cast<double>(p.c.min_rtt_ns()), 40e6, 1e6);
  EXPECT_LE(static_cast<double>(p.c.window_bytes()), 2 * p.bdp() + 3 * 65536 + 1200);
  EXPECT_GE(static_cast<double>(p.delivered), 0.85 * 2e7);
}

TEST(bbr, follows_a_path_that_becomes_faster_and_slower) {
  pipe p;
  p.run(2 * second);
  p.rate = 20'000'000;
  p.run(3 * second);
  EXPECT_GE(p.c.bandwidth(), 18'000'000u);
  p.rate = 5'000'000;
  p.run(5 * second);
  EXPECT_LE(p.c.bandwidth(), 6'500'000u);
}

TEST(bbr, looks_at_the_round_trip_every_ten_seconds_with_four_datagrams) {
  pipe p;
  p.run(2 * second);
  p.rtt_ns += 2 * ms;  // or the old minimum would be seen again whenever the queue is empty
  bool seen = false;
  std::uint64_t least = UINT64_MAX;
  for (int i = 0; i < 2500 && !seen; ++i) {
    p.run(5 * ms);
    seen = p.c.state() == bbr_state::probe_rtt;
    if (seen) least = p.c.window_bytes();
  }
  EXPECT_TRUE(seen);
  EXPECT_EQ(least, 4800u);
  p.run(1 * second);
  EXPECT_EQ(p.c.state(), bbr_state::probe_bw);
  EXPECT_GE(static_cast<double>(p.c.window_bytes()), p.bdp());
}

TEST(bbr, is_bounded_where_more_than_two_per_cent_are_lost_and_not_where_less_are) {
  pipe few, many;
  few.lost = 0.01;
  many.lost = 0.05;
  few.run(3 * second);
  many.run(3 * second);
  EXPECT_GE(static_cast<double>(few.c.window_bytes()), 1.9 * few.bdp());
  EXPECT_LE(static_cast<double>(many.c.window_bytes()), 1.3 * many.bdp() + 3 * 10'000);
  EXPECT_GE(static_cast<double>(many.delivered), 0.8 * 3e7);  // and still fills the path
}

TEST(bbr, answers_marks_once_a_round) {
  pipe p;
  p.run(2 * second);
  const std::uint64_t before = p.c.window_bytes();
  p.c.on_ce({.now_ns = p.now_ns, .sent_ns = p.now_ns - 1, .in_flight = before});
  p.run(1 * ms);
  EXPECT_LT(p.c.window_bytes(), before);
}

TEST(bbr, starts_over_after_persistent_congestion) {
  pipe p;
  p.run(2 * second);
  p.c.on_loss({.now_ns = p.now_ns, .persistent = true});
  EXPECT_EQ(p.c.window_bytes(), 2400u);
}

}  // namespace
