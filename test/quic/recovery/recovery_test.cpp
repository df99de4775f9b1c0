// Appendix A of RFC 9002 as cases: timers, probes, the handshake's rules, paths, and what ties the parts together.
#include <gtest/gtest.h>

#include "quic/recovery/ack_frames.hpp"
#include "quic/recovery/recovery.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic;
using namespace millrace::quic::recovery;
using ranges = std::vector<wire::packet_range>;

constexpr auto initial = packet_space::initial;
constexpr auto handshake = packet_space::handshake;
constexpr auto app = packet_space::application;

struct side {
  sent_pool pool{64};
  early_spaces early{pool};
  loss_recovery r;
  std::uint64_t now_ns = second;
  std::vector<std::uint64_t> acked;
  std::vector<std::uint64_t> lost;

  explicit side(const recovery_config& c = {.use_ecn = false, .skip_seed = 0}) : r(c, pool) { r.lend(early); }
  void on_acked(packet_space, const sent_token& t) { acked.push_back(t.value); }
  void on_lost(packet_space, const sent_token& t) { lost.push_back(t.value); }

  std::uint64_t send(packet_space s, std::uint64_t value = 0, bool probe = false) {
    EXPECT_TRUE(r.reserve(s, 1));
    const std::uint64_t number = r.next_number(s);
    sent_packet p;
    p.sent_ns = now_ns;
    p.bytes = 1200;
    p.eliciting = true;
    p.path_probe = probe;
    const sent_token t{.kind = 1, .value = value};
    r.on_sent(s, number, p, {&t, 1});
    return number;
  }
  ack_fault ack(packet_space s, const ranges& which, std::uint64_t delay_ns = 0) {
    const test::made_ack frame(which);
    return r.on_ack(s, frame.frame, delay_ns, now_ns, *this);
  }
  // A first sample of 100 ms: PTO is 300 ms from then on.
  void measure(packet_space s = app) {
    const std::uint64_t n = send(s);
    now_ns += 100 * ms;
    EXPECT_EQ(ack(s, {{n, n}}), ack_fault::none);
    acked.clear();
  }
};

side client() { return side({.is_server = false, .use_ecn = false, .skip_seed = 0}); }

TEST(recovery, measures_a_round_trip_only_by_the_largest_packet) {
  side s;
  s.r.on_handshake_confirmed();
  s.send(app);
  s.send(app);
  s.now_ns += 50 * ms;
  EXPECT_EQ(s.ack(app, {{1, 1}}), ack_fault::none);
  EXPECT_EQ(s.r.round_trip().latest_ns(), 50 * ms);
  s.now_ns += 500 * ms;
  EXPECT_EQ(s.ack(app, {{0, 1}}), ack_fault::none);  // the largest is not newly acknowledged
  EXPECT_EQ(s.r.round_trip().latest_ns(), 50 * ms);
}

