#include "quic/conn/close_state.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

namespace millrace::quic::conn {
namespace {

using recovery::ms;
using recovery::never_ns;
using phase = close_phase;
using event = close_event;

TEST(close_state, goes_where_the_drawing_shows_and_nowhere_else) {  // RFC 9000 10.2
  const std::set<std::tuple<phase, event, phase>> drawn{
      {phase::open, event::local_close, phase::closing},      {phase::open, event::peer_close, phase::draining},
      {phase::open, event::stateless_reset, phase::draining}, {phase::open, event::discard, phase::closed},
      {phase::closing, event::peer_close, phase::draining},   {phase::closing, event::stateless_reset, phase::draining},
      {phase::closing, event::timeout, phase::closed},        {phase::closing, event::discard, phase::closed},
      {phase::draining, event::timeout, phase::closed},       {phase::draining, event::discard, phase::closed}};
  std::set<std::tuple<phase, event, phase>> found;
  for (int p = 0; p < 4; ++p)
    for (int e = 0; e < 5; ++e)
      if (const auto to = next(static_cast<phase>(p), static_cast<event>(e)))
        found.insert({static_cast<phase>(p), static_cast<event>(e), *to});
  EXPECT_EQ(found, drawn);
}

TEST(close_state, rests_open) {
  close_state s;
  EXPECT_TRUE(s.is_open());
  EXPECT_EQ(s.deadline_ns(), never_ns);
  EXPECT_FALSE(s.on_packet());
  EXPECT_FALSE(s.on_timeout(never_ns - 1));
  EXPECT_EQ(s.unanswered(), 0u);
}

TEST(close_state, closes_for_three_ptos) {  // RFC 9000 10.2
  close_state s;
  EXPECT_TRUE(s.on_local_close(1000 * ms, 100 * ms));
  EXPECT_EQ(s.phase(), phase::closing);
  EXPECT_EQ(s.deadline_ns(), 1300 * ms);
  EXPECT_FALSE(s.on_timeout(1300 * ms - 1));
  EXPECT_TRUE(s.on_timeout(1300 * ms));
  EXPECT_EQ(s.phase(), phase::closed);
  EXPECT_EQ(s.deadline_ns(), never_ns);
  EXPECT_FALSE(s.on_timeout(UINT64_MAX));
}

TEST(close_state, answers_at_a_falling_rate_while_closing) {  // RFC 9000 10.2.1
  close_state s;
  s.on_local_close(0, ms);
  std::set<int> answered;
  for (int i = 1; i <= 1000; ++i)
    if (s.on_packet()) answered.insert(i);
  EXPECT_EQ(answered, (std::set<int>{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}));
  EXPECT_EQ(s.unanswered(), 990u);
}

TEST(close_state, says_nothing_while_draining) {  // RFC 9000 10.2.2
  close_state s;
  EXPECT_TRUE(s.on_peer_close(0, 10 * ms));
  EXPECT_EQ(s.phase(), phase::draining);
  EXPECT_EQ(s.deadline_ns(), 30 * ms);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(s.on_packet());
  EXPECT_EQ(s.unanswered(), 100u);
  EXPECT_FALSE(s.on_local_close(5 * ms, 10 * ms));
  EXPECT_EQ(s.deadline_ns(), 30 * ms);
}

TEST(close_state, drains_when_the_peer_closes_too_and_no_longer_than_it_would_have) {  // RFC 9000 10.2.1
  close_state s;
  s.on_local_close(0, 10 * ms);
  EXPECT_TRUE(s.on_packet());
  EXPECT_TRUE(s.on_peer_close(20 * ms, 10 * ms));
  EXPECT_EQ(s.phase(), phase::draining);
  EXPECT_EQ(s.deadline_ns(), 30 * ms);
  EXPECT_FALSE(s.on_packet());
  EXPECT_TRUE(s.on_timeout(30 * ms));
}

TEST(close_state, drains_on_a_stateless_reset) {  // RFC 9000 10.3.1
  close_state s;
  EXPECT_TRUE(s.on_stateless_reset(0, 10 * ms));
  EXPECT_EQ(s.phase(), phase::draining);
  close_state closing;
  closing.on_local_close(0, 10 * ms);
  EXPECT_TRUE(closing.on_stateless_reset(0, 10 * ms));
  EXPECT_EQ(closing.phase(), phase::draining);
}

TEST(close_state, ignores_a_second_close) {
  close_state s;
  s.on_local_close(0, 10 * ms);
  EXPECT_FALSE(s.on_local_close(20 * ms, 10 * ms));
  EXPECT_EQ(s.deadline_ns(), 30 * ms);
}

TEST(close_state, is_discarded_from_any_phase_without_a_word) {  // RFC 9000 10.1
  for (int p = 0; p < 3; ++p) {
    close_state s;
    if (p == 1) s.on_local_close(0, ms);
    if (p == 2) s.on_peer_close(0, ms);
    EXPECT_TRUE(s.discard());
    EXPECT_EQ(s.phase(), phase::closed);
    EXPECT_FALSE(s.discard());
    EXPECT_FALSE(s.on_packet());
    EXPECT_FALSE(s.on_peer_close(0, ms));
    EXPECT_EQ(s.deadline_ns(), never_ns);
  }
}

TEST(close_state, has_a_deadline_that_does_not_wrap) {
  close_state s;
  s.on_local_close(UINT64_MAX - 1, UINT64_MAX / 2);
  EXPECT_EQ(s.deadline_ns(), never_ns);
}

}  // namespace
}  // namespace millrace::quic::conn
