// RFC 9000 13.2: when an ACK is due.
#include <gtest/gtest.h>

#include "quic/recovery/ack_policy.hpp"

namespace {

using namespace millrace::quic::recovery;

struct receiver {
  ack_policy policy;
  std::uint64_t next = 0;
  std::uint64_t now_ns = second;
  explicit receiver(const ack_policy_config& c = {}) : policy(c) {}
  void get(bool eliciting = true, bool ce = false) {
    policy.on_packet({.number = next++, .now_ns = now_ns, .eliciting = eliciting, .ce = ce});
  }
  [[nodiscard]] bool due() const { return policy.should_send(now_ns); }
};

TEST(ack_policy, acknowledges_every_second_packet) {
  receiver r;
  r.get();
  EXPECT_FALSE(r.due());
  r.get();
  EXPECT_TRUE(r.due());
  r.policy.on_sent(false);
  EXPECT_FALSE(r.due());
  EXPECT_EQ(r.policy.deadline_ns(), never_ns);
}

TEST(ack_policy, acknowledges_one_packet_before_the_declared_delay_is_over) {
  receiver r;
  r.get();
  EXPECT_EQ(r.policy.deadline_ns(), second + 24 * ms);
  r.now_ns += 24 * ms - 1;
  EXPECT_FALSE(r.due());
  r.now_ns += 1;
  EXPECT_TRUE(r.due());
  EXPECT_EQ(r.policy.delay_ns(r.now_ns), 24 * ms);
}

TEST(ack_policy, acknowledges_at_once_out_of_order_after_a_gap_and_with_a_mark) {
  receiver gap;
  gap.get();
  gap.policy.on_sent(false);
  ++gap.next;
  gap.get();
  EXPECT_TRUE(gap.due());
  gap.policy.on_sent(false);
  gap.next = 1;
  gap.get();
  EXPECT_TRUE(gap.due());
  gap.policy.on_sent(false);
  gap.next = 3;
  gap.get();
  EXPECT_FALSE(gap.due());  // in order again
  receiver marked;
  marked.get(true, true);
  EXPECT_TRUE(marked.due());
  receiver late;
  late.next = 5;
  late.get();
  EXPECT_TRUE(late.due());  // the first to come was not the first sent
}

TEST(ack_policy, never_acknowledges_packets_that_elicit_none) {
  receiver r;
  for (int i = 0; i < 100; ++i) r.get(false);
  r.next += 5;
  r.get(false);
  EXPECT_FALSE(r.due());
  EXPECT_EQ(r.policy.deadline_ns(), never_ns);
  EXPECT_TRUE(r.policy.has_unsent());
}

TEST(ack_policy, acknowledges_handshakes_at_once) {
  receiver r({.at_once = true});
  r.get();
  EXPECT_TRUE(r.due());
}

TEST(ack_policy, answers_a_fast_stream_by_time_and_by_bursts) {
  receiver r;
  r.policy.set_rtt(800 * us);
  for (int i = 0; i < 50; ++i) {  // careful at first
    r.get();
    r.get();
    ASSERT_TRUE(r.due());
    r.policy.on_sent(false);
  }
  for (int i = 0; i < 31; ++i) r.get();
  EXPECT_FALSE(r.due());
  EXPECT_EQ(r.policy.deadline_ns(), second + 100 * us);  // an eighth of a round trip
  r.get();
  EXPECT_TRUE(r.due());  // 32: a burst
  r.policy.on_sent(false);
  r.get();
  EXPECT_EQ(r.policy.deadline_ns(), second + 24 * ms);  // one alone waits for a second
  r.get();
  EXPECT_EQ(r.policy.deadline_ns(), second + 100 * us);
  r.now_ns += 100 * us;
  EXPECT_TRUE(r.due());
}

TEST(ack_policy, is_quick_within_a_millisecond_however_long_the_path) {
  receiver r;
  r.policy.set_rtt(400 * ms);
  for (int i = 0; i < 100; ++i) r.get();
  r.policy.on_sent(false);
  r.get();
  r.get();
  EXPECT_EQ(r.policy.deadline_ns(), second + 1 * ms);
}

TEST(ack_policy, wants_a_ping_after_many_packets_of_acks_alone) {
  receiver r;
  for (int i = 0; i < 19; ++i) r.policy.on_sent(false);
  EXPECT_FALSE(r.policy.wants_ping());
  r.policy.on_sent(false);
  EXPECT_TRUE(r.policy.wants_ping());
  r.policy.on_sent(true);
  EXPECT_FALSE(r.policy.wants_ping());
}

}  // namespace