TEST(recovery, reports_tokens_and_keeps_bytes_in_flight) {
  side s;
  s.r.on_handshake_confirmed();
  for (std::uint64_t i = 0; i < 6; ++i) s.send(app, i);
  EXPECT_EQ(s.r.in_flight(), 7200u);
  s.now_ns += 10 * ms;
  EXPECT_EQ(s.ack(app, {{4, 5}}), ack_fault::none);
  EXPECT_EQ(s.acked, (std::vector<std::uint64_t>{4, 5}));
  EXPECT_EQ(s.lost, (std::vector<std::uint64_t>{0, 1, 2}));  // RFC 9002 6.1.1
  EXPECT_EQ(s.r.in_flight(), 1200u);
  EXPECT_EQ(s.r.timer().kind, timer_kind::loss);  // 3 waits by time
  EXPECT_EQ(s.r.timer().at_ns, second + s.r.round_trip().loss_delay_ns());
  s.now_ns = s.r.timer().at_ns;
  EXPECT_EQ(s.r.on_timeout(s.now_ns, s).packets, 0u);
  EXPECT_EQ(s.lost, (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(s.r.timer().kind, timer_kind::none);
}

TEST(recovery, refuses_acknowledgements_of_what_was_never_sent) {
  side s;
  EXPECT_EQ(s.ack(app, {{0, 0}}), ack_fault::never_sent);
}

TEST(recovery, leaves_numbers_out_that_a_dishonest_peer_acknowledges) {
  side s({.use_ecn = false, .skip_seed = 7});
  s.r.on_handshake_confirmed();
  std::uint64_t last = 0, holes = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t n = s.send(app);
    if (i != 0 && n != last + 1) {
      ++holes;
      EXPECT_EQ(n, last + 2);
      EXPECT_EQ(s.ack(app, {{last, n}}), ack_fault::skipped);
    }
    last = n;
    ASSERT_EQ(s.ack(app, {{n, n}}), ack_fault::none);
  }
  EXPECT_GE(holes, 2000u / (3 * 400));
  EXPECT_LE(holes, 2000u / 64);
}

TEST(recovery, probes_after_a_pto_and_backs_off) {
  side s;
  s.r.on_handshake_confirmed();
  s.measure();
  const std::uint64_t sent_ns = s.now_ns;
  s.send(app, 9);
  // smoothed 100, variation 50: 100 + 200, and the peer's 25 of delay
  EXPECT_EQ(s.r.timer().at_ns, sent_ns + 325 * ms);
  EXPECT_EQ(s.r.timer().kind, timer_kind::pto);
  EXPECT_EQ(s.r.on_timeout(sent_ns + 325 * ms - 1, s).packets, 0u);
  s.now_ns = sent_ns + 325 * ms;
  const auto probe = s.r.on_timeout(s.now_ns, s);
  EXPECT_EQ(probe.packets, 2u);
  EXPECT_EQ(probe.space, app);
  EXPECT_TRUE(s.lost.empty());  // RFC 9002 6.2: nothing is lost by that
  EXPECT_EQ(s.r.timer().at_ns, sent_ns + 2 * 325 * ms);
  s.send(app, 9);
  EXPECT_EQ(s.r.timer().at_ns, s.now_ns + 2 * 325 * ms);  // from the last eliciting packet, twice as long
  s.now_ns += 100 * ms;
  EXPECT_EQ(s.ack(app, {{2, 2}}), ack_fault::none);
  EXPECT_EQ(s.r.pto_count(), 0u);
}

TEST(recovery, never_overflows_however_often_it_probes) {
  side s;
  s.r.on_handshake_confirmed();
  s.send(app);
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t at = s.r.timer().at_ns;
    ASSERT_NE(at, never_ns);
    s.now_ns = at;
    ASSERT_EQ(s.r.on_timeout(at, s).packets, 2u);
    s.send(app);
  }
}

TEST(recovery, does_not_probe_with_application_data_before_the_handshake_is_confirmed) {
  side s;
  s.send(app);
  EXPECT_EQ(s.r.timer().kind, timer_kind::none);
  s.send(handshake);
  EXPECT_EQ(s.r.timer().space, handshake);
  EXPECT_EQ(s.r.timer().at_ns, second + 999 * ms);  // no delay of the peer's in that space
  s.r.on_handshake_confirmed();
  s.r.discard(handshake, s.now_ns);
  EXPECT_EQ(s.r.timer().space, app);
}

TEST(recovery, probes_the_space_that_is_due_first) {
  side s;
  s.send(initial);
  s.now_ns += 5 * ms;
  s.send(handshake);
  EXPECT_EQ(s.r.timer().space, initial);
  s.r.discard(initial, s.now_ns);
  EXPECT_EQ(s.r.timer().space, handshake);
  EXPECT_EQ(s.r.in_flight(), 1200u);
}

