// RFC 9002 5, case by case.
#include <gtest/gtest.h>

#include "quic/recovery/rtt.hpp"

namespace {

using namespace millrace::quic::recovery;

rtt::sample of(std::uint64_t rtt_ns, std::uint64_t delay_ns = 0) {
  return {.rtt_ns = rtt_ns, .ack_delay_ns = delay_ns, .now_ns = 7};
}

TEST(rtt, begins_with_the_initial_value_of_the_rfc) {
  const rtt r;
  EXPECT_FALSE(r.has_sample());
  EXPECT_EQ(r.smoothed_ns(), 333 * ms);
  EXPECT_EQ(r.variation_ns(), 333 * ms / 2);
  EXPECT_EQ(r.pto_ns(), 333 * ms + 2 * 333 * ms);  // RFC 9002 6.2.2: about a second
}

TEST(rtt, takes_the_first_sample_whole_and_ignores_its_delay) {
  rtt r;
  r.on_sample(of(100 * ms, 20 * ms));
  EXPECT_EQ(r.latest_ns(), 100 * ms);
  EXPECT_EQ(r.min_ns(), 100 * ms);
  EXPECT_EQ(r.smoothed_ns(), 100 * ms);
  EXPECT_EQ(r.variation_ns(), 50 * ms);
  EXPECT_EQ(r.first_sample_ns(), 7u);
}

TEST(rtt, smooths_what_follows_by_an_eighth_and_a_quarter) {
  rtt r;
  r.on_sample(of(100 * ms));
  r.on_sample(of(180 * ms));
  EXPECT_EQ(r.variation_ns(), (3 * 50 * ms + 80 * ms) / 4);
  EXPECT_EQ(r.smoothed_ns(), (7 * 100 * ms + 180 * ms) / 8);
  EXPECT_EQ(r.min_ns(), 100 * ms);
}

TEST(rtt, subtracts_the_peers_delay_down_to_the_minimum_only) {
  rtt r;
  r.on_sample(of(100 * ms));
  r.on_sample(of(120 * ms, 20 * ms));  // to the minimum exactly
  EXPECT_EQ(r.smoothed_ns(), 100 * ms);
  rtt s;
  s.on_sample(of(100 * ms));
  s.on_sample(of(120 * ms, 21 * ms));  // below it: not believed
  EXPECT_EQ(s.smoothed_ns(), (7 * 100 * ms + 120 * ms) / 8);
  s.on_sample(of(120 * ms, UINT64_MAX));  // and no sum overflows
  EXPECT_LT(s.smoothed_ns(), 120 * ms);
}

TEST(rtt, caps_the_delay_only_once_the_handshake_is_confirmed) {
  rtt before, after;
  for (rtt* r : {&before, &after}) {
    r->set_max_ack_delay(25 * ms);
    r->on_sample(of(100 * ms));
  }
  auto s = of(200 * ms, 80 * ms);
  s.confirmed = false;
  before.on_sample(s);
  s.confirmed = true;
  after.on_sample(s);
  EXPECT_EQ(before.smoothed_ns(), (7 * 100 * ms + 120 * ms) / 8);
  EXPECT_EQ(after.smoothed_ns(), (7 * 100 * ms + 175 * ms) / 8);
}

TEST(rtt, ignores_the_delay_of_initial_packets) {
  rtt r;
  r.on_sample(of(100 * ms));
  auto s = of(200 * ms, 50 * ms);
  s.space = packet_space::initial;
  s.confirmed = false;
  r.on_sample(s);
  EXPECT_EQ(r.smoothed_ns(), (7 * 100 * ms + 200 * ms) / 8);
}

TEST(rtt, keeps_the_minimum_until_told_to_forget_it) {
  rtt r;
  r.on_sample(of(50 * ms));
  r.on_sample(of(100 * ms));
  EXPECT_EQ(r.min_ns(), 50 * ms);
  r.forget_min();
  EXPECT_EQ(r.min_ns(), 100 * ms);
}

TEST(rtt, follows_round_trips_far_below_a_millisecond) {
  rtt r;
  r.on_sample(of(7 * us));
  for (int i = 0; i < 100; ++i) r.on_sample(of(1 * us));
  EXPECT_LT(r.smoothed_ns(), 1100u);
  EXPECT_EQ(r.pto_ns(), r.smoothed_ns() + 1 * ms);  // the granularity
  EXPECT_EQ(r.loss_delay_ns(), 1 * ms);
  r.on_sample(of(80 * ms));
  EXPECT_EQ(r.loss_delay_ns(), 90 * ms);  // RFC 9002 6.1.2: 9/8 of the latest, which is larger
}

TEST(rtt, takes_another_initial_value_before_the_first_sample_only) {
  rtt r;
  r.set_initial(10 * ms);
  EXPECT_EQ(r.smoothed_ns(), 10 * ms);
  EXPECT_EQ(r.variation_ns(), 5 * ms);
  r.on_sample(of(100 * ms));
  r.set_initial(10 * ms);
  EXPECT_EQ(r.smoothed_ns(), 100 * ms);
}

}  // namespace
