// RFC 9002 7, state by state.
#include <gtest/gtest.h>

#include "quic/recovery/new_reno.hpp"

namespace {

using namespace millrace::quic::recovery;

ack_event acked(std::uint64_t bytes) {
  ack_event e;
  e.now_ns = 50 * ms;
  e.acked_bytes = e.growth_bytes = bytes;
  return e;
}

TEST(new_reno, begins_with_ten_datagrams_within_the_bounds_of_the_rfc) {
  EXPECT_EQ(new_reno({.datagram_bytes = 1200}).window_bytes(), 12'000u);
  EXPECT_EQ(new_reno({.datagram_bytes = 1472}).window_bytes(), 14'720u);
  EXPECT_EQ(new_reno({.datagram_bytes = 1500}).window_bytes(), 14'720u);
  EXPECT_EQ(new_reno({.datagram_bytes = 8972}).window_bytes(), 17'944u);  // two of them
}

TEST(new_reno, doubles_each_round_trip_in_slow_start) {
  new_reno c({});
  c.on_ack(acked(12'000));
  EXPECT_EQ(c.window_bytes(), 24'000u);
  EXPECT_TRUE(c.is_slow_start());
}

TEST(new_reno, halves_once_for_all_losses_of_a_round_trip) {
  new_reno c({.initial_window = 100'000});
  c.on_loss({.now_ns = 1000, .lost_bytes = 1200, .largest_lost_sent_ns = 500});
  EXPECT_EQ(c.window_bytes(), 50'000u);
  EXPECT_EQ(c.recovery_start_ns(), 1000u);
  c.on_loss({.now_ns = 1100, .lost_bytes = 1200, .largest_lost_sent_ns = 1000});
  EXPECT_EQ(c.window_bytes(), 50'000u);
  c.on_loss({.now_ns = 1200, .lost_bytes = 1200, .largest_lost_sent_ns = 1001});
  EXPECT_EQ(c.window_bytes(), 25'000u);
}

TEST(new_reno, grows_by_one_datagram_a_window_in_congestion_avoidance) {
  new_reno c({.initial_window = 100'000});
  c.on_loss({.now_ns = 1000, .largest_lost_sent_ns = 500});
  for (int i = 0; i < 500; ++i) c.on_ack(acked(100));  // a window, in ACKs of less than a packet
  EXPECT_EQ(c.window_bytes(), 51'200u);
}

TEST(new_reno, never_falls_below_two_datagrams) {
  new_reno c({});
  for (std::uint64_t i = 1; i < 20; ++i) c.on_loss({.now_ns = 1000 * i, .largest_lost_sent_ns = 1000 * i - 1});
  EXPECT_EQ(c.window_bytes(), 2400u);
}

TEST(new_reno, answers_marks_as_losses) {
  new_reno c({.initial_window = 100'000});
  c.on_ce({.now_ns = 1000, .sent_ns = 500});
  EXPECT_EQ(c.window_bytes(), 50'000u);
  c.on_ce({.now_ns = 1500, .sent_ns = 900});
  EXPECT_EQ(c.window_bytes(), 50'000u);
}

TEST(new_reno, starts_over_after_persistent_congestion) {
  new_reno c({.initial_window = 100'000});
  c.on_loss({.now_ns = 1000, .largest_lost_sent_ns = 500, .persistent = true});
  EXPECT_EQ(c.window_bytes(), 2400u);
  EXPECT_EQ(c.threshold_bytes(), 50'000u);
  EXPECT_TRUE(c.is_slow_start());
  EXPECT_EQ(c.recovery_start_ns(), 0u);
}

TEST(new_reno, keeps_two_of_the_larger_datagrams_a_path_allows) {
  new_reno c({});
  c.on_loss({.now_ns = 1000, .largest_lost_sent_ns = 500, .persistent = true});
  c.set_datagram_bytes(8972);
  EXPECT_EQ(c.window_bytes(), 2 * 8972u);
}

}  // namespace
