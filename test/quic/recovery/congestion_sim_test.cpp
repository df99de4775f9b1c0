// Recovery, congestion control, pacing and acknowledging together, over a simulated bottleneck.
#include <gtest/gtest.h>

#include "quic/recovery/link_sim.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic::recovery;
using test::flow_config;
using test::link_config;
using test::link_sim;
using test::sim_flow;

constexpr auto app = packet_space::application;

void expect_conserved(const sim_flow& f) {
  const sent_packets& s = f.recovery.space(app);
  EXPECT_EQ(s.kept(), f.packets);
  EXPECT_EQ(s.kept(), s.acknowledged() + s.lost() + s.outstanding());
  EXPECT_EQ(f.ack_faults, 0u);
  std::uint64_t in_flight = 0;
  s.for_each_outstanding([&](const sent_report& r) {
    in_flight += r.packet.bytes;
    return true;
  });
  EXPECT_EQ(f.recovery.in_flight(), in_flight);
}

// A transfer that ended, and a second of silence after it.
void expect_finished(const sim_flow& f) {
  EXPECT_TRUE(f.is_done());
  EXPECT_EQ(f.recovery.in_flight(), 0u);
  EXPECT_EQ(f.recovery.space(app).outstanding(), 0u);
  expect_conserved(f);
}

double share(const sim_flow& f, const link_config& link, std::uint64_t from_ns, std::uint64_t to_ns) {
  return f.goodput(from_ns, to_ns) / static_cast<double>(link.bits_per_second);
}