TEST(recovery, a_client_probes_with_nothing_in_flight_until_its_address_is_proven) {
  side c = client();
  c.send(initial);
  c.now_ns += 100 * ms;
  EXPECT_EQ(c.ack(initial, {{0, 0}}), ack_fault::none);
  // RFC 9002 6.2.2.1: the server may be stopped by its amplification limit
  recovery_timer t = c.r.timer();
  EXPECT_EQ(t.kind, timer_kind::pto);
  EXPECT_EQ(t.space, initial);
  EXPECT_EQ(t.at_ns, c.now_ns + 300 * ms);
  c.r.on_handshake_keys();
  EXPECT_EQ(c.r.timer().space, handshake);
  c.now_ns = t.at_ns;
  EXPECT_EQ(c.r.on_timeout(c.now_ns, c).packets, 1u);
  EXPECT_EQ(c.r.timer().at_ns, c.now_ns + 600 * ms);
  c.send(handshake);
  c.now_ns += 100 * ms;
  EXPECT_EQ(c.ack(handshake, {{0, 0}}), ack_fault::none);
  EXPECT_EQ(c.r.timer().kind, timer_kind::none);  // a Handshake packet acknowledged is the proof
}

TEST(recovery, a_client_does_not_reset_its_backoff_by_acknowledged_initials) {
  side c = client();
  c.send(initial);
  c.now_ns = c.r.timer().at_ns;
  EXPECT_EQ(c.r.on_timeout(c.now_ns, c).packets, 2u);
  c.send(initial);
  c.now_ns += 10 * ms;
  EXPECT_EQ(c.ack(initial, {{1, 1}}), ack_fault::none);
  EXPECT_EQ(c.r.pto_count(), 1u);  // RFC 9002 6.2.1
}

TEST(recovery, a_server_at_its_amplification_limit_has_no_probe_timer) {
  side s;
  s.send(initial);
  EXPECT_EQ(s.r.timer(true).kind, timer_kind::none);
  EXPECT_EQ(s.r.timer(false).kind, timer_kind::pto);
  EXPECT_EQ(s.r.on_timeout(s.now_ns + 100 * second, s, true).packets, 0u);
}

