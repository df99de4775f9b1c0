// RFC 9000 4: credit given, taken and won back.
#include <gtest/gtest.h>

#include "quic/stream/flow_control.hpp"

namespace {

using namespace millrace::quic::stream;

constexpr std::uint64_t ms = 1'000'000;

TEST(receive_window, takes_what_was_promised_and_not_a_byte_more) {
  receive_window w(1000, 8000);
  EXPECT_TRUE(w.on_received(1000));
  EXPECT_FALSE(w.on_received(1));
  EXPECT_EQ(w.received(), 1000u);
  EXPECT_FALSE(w.on_received(UINT64_MAX));
}

TEST(receive_window, wins_nothing_by_data_that_nobody_consumed) {
  receive_window w(1000, 8000);
  EXPECT_TRUE(w.on_received(1000));
  EXPECT_FALSE(w.should_update());
  EXPECT_EQ(w.update(5 * ms, 10 * ms), 1000u);
}

TEST(receive_window, promises_more_once_half_of_it_was_consumed) {
  receive_window w(1000, 1000);
  EXPECT_TRUE(w.on_received(800));
  w.on_consumed(499);
  EXPECT_FALSE(w.should_update());
  w.on_consumed(1);
  EXPECT_TRUE(w.should_update());
  EXPECT_EQ(w.update(5 * ms, 10 * ms), 1500u);
  EXPECT_FALSE(w.should_update());
  EXPECT_TRUE(w.on_received(700));
  EXPECT_FALSE(w.on_received(1));
}

TEST(receive_window, grows_where_it_is_used_up_within_two_round_trips) {
  receive_window w(1000, 8000);
  std::uint64_t now = 1 * ms;
  const auto use = [&](std::uint64_t after) {
    EXPECT_TRUE(w.on_received(w.limit() - w.received()));
    w.on_consumed(w.received() - w.consumed());
    now += after;
    EXPECT_TRUE(w.should_update());
    return w.update(now, 10 * ms);
  };
  use(1 * ms);  // the first promise of its own: nothing to compare with
  EXPECT_EQ(w.window(), 1000u);
  use(19 * ms);
  EXPECT_EQ(w.window(), 2000u);
  use(21 * ms);  // slower
  EXPECT_EQ(w.window(), 2000u);
  for (int i = 0; i < 10; ++i) use(1 * ms);
  EXPECT_EQ(w.window(), 8000u);  // the cap
}

TEST(receive_window, takes_no_promise_back_when_memory_is_short) {
  receive_window w(4000, 8000);
  EXPECT_TRUE(w.on_received(4000));
  w.set_most(1000);
  w.on_consumed(2000);
  EXPECT_FALSE(w.should_update());
  EXPECT_EQ(w.update(1 * ms, 10 * ms), 4000u);
  w.on_consumed(2000);
  EXPECT_TRUE(w.should_update());
  EXPECT_EQ(w.update(2 * ms, 0), 5000u);
}

TEST(receive_window, ends_where_offsets_end) {
  receive_window w(max_offset, max_offset);
  EXPECT_TRUE(w.on_received(max_offset));
  w.on_consumed(max_offset);
  EXPECT_FALSE(w.should_update());
  EXPECT_EQ(w.update(1, 0), max_offset);
}

TEST(send_credit, is_used_by_new_bytes_and_raised_by_the_peer_only) {
  send_credit c(1000);
  c.use(600);
  EXPECT_EQ(c.available(), 400u);
  EXPECT_FALSE(c.on_limit(900));  // late: RFC 9000 4.1
  EXPECT_EQ(c.available(), 400u);
  EXPECT_TRUE(c.on_limit(2000));
  EXPECT_EQ(c.available(), 1400u);
}

TEST(send_credit, says_blocked_once_for_each_limit) {
  send_credit c(1000);
  EXPECT_FALSE(c.should_say_blocked());
  c.use(1000);
  EXPECT_TRUE(c.should_say_blocked());
  c.on_blocked_sent();
  EXPECT_FALSE(c.should_say_blocked());
  c.on_blocked_lost();
  EXPECT_TRUE(c.should_say_blocked());
  c.on_blocked_sent();
  EXPECT_TRUE(c.on_limit(1500));
  EXPECT_FALSE(c.should_say_blocked());
  c.use(500);
  EXPECT_TRUE(c.should_say_blocked());
}

TEST(stream_count, opens_all_below_and_none_beyond) {
  stream_count s(10);
  EXPECT_TRUE(s.on_peer_opened(4));
  EXPECT_EQ(s.opened(), 5u);
  EXPECT_TRUE(s.on_peer_opened(2));
  EXPECT_EQ(s.opened(), 5u);
  EXPECT_FALSE(s.on_peer_opened(10));
  EXPECT_EQ(s.opened(), 5u);
}

TEST(stream_count, gives_credit_back_for_closed_streams_only) {
  stream_count s(10);
  EXPECT_TRUE(s.on_peer_opened(9));
  EXPECT_FALSE(s.should_update());
  for (int i = 0; i < 5; ++i) s.on_closed();
  EXPECT_TRUE(s.should_update());
  EXPECT_EQ(s.update(), 15u);
  EXPECT_FALSE(s.should_update());
  EXPECT_TRUE(s.on_peer_opened(14));
}

TEST(stream_count, never_opens_what_was_not_granted) {
  stream_count none(0);
  EXPECT_FALSE(none.should_update());
  EXPECT_FALSE(none.on_peer_opened(0));
  stream_count s(2);
  EXPECT_TRUE(s.can_open());
  EXPECT_EQ(s.open(), 0u);
  EXPECT_EQ(s.open(), 1u);
  EXPECT_FALSE(s.can_open());
  EXPECT_FALSE(s.on_limit(2));
  EXPECT_FALSE(s.on_limit(max_streams + 1));
  EXPECT_TRUE(s.on_limit(3));
  EXPECT_TRUE(s.can_open());
}

}  // namespace