struct congestion_sim : testing::TestWithParam<congestion_kind> {};
std::string name_of(const testing::TestParamInfo<congestion_kind>& info) {
  constexpr const char* names[] = {"cubic", "new_reno", "bbr"};
  return names[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(all, congestion_sim,
                         testing::Values(congestion_kind::cubic, congestion_kind::new_reno, congestion_kind::bbr),
                         name_of);

TEST_P(congestion_sim, fills_a_link_of_moderate_delay) {
  const link_config link;  // 100 Mbit/s, 20 ms, one BDP of queue
  link_sim sim(link);
  sim_flow& f = sim.add({.kind = GetParam()});
  sim.run(10 * second);
  EXPECT_GE(share(f, link, 0, 10 * second), 0.9);
  expect_conserved(f);
}

TEST_P(congestion_sim, fills_a_fast_short_link) {
  const link_config link{.bits_per_second = 5'000'000'000, .delay_ns = 100 * us, .queue_bytes = 250'000};
  link_sim sim(link);
  sim_flow& f = sim.add({.kind = GetParam()});
  sim.run(300 * ms);
  EXPECT_GE(share(f, link, 0, 300 * ms), 0.85);
  expect_conserved(f);
}

TEST_P(congestion_sim, counts_every_loss_once) {
  for (const double loss : {0.001, 0.02, 0.1, 0.3}) {
    SCOPED_TRACE(loss);
    const link_config link{.loss = loss, .seed = 7};
    link_sim sim(link);
    sim_flow& f = sim.add({.kind = GetParam(), .datagrams = 3000});
    sim.run(300 * second);
    expect_finished(f);
    // ACKs all arrive, and in order: what is declared lost was dropped, and nothing else is.
    EXPECT_EQ(f.recovery.space(app).lost() - f.recovery.spurious(), f.dropped);
    EXPECT_EQ(f.recovery.spurious(), 0u);
    EXPECT_EQ(sim.blocks_lent(), 0u);
  }
}

TEST_P(congestion_sim, comes_through_a_link_that_loses_both_ways) {
  const link_config link{.bits_per_second = 10'000'000, .loss = 0.3, .ack_loss = 0.3, .seed = 3};
  link_sim sim(link);
  sim_flow& f = sim.add({.kind = GetParam(), .datagrams = 300});
  sim.run(600 * second);
  expect_finished(f);
}

TEST_P(congestion_sim, goes_on_after_a_link_was_down) {
  const link_config link{.down_from_ns = 2 * second, .down_until_ns = 4 * second};
  link_sim sim(link);
  sim_flow& f = sim.add({.kind = GetParam(), .datagrams = 40'000});
  sim.run(30 * second);
  expect_finished(f);
  EXPECT_GT(f.probes, 0u);
  // RFC 9002 7.6.2: the outage was persistent congestion. BBR lets the ACK that shows it count.
  EXPECT_LE(f.least_window, GetParam() == congestion_kind::bbr ? 20 * 1200u : 2 * 1200u);
  EXPECT_LE(f.done_ns, 2 * second + 8 * second);  // 40 000 datagrams are 3.8 s of link
}

TEST_P(congestion_sim, shares_a_link_between_two_flows) {
  const link_config link{.bits_per_second = 50'000'000, .queue_bytes = 125'000};
  link_sim sim(link);
  sim_flow& a = sim.add({.kind = GetParam()});
  sim_flow& b = sim.add({.kind = GetParam(), .start_ns = 2 * second});
  sim.run(20 * second);
  const auto a_before = a.delivered, b_before = b.delivered;
  sim.run(60 * second);
  const auto x = static_cast<double>(a.delivered - a_before), y = static_cast<double>(b.delivered - b_before);
  EXPECT_GE((x + y) * 1200 * 8 / 40, 0.9 * 50e6);
  EXPECT_GE((x + y) * (x + y) / (2 * (x * x + y * y)), 0.9)
      << x << " " << y;  // Jain's index: 1 is fair, 0.5 is all for one
  expect_conserved(a);
  expect_conserved(b);
}

TEST_P(congestion_sim, keeps_its_window_while_the_application_is_the_limit) {
  const link_config link{.queue_bytes = 1'000'000};
  link_sim sim(link);
  // Four datagrams every 50 ms: a window of ten is never used up.
  sim_flow& f = sim.add({.kind = GetParam(), .datagrams = 2000, .pause_every = 4, .pause_ns = 50 * ms});
  sim.run(40 * second);
  expect_finished(f);
  EXPECT_LE(f.most_in_flight, 4 * 1200u);
  if (GetParam() == congestion_kind::bbr) return;
  EXPECT_EQ(f.recovery.controller().window_bytes(), 12'000u);  // RFC 9002 7.8
}

TEST_P(congestion_sim, answers_marks_as_it_answers_losses) {
  const link_config link{.queue_bytes = 1'000'000, .mark_above_bytes = 125'000};
  link_sim sim(link);
  sim_flow& f = sim.add({.kind = GetParam(), .use_ecn = true});
  sim.run(10 * second);
  EXPECT_EQ(f.recovery.ecn_now(), ecn_state::capable);
  EXPECT_GE(share(f, link, 0, 10 * second), 0.85);
  EXPECT_GT(f.marked, 0u);
  expect_conserved(f);
  if (GetParam() == congestion_kind::bbr) return;
  EXPECT_EQ(f.dropped, 0u);
}

TEST_P(congestion_sim, learns_that_a_path_reorders) {
  const link_config link{.reorder = 0.02, .reorder_ns = 1 * ms};
  link_sim sim(link);
  sim_flow& f = sim.add({.kind = GetParam(), .datagrams = 50'000});
  sim.run(60 * second);
  expect_finished(f);
  EXPECT_GT(f.recovery.packet_threshold(), 3u);
  EXPECT_GT(f.recovery.spurious(), 0u);
  EXPECT_LT(f.recovery.spurious(), 100u);  // of 1000 reordered packets
  EXPECT_GE(static_cast<double>(f.delivered) * 1200 * 8e9 / static_cast<double>(f.done_ns), 0.5 * 100e6);
}

TEST(congestion_sim_cubic, leaves_slow_start_before_it_loses_where_queues_are_deep) {
  const link_config link{.delay_ns = 25 * ms, .queue_bytes = 16'000'000};
  link_sim sim(link);
  sim_flow& f = sim.add({});
  sim.run(3 * second);
  EXPECT_FALSE(f.recovery.controller().is_slow_start());
  EXPECT_EQ(f.dropped, 0u);
  EXPECT_LT(f.most_rtt_ns, 500 * ms);  // a full queue would be 1.3 s
}

TEST(congestion_sim_bbr, does_not_collapse_at_one_per_cent_of_loss) {
  const link_config link{.loss = 0.01, .seed = 5};
  link_sim one(link), other(link);
  sim_flow& b = one.add({.kind = congestion_kind::bbr});
  sim_flow& c = other.add({.kind = congestion_kind::cubic});
  one.run(10 * second);
  other.run(10 * second);
  EXPECT_GE(share(b, link, 0, 10 * second), 0.8);
  EXPECT_GT(b.delivered, c.delivered);
}

TEST(congestion_sim_bbr, keeps_the_queue_short_where_it_is_deep) {
  const link_config link{.queue_bytes = 4'000'000};
  link_sim sim(link);
  sim_flow& f = sim.add({.kind = congestion_kind::bbr});
  sim.run(20 * second);
  EXPECT_EQ(f.dropped, 0u);
  EXPECT_GE(share(f, link, 0, 20 * second), 0.9);
  EXPECT_LT(f.recovery.round_trip().smoothed_ns(), 50 * ms);  // of 20 without a queue, 340 with a full one
}

TEST(congestion_sim_acks, are_few_where_packets_are_many) {
  const link_config link{.bits_per_second = 5'000'000'000, .delay_ns = 100 * us, .queue_bytes = 500'000};
  link_sim sim(link);
  sim_flow& f = sim.add({});
  sim.run(100 * ms);
  EXPECT_LT(f.acks, f.packets / 6);
  EXPECT_GT(f.acks, f.packets / 40);
}

TEST(congestion_sim_acks, are_one_in_two_where_packets_are_few) {
  const link_config link{.bits_per_second = 10'000'000, .delay_ns = 100 * us};
  link_sim sim(link);
  sim_flow& f = sim.add({.datagrams = 1000});
  sim.run(10 * second);
  expect_finished(f);
  EXPECT_GE(f.acks, 490u);
}

}  // namespace