TEST(recovery, a_retry_returns_all_initials_without_blame) {
  side c = client();
  c.send(initial, 1);
  c.send(initial, 2);
  const std::uint64_t window = c.r.controller().window_bytes();
  c.r.lose_all(initial, c);
  EXPECT_EQ(c.lost, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(c.r.in_flight(), 0u);
  EXPECT_EQ(c.r.controller().window_bytes(), window);
  EXPECT_EQ(c.r.next_number(initial), 2u);  // numbers go on
}

TEST(recovery, persistent_congestion_takes_the_window_to_its_minimum) {
  side s;
  s.r.on_handshake_confirmed();
  s.measure();
  for (std::uint64_t i = 0; i < 8; ++i) {
    s.send(app, i);
    s.now_ns += 200 * ms;
  }
  // 3 * (300 + 25) ms are persistent: numbers 1 to 7 span 1.2 s
  const std::uint64_t n = s.send(app);
  s.now_ns += 100 * ms;
  EXPECT_EQ(s.ack(app, {{n, n}}), ack_fault::none);
  EXPECT_EQ(s.lost.size(), 8u);
  EXPECT_EQ(s.r.controller().window_bytes(), 2400u);
}

TEST(recovery, losses_of_mtu_probes_are_no_congestion) {
  side s;
  s.r.on_handshake_confirmed();
  s.measure();
  const std::uint64_t window = s.r.controller().window_bytes();
  s.send(app, 77, true);
  for (int i = 0; i < 4; ++i) s.send(app);
  s.now_ns += 100 * ms;
  EXPECT_EQ(s.ack(app, {{2, 5}}), ack_fault::none);
  EXPECT_EQ(s.lost, (std::vector<std::uint64_t>{77}));
  EXPECT_GE(s.r.controller().window_bytes(), window);
}

TEST(recovery, undoes_a_reduction_when_all_its_losses_come_in_late) {
  side s;
  s.r.on_handshake_confirmed();
  s.measure();
  const std::uint64_t window = s.r.controller().window_bytes();
  for (int i = 0; i < 8; ++i) s.send(app);
  s.now_ns += 100 * ms;
  EXPECT_EQ(s.ack(app, {{4, 4}}), ack_fault::none);  // 1 is lost
  EXPECT_LT(s.r.controller().window_bytes(), window);
  EXPECT_EQ(s.r.packet_threshold(), 3u);
  EXPECT_EQ(s.ack(app, {{1, 4}}), ack_fault::none);
  EXPECT_EQ(s.r.spurious(), 1u);
  EXPECT_GE(s.r.controller().window_bytes(), window);
  EXPECT_EQ(s.r.packet_threshold(), 4u);
}

TEST(recovery, another_path_begins_anew) {
  side s;
  s.r.on_handshake_confirmed();
  s.measure();
  for (std::uint64_t i = 0; i < 4; ++i) s.send(app, i);
  s.r.set_max_ack_delay(10 * ms);
  s.r.on_path_changed(s.now_ns, false);
  EXPECT_EQ(s.r.in_flight(), 0u);
  EXPECT_FALSE(s.r.round_trip().has_sample());
  EXPECT_EQ(s.r.round_trip().max_ack_delay_ns(), 10 * ms);
  EXPECT_EQ(s.r.controller().window_bytes(), 12'000u);
  const std::uint64_t n = s.send(app, 9);
  s.now_ns += 5 * ms;
  EXPECT_EQ(s.ack(app, {{1, 4}}), ack_fault::none);  // of the old path: no sample, no growth
  EXPECT_EQ(s.acked, (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_FALSE(s.r.round_trip().has_sample());
  EXPECT_EQ(s.r.in_flight(), 1200u);
  EXPECT_EQ(s.ack(app, {{1, n}}), ack_fault::none);
  EXPECT_EQ(s.r.round_trip().latest_ns(), 5 * ms);
  EXPECT_EQ(s.r.in_flight(), 0u);
}

TEST(recovery, another_port_of_the_same_host_keeps_its_congestion_state) {
  side s;
  s.r.on_handshake_confirmed();
  s.measure();
  s.r.on_path_changed(s.now_ns, true);
  EXPECT_TRUE(s.r.round_trip().has_sample());
}

TEST(recovery, the_budget_is_the_window_first_and_the_pacer_once_a_round_trip_is_known) {
  side s;
  s.r.on_handshake_confirmed();
  EXPECT_EQ(s.r.budget_bytes(s.now_ns), 12'000u);
  for (int i = 0; i < 10; ++i) s.send(app);
  EXPECT_EQ(s.r.budget_bytes(s.now_ns), 0u);
  EXPECT_TRUE(s.r.is_window_full());
  s.now_ns += 100 * ms;
  EXPECT_EQ(s.ack(app, {{0, 9}}), ack_fault::none);
  EXPECT_EQ(s.r.controller().window_bytes(), 24'000u);
  EXPECT_NEAR(static_cast<double>(s.r.budget_bytes(s.now_ns)), 12'000, 1);  // a burst of ten
  for (int i = 0; i < 10; ++i) s.send(app);
  EXPECT_LT(s.r.budget_bytes(s.now_ns), 1200u);
  EXPECT_GT(s.r.next_send_ns(), s.now_ns);
  EXPECT_GE(s.r.budget_bytes(s.now_ns + 100 * ms), 12'000u);
}

TEST(recovery, does_not_grow_where_the_application_left_the_window_open) {
  side s;
  s.r.on_handshake_confirmed();
  for (int round = 0; round < 5; ++round) {
    const std::uint64_t n = s.send(app);
    s.r.on_app_limited();
    s.now_ns += 100 * ms;
    ASSERT_EQ(s.ack(app, {{n, n}}), ack_fault::none);
  }
  EXPECT_EQ(s.r.controller().window_bytes(), 12'000u);
}

TEST(recovery, a_retry_ends_the_backoff) {
  side c = client();
  c.send(initial, 1);
  c.now_ns = c.r.timer().at_ns;
  EXPECT_EQ(c.r.on_timeout(c.now_ns, c).packets, 2u);
  c.r.lose_all(initial, c);
  EXPECT_EQ(c.r.pto_count(), 0u);  // RFC 9002 6.3
}

TEST(recovery, probes_of_another_path_are_neither_in_flight_nor_a_sample) {
  side s;
  s.r.on_handshake_confirmed();
  s.measure();
  const std::uint64_t window = s.r.controller().window_bytes();
  EXPECT_TRUE(s.r.reserve(app, 1));
  const sent_token t{.kind = 1, .value = 5};
  const std::uint64_t number = s.r.next_number(app);
  s.r.on_sent(app, number, {.sent_ns = s.now_ns, .bytes = 0, .eliciting = true}, {&t, 1});
  EXPECT_EQ(s.r.in_flight(), 0u);
  s.now_ns += 700 * ms;
  EXPECT_EQ(s.ack(app, {{number, number}}), ack_fault::none);
  EXPECT_EQ(s.acked, (std::vector<std::uint64_t>{5}));
  EXPECT_EQ(s.r.round_trip().latest_ns(), 100 * ms);
  EXPECT_EQ(s.r.controller().window_bytes(), window);
}

TEST(recovery, a_reduction_for_a_mark_is_not_undone_by_losses_that_were_none) {
  side s({.use_ecn = true, .skip_seed = 0});
  s.r.on_handshake_confirmed();
  const auto send = [&] {
    EXPECT_TRUE(s.r.reserve(app, 0));
    const std::uint64_t number = s.r.next_number(app);
    s.r.on_sent(app, number, {.sent_ns = s.now_ns, .bytes = 1200, .eliciting = true, .ect = true}, {});
  };
  const auto ack = [&](const ranges& which, const wire::ecn_counts& counts) {
    const test::made_ack frame(which, &counts);
    return s.r.on_ack(app, frame.frame, 0, s.now_ns, s);
  };
  for (int i = 0; i < 10; ++i) send();
  s.now_ns += 100 * ms;
  EXPECT_EQ(ack({{4, 4}}, {.ect0 = 1}), ack_fault::none);  // 0 and 1 are lost
  s.now_ns += 1 * ms;
  send();
  send();  // stays outstanding: lost packets are remembered while something is
  s.now_ns += 100 * ms;
  EXPECT_EQ(ack({{4, 4}, {10, 10}}, {.ect0 = 1, .ce = 1}), ack_fault::none);
  EXPECT_EQ(s.r.ecn_now(), ecn_state::capable);
  const std::uint64_t window = s.r.controller().window_bytes();
  EXPECT_LT(window, 12'000u * 7 / 10);  // twice reduced
  EXPECT_EQ(ack({{0, 10}}, {.ect0 = 10, .ce = 1}), ack_fault::none);
  EXPECT_GT(s.r.spurious(), 2u);
  EXPECT_EQ(s.r.controller().window_bytes(), window);
}

TEST(recovery, a_peers_delay_that_does_not_fit_is_the_largest_there_is) {
  EXPECT_EQ(ack_delay_ns(1000, 3), 8 * ms);
  EXPECT_EQ(ack_delay_ns(0, 20), 0u);
  EXPECT_EQ(ack_delay_ns((std::uint64_t{1} << 62) - 1, 20), never_ns);
  EXPECT_EQ(ack_delay_ns((std::uint64_t{1} << 62) - 1, 0), never_ns);
  const std::uint64_t fits = never_ns / us / 8;
  EXPECT_EQ(ack_delay_ns(fits, 3), fits * 8 * us);
  EXPECT_EQ(ack_delay_ns(fits + 1, 3), never_ns);
}

TEST(recovery, idle_connections_hold_no_memory_of_the_pool) {
  side s;
  s.r.on_handshake_confirmed();
  s.send(initial);
  s.measure();
  EXPECT_EQ(s.pool.lent(), 1u);
  s.r.discard(initial, s.now_ns);
  EXPECT_EQ(s.pool.lent(), 0u);
  EXPECT_LE(sizeof(loss_recovery), 1088u);  // of the 2 KiB that an idle connection is to fit
}

}  // namespace
