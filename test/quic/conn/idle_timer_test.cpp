#include "quic/conn/idle_timer.hpp"

#include <gtest/gtest.h>

namespace millrace::quic::conn {
namespace {

using recovery::ms;
using recovery::never_ns;
using recovery::second;

TEST(idle_timer, takes_the_smaller_timeout_that_is_declared) {  // RFC 9000 10.1
  struct {
    std::uint64_t ours, theirs, both;
  } const cases[] = {{30'000, 10'000, 10 * second},
                     {10'000, 30'000, 10 * second},
                     {10'000, 0, 10 * second},
                     {0, 10'000, 10 * second},
                     {0, 0, never_ns},
                     {5, UINT64_MAX, 5 * ms}};
  for (const auto& c : cases) {
    idle_timer t(0, {.timeout_ms = c.ours});
    t.set_peer_timeout(c.theirs);
    EXPECT_EQ(t.timeout_ns(), c.both);
    EXPECT_EQ(t.deadline_ns(0), c.both);
  }
}

TEST(idle_timer, is_never_shorter_than_three_ptos) {  // RFC 9000 10.1
  idle_timer t(0, {.timeout_ms = 100});
  EXPECT_EQ(t.deadline_ns(10 * ms), 100 * ms);
  EXPECT_EQ(t.deadline_ns(50 * ms), 150 * ms);
  EXPECT_FALSE(t.is_expired(150 * ms - 1, 50 * ms));
  EXPECT_TRUE(t.is_expired(150 * ms, 50 * ms));
  idle_timer none(0, {.timeout_ms = 0});
  EXPECT_FALSE(none.is_expired(never_ns - 1, 50 * ms));
}

TEST(idle_timer, begins_anew_with_each_packet_received) {  // RFC 9000 10.1
  idle_timer t(0, {.timeout_ms = 100});
  for (std::uint64_t now = 10 * ms; now < second; now += 10 * ms) {
    t.on_received(now);
    EXPECT_EQ(t.deadline_ns(0), now + 100 * ms);
  }
}

TEST(idle_timer, begins_anew_with_the_first_eliciting_packet_sent_after_one_received) {  // RFC 9000 10.1
  idle_timer t(0, {.timeout_ms = 100});
  t.on_sent_eliciting(20 * ms);
  EXPECT_EQ(t.deadline_ns(0), 120 * ms);
  t.on_sent_eliciting(50 * ms);  // into silence: it keeps nothing alive
  t.on_sent_eliciting(90 * ms);
  EXPECT_EQ(t.deadline_ns(0), 120 * ms);
  t.on_received(100 * ms);
  EXPECT_EQ(t.deadline_ns(0), 200 * ms);
  t.on_sent_eliciting(110 * ms);
  EXPECT_EQ(t.deadline_ns(0), 210 * ms);
}

TEST(idle_timer, keeps_nothing_alive_unless_told_to) {
  idle_timer t(0);
  EXPECT_EQ(t.keep_alive_ns(), never_ns);
}

TEST(idle_timer, wants_a_ping_in_time_and_one_only_until_it_is_answered) {  // RFC 9000 10.1.2
  idle_timer t(0, {.timeout_ms = 10'000, .keep_alive_ns = 2 * second});
  EXPECT_EQ(t.keep_alive_ns(), 2 * second);
  t.on_received(second);
  EXPECT_EQ(t.keep_alive_ns(), 3 * second);
  t.on_sent_eliciting(3 * second);
  EXPECT_EQ(t.keep_alive_ns(), never_ns);
  t.on_received(3100 * ms);
  EXPECT_EQ(t.keep_alive_ns(), 5100 * ms);
}

TEST(idle_timer, wants_a_ping_at_half_the_timeout_at_the_latest) {
  idle_timer t(0, {.timeout_ms = 10'000, .keep_alive_ns = 60 * second});
  EXPECT_EQ(t.keep_alive_ns(), 5 * second);
  t.set_peer_timeout(1'000);
  EXPECT_EQ(t.keep_alive_ns(), 500 * ms);
  idle_timer none(0, {.timeout_ms = 0, .keep_alive_ns = 60 * second});
  EXPECT_EQ(none.keep_alive_ns(), 60 * second);
}

TEST(idle_timer, does_not_wrap) {
  idle_timer t(UINT64_MAX - 1, {.timeout_ms = UINT64_MAX, .keep_alive_ns = UINT64_MAX});
  EXPECT_EQ(t.deadline_ns(UINT64_MAX / 2), never_ns);
  EXPECT_EQ(t.keep_alive_ns(), never_ns);
  idle_timer large(5, {.timeout_ms = 1000});
  EXPECT_EQ(large.deadline_ns(UINT64_MAX), never_ns);
}

}  // namespace
}  // namespace millrace::quic::conn
