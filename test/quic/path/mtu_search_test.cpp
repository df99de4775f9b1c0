#include "quic/path/mtu_search.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/seeded.hpp"

namespace millrace::quic::path {
namespace {

using recovery::ms;
using recovery::never_ns;
using recovery::second;

constexpr std::uint64_t no_peer_limit = 65527;

mtu_limits up_to(std::uint32_t most) {
  mtu_limits out;
  out.most = most;
  return out;
}

// Lets a search run over a path that carries `path` bytes; answers the sizes tried.
std::vector<std::uint32_t> run(mtu_search& s, std::uint32_t path, std::uint64_t now = 0) {
  std::vector<std::uint32_t> tried;
  while (const std::uint32_t size = s.probe_size(now)) {
    EXPECT_LT(tried.size(), 100u);
    if (tried.size() >= 100) break;
    tried.push_back(size);
    s.on_probe_sent(size);
    EXPECT_EQ(s.probe_size(now), 0u);  // one at a time
    if (size <= path)
      s.on_probe_acked(size, now);
    else
      s.on_probe_lost(size, now);
  }
  return tried;
}

using sizes = std::vector<std::uint32_t>;

TEST(mtu_search, sends_1200_bytes_and_does_not_look_further_before_it_is_started) {  // RFC 9000 14.1, 14.3
  mtu_search s;
  EXPECT_EQ(s.mtu(), 1200u);
  EXPECT_EQ(s.state(), mtu_state::disabled);
  EXPECT_EQ(s.probe_size(UINT64_MAX), 0u);
  EXPECT_EQ(s.deadline_ns(), never_ns);
  s.restart();
  EXPECT_EQ(s.probe_size(UINT64_MAX), 0u);
}

TEST(mtu_search, takes_one_probe_where_all_is_well) {
  mtu_search s;
  s.start(no_peer_limit);
  EXPECT_EQ(run(s, 1500), sizes{1452});
  EXPECT_EQ(s.mtu(), 1452u);
  EXPECT_EQ(s.state(), mtu_state::complete);
  EXPECT_EQ(s.deadline_ns(), never_ns);  // there is nothing above
  EXPECT_EQ(s.counters().probes_acked, 1u);
}

TEST(mtu_search, goes_up_to_jumbo_frames) {
  mtu_search s(up_to(8972));
  s.start(no_peer_limit);
  EXPECT_EQ(run(s, 9000), sizes{8972});
  EXPECT_EQ(s.mtu(), 8972u);
}

TEST(mtu_search, finds_ethernet_behind_a_jumbo_link) {
  mtu_search s(up_to(8972));
  s.start(no_peer_limit);
  const sizes tried = run(s, 1472);
  EXPECT_EQ(s.mtu(), 1472u);
  EXPECT_EQ(tried[0], 8972u);
  EXPECT_EQ(tried[2], 8972u);  // RFC 8899 5.1.2: three probes of one size
  EXPECT_EQ(tried[3], 1472u);
}

TEST(mtu_search, comes_within_a_step_of_what_the_path_carries) {
  for (std::uint32_t most : {1201u, 1280u, 1452u, 1472u, 8972u, 65527u})
    for (std::uint32_t path = 1200; path <= 9100; path += 37) {
      mtu_search s(up_to(most));
      s.start(no_peer_limit);
      const sizes tried = run(s, path);
      const std::uint32_t best = std::min(path, most);
      ASSERT_LE(s.mtu(), best);
      ASSERT_GE(s.mtu() + mtu_limits{}.step, best) << most;
      ASSERT_LT(tried.size(), 50u);
      ASSERT_EQ(s.state(), mtu_state::complete);
    }
}

TEST(mtu_search, keeps_within_what_the_peer_takes) {  // RFC 9000 14.3, 18.2
  mtu_search s(up_to(8972));
  s.start(1300);
  EXPECT_EQ(run(s, 9000), sizes{1300});
  mtu_search none(up_to(8972));
  none.start(1200);
  EXPECT_EQ(none.probe_size(0), 0u);
  EXPECT_EQ(none.state(), mtu_state::disabled);
  mtu_search bad(up_to(8972));
  bad.start(0);
  EXPECT_EQ(bad.mtu(), 1200u);
  EXPECT_EQ(bad.probe_size(0), 0u);
  mtu_search huge(up_to(UINT32_MAX));
  huge.start(UINT64_MAX);
  EXPECT_EQ(huge.probe_size(0), 65527u);
}

TEST(mtu_search, forgives_two_lost_probes_of_a_size) {  // RFC 8899 5.1.2 MAX_PROBES
  mtu_search s;
  s.start(no_peer_limit);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(s.probe_size(0), 1452u);
    s.on_probe_sent(1452);
    s.on_probe_lost(1452, 0);
  }
  EXPECT_EQ(s.probe_size(0), 1452u);
  s.on_probe_sent(1452);
  EXPECT_TRUE(s.on_probe_acked(1452, 0));
  EXPECT_EQ(s.mtu(), 1452u);
}

TEST(mtu_search, ignores_reports_on_probes_that_are_not_under_way) {
  mtu_search s(up_to(8972));
  s.start(no_peer_limit);
  EXPECT_FALSE(s.on_probe_acked(8972, 0));
  s.on_probe_lost(8972, 0);
  EXPECT_EQ(s.mtu(), 1200u);
  EXPECT_EQ(s.counters().probes_lost, 0u);
  s.on_probe_sent(8972);
  EXPECT_FALSE(s.on_probe_acked(1452, 0));
  s.restart();
  EXPECT_FALSE(s.on_probe_acked(8972, 0));  // of the path before
  EXPECT_EQ(s.mtu(), 1200u);
}

TEST(mtu_search, begins_anew_after_ten_minutes) {  // RFC 8899 5.1.1 PMTU_RAISE_TIMER
  mtu_search s(up_to(8972));
  s.start(no_peer_limit);
  run(s, 1472, 5 * second);
  EXPECT_EQ(s.deadline_ns(), 605 * second);
  EXPECT_EQ(s.probe_size(605 * second - 1), 0u);
  EXPECT_EQ(s.probe_size(605 * second), 8972u);
  EXPECT_EQ(s.state(), mtu_state::searching);
  EXPECT_EQ(s.mtu(), 1472u);  // sent on meanwhile
  run(s, 9000, 605 * second);
  EXPECT_EQ(s.mtu(), 8972u);
}

TEST(mtu_search, begins_at_1200_bytes_on_another_path) {  // RFC 9000 9.4
  mtu_search s;
  s.start(no_peer_limit);
  run(s, 1500);
  s.restart();
  EXPECT_EQ(s.mtu(), 1200u);
  EXPECT_EQ(run(s, 1400), (sizes{1452, 1452, 1452, 1326, 1389, 1420, 1420, 1420, 1404, 1404, 1404}));
  EXPECT_EQ(s.mtu(), 1389u);
}

class black_hole : public testing::Test {
 protected:
  mtu_search s_{up_to(1452)};
  void SetUp() override {
    s_.start(no_peer_limit);
    run(s_, 1500);
    ASSERT_EQ(s_.mtu(), 1452u);
  }
};

TEST_F(black_hole, is_three_rounds_without_a_large_packet) {  // RFC 8899 4.3
  EXPECT_FALSE(s_.on_lost(1452, 10 * ms, 20 * ms));
  EXPECT_FALSE(s_.on_lost(1452, 30 * ms, 40 * ms));
  EXPECT_TRUE(s_.on_lost(1452, 50 * ms, 60 * ms));
  EXPECT_EQ(s_.mtu(), 1200u);
  EXPECT_EQ(s_.counters().black_holes, 1u);
  EXPECT_EQ(s_.probe_size(60 * ms), 0u);
  EXPECT_EQ(s_.deadline_ns(), 60 * ms + 60 * second);
  EXPECT_EQ(s_.probe_size(60 * ms + 60 * second), 1452u);
  EXPECT_FALSE(s_.on_lost(1452, 70 * ms, 80 * ms));  // those still under way say nothing new
}

TEST_F(black_hole, is_not_a_burst_of_losses_in_one_round) {
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_FALSE(s_.on_lost(1452, 10 * ms + i, 20 * ms));
  EXPECT_FALSE(s_.on_lost(1452, 15 * ms, 40 * ms));  // sent before the first was noticed
  EXPECT_EQ(s_.mtu(), 1452u);
}

TEST_F(black_hole, is_not_there_when_a_large_packet_arrives_in_between) {
  EXPECT_FALSE(s_.on_lost(1452, 10 * ms, 20 * ms));
  EXPECT_FALSE(s_.on_lost(1452, 30 * ms, 40 * ms));
  s_.on_acked(1300, 35 * ms);
  EXPECT_FALSE(s_.on_lost(1452, 50 * ms, 60 * ms));
  EXPECT_FALSE(s_.on_lost(1452, 70 * ms, 80 * ms));
  EXPECT_TRUE(s_.on_lost(1452, 90 * ms, 100 * ms));
}

TEST_F(black_hole, is_not_denied_by_small_packets_or_by_large_ones_sent_before) {
  EXPECT_FALSE(s_.on_lost(1452, 10 * ms, 20 * ms));
  s_.on_acked(1200, 15 * ms);
  s_.on_acked(1452, 9 * ms);
  EXPECT_FALSE(s_.on_lost(1452, 30 * ms, 40 * ms));
  s_.on_acked(40, 45 * ms);
  EXPECT_TRUE(s_.on_lost(1452, 50 * ms, 60 * ms));
}

TEST_F(black_hole, is_not_seen_in_losses_of_small_packets) {
  for (std::uint64_t i = 1; i < 50; ++i) EXPECT_FALSE(s_.on_lost(1200, i * 20 * ms, i * 20 * ms + 10 * ms));
  EXPECT_EQ(s_.mtu(), 1452u);
}

TEST_F(black_hole, comes_and_goes) {
  for (std::uint64_t i = 1; i < 4; ++i) static_cast<void>(s_.on_lost(1452, i * 20 * ms, i * 20 * ms + 10 * ms));
  ASSERT_EQ(s_.mtu(), 1200u);
  run(s_, 1300, 61 * second);
  EXPECT_GE(s_.mtu(), 1284u);
  EXPECT_LE(s_.mtu(), 1300u);
}

TEST_F(black_hole, is_never_seen_under_random_losses_of_a_tenth) {
  test::seeded random(1);
  std::uint64_t now = 0;
  for (int round = 0; round < 5000; ++round, now += 20 * ms)
    for (std::uint64_t packet = 0; packet < 20; ++packet) {
      if (random.below(10) == 0)
        ASSERT_FALSE(s_.on_lost(1452, now + packet, now + 15 * ms));
      else
        s_.on_acked(1452, now + packet);
    }
}

class icmp_hint : public black_hole {};

TEST_F(icmp_hint, takes_nothing_away_by_itself) {  // RFC 9000 14.2.1
  s_.on_too_big(1300, 5 * ms);
  EXPECT_EQ(s_.mtu(), 1452u);
  EXPECT_EQ(s_.counters().hints_taken, 1u);
  s_.on_acked(1452, 6 * ms);  // not true
  EXPECT_FALSE(s_.on_lost(1452, 10 * ms, 20 * ms));
  EXPECT_EQ(s_.mtu(), 1452u);
}

TEST_F(icmp_hint, makes_the_next_loss_count_and_names_the_size_to_try) {
  s_.on_too_big(1300, 5 * ms);
  EXPECT_TRUE(s_.on_lost(1452, 4 * ms, 20 * ms));
  EXPECT_EQ(s_.mtu(), 1200u);
  EXPECT_EQ(run(s_, 1300, 20 * ms), sizes{1300});
  EXPECT_EQ(s_.mtu(), 1300u);
  EXPECT_EQ(s_.deadline_ns(), 20 * ms + 600 * second);
  EXPECT_EQ(s_.probe_size(601 * second), 1452u);
}

TEST_F(icmp_hint, below_1200_or_above_what_is_sent_is_ignored) {  // RFC 9000 14.2.1
  for (const std::uint32_t size : {0u, 68u, 576u, 1199u, 1452u, 1453u, 65535u}) s_.on_too_big(size, 5 * ms);
  EXPECT_EQ(s_.counters().hints_ignored, 7u);
  EXPECT_EQ(s_.counters().hints_taken, 0u);
  EXPECT_FALSE(s_.on_lost(1452, 10 * ms, 20 * ms));
}

TEST(mtu_search, tries_next_what_icmp_says_passes_instead_of_the_probe) {
  mtu_search s(up_to(8972));
  s.start(no_peer_limit);
  s.on_probe_sent(s.probe_size(0));
  s.on_too_big(1472, 0);
  EXPECT_FALSE(s.on_probe_acked(8972, 0));
  EXPECT_EQ(run(s, 1500), sizes{1472});
  EXPECT_EQ(s.mtu(), 1472u);
  mtu_search at_base(up_to(8972));
  at_base.start(no_peer_limit);
  at_base.on_probe_sent(at_base.probe_size(0));
  at_base.on_too_big(1200, 0);
  EXPECT_EQ(at_base.state(), mtu_state::complete);
  EXPECT_EQ(at_base.probe_size(1), 0u);
  EXPECT_EQ(at_base.probe_size(600 * second), 8972u);
}

}  // namespace
}  // namespace millrace::quic::path
