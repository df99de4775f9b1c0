// RFC 9406 4.2 and 4.3: rounds of eight samples.
#include <gtest/gtest.h>

#include "quic/recovery/hystart.hpp"

namespace {

using namespace millrace::quic::recovery;

struct rounds {
  hystart machine;
  std::uint64_t sent = 0;
  std::uint64_t acked = 0;
  std::uint64_t growth = 0;

  // One round of `samples` ACKs with this round trip; the window's next round is in flight meanwhile.
  void round(std::uint64_t rtt_ns, int samples = 10) {
    const std::uint64_t last = sent;
    for (int i = 0; i < samples; ++i) {
      ack_event e;
      e.growth_bytes = e.acked_bytes = 1200;
      e.latest_rtt_ns = rtt_ns;
      e.largest_acked = i + 1 == samples ? last : acked;
      e.largest_sent = sent = last + 20;
      growth += machine.on_ack(e);
    }
    acked = last;
  }
};

TEST(hystart, grows_without_bound_while_round_trips_stay) {
  rounds r;
  for (int i = 0; i < 10; ++i) r.round(50 * ms);
  EXPECT_FALSE(r.machine.is_conservative());
  EXPECT_EQ(r.growth, 10u * 10u * 1200u);
}

TEST(hystart, turns_conservative_when_a_rounds_minimum_grows_by_an_eighth) {
  rounds r;
  r.round(80 * ms);
  r.round(80 * ms);
  r.round(89 * ms);
  EXPECT_FALSE(r.machine.is_conservative());  // below 90 ms
  r.round(100 * ms);
  EXPECT_FALSE(r.machine.is_conservative());  // below 89 + 11.1
  r.round(112'500 * us);
  EXPECT_TRUE(r.machine.is_conservative());
}

TEST(hystart, clamps_the_threshold_between_4_and_16_ms) {
  rounds quick, slow;
  quick.round(1 * ms);
  quick.round(1 * ms);
  quick.round(4'900 * us);
  EXPECT_FALSE(quick.machine.is_conservative());
  quick.round(8'900 * us);
  EXPECT_TRUE(quick.machine.is_conservative());
  slow.round(500 * ms);
  slow.round(500 * ms);
  slow.round(516 * ms);
  EXPECT_TRUE(slow.machine.is_conservative());
}

TEST(hystart, wants_eight_samples_of_a_round) {
  rounds r;
  r.round(50 * ms);
  r.round(50 * ms);
  r.round(100 * ms, 7);
  EXPECT_FALSE(r.machine.is_conservative());
}

TEST(hystart, ends_slow_start_after_five_conservative_rounds_of_a_quarter) {
  rounds r;
  r.round(50 * ms);
  r.round(50 * ms);
  r.round(100 * ms);  // found at its eighth sample; that round is the first of the five
  EXPECT_TRUE(r.machine.is_conservative());
  for (int i = 0; i < 3; ++i) r.round(100 * ms);
  EXPECT_FALSE(r.machine.is_done());
  r.growth = 0;
  r.round(100 * ms);
  EXPECT_TRUE(r.machine.is_done());
  EXPECT_EQ(r.growth, 10u * 300u);
}

TEST(hystart, returns_to_slow_start_when_the_growth_was_passing) {
  rounds r;
  r.round(50 * ms);
  r.round(50 * ms);
  r.round(100 * ms);
  EXPECT_TRUE(r.machine.is_conservative());
  r.round(60 * ms);
  EXPECT_FALSE(r.machine.is_conservative());
  EXPECT_FALSE(r.machine.is_done());
}

TEST(hystart, serves_the_first_slow_start_only) {
  rounds r;
  r.machine.end();
  for (int i = 1; i < 8; ++i) r.round(static_cast<std::uint64_t>(i) * 50 * ms);
  EXPECT_FALSE(r.machine.is_conservative());
}

}  // namespace
