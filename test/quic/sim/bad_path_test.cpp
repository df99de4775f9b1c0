// Transfers over paths that lose, corrupt, repeat, reorder, stop and hurry.
#include "quic/sim/pair.hpp"

namespace millrace::test {

namespace {

using quic::conn::event;

struct trouble {
  const char* name;
  double loss = 0;
  double corrupt = 0;
  double duplicate = 0;
  std::uint64_t jitter_ns = 0;
  std::uint64_t bytes_per_second = 0;
};

bool fetch_in(const trouble& t, std::uint64_t seed, quic::recovery::congestion_kind kind) {
  sim_options o;
  o.seed = seed;
  o.server.transport.congestion = kind;
  sim_pair p(o);
  for (link_model* l : {&p.net.up, &p.net.down}) {
    l->loss = t.loss;
    l->corrupt = t.corrupt;
    l->duplicate = t.duplicate;
    l->jitter_ns = t.jitter_ns;
    l->bytes_per_second = t.bytes_per_second;
  }
  return p.fetch({2'000'000, 100'000, 1}, 300 * second);
}

}  // namespace

TEST(quic_bad_path, carries_everything_whatever_happens_to_datagrams) {
  const trouble troubles[] = {{.name = "2 % lost", .loss = 0.02},
                              {.name = "5 % lost", .loss = 0.05},
                              {.name = "2 % corrupted", .corrupt = 0.02},
                              {.name = "10 % twice", .duplicate = 0.1},
                              {.name = "reordered", .jitter_ns = 20 * ms},
                              {.name = "slow", .bytes_per_second = 1'250'000},
                              {.name = "all", .loss = 0.02, .corrupt = 0.02, .duplicate = 0.05, .jitter_ns = 5 * ms}};
  for (const auto kind : {quic::recovery::congestion_kind::cubic, quic::recovery::congestion_kind::new_reno,
                          quic::recovery::congestion_kind::bbr})
    for (const trouble& t : troubles)
      for (std::uint64_t seed = 1; seed <= 2; ++seed)
        EXPECT_TRUE(fetch_in(t, seed, kind))
            << t.name << ", controller " << static_cast<int>(kind) << ", seed " << seed;
}

TEST(quic_bad_path, multiplexes_two_thousand_streams) {
  sim_pair p;
  EXPECT_TRUE(p.fetch(std::vector<std::uint64_t>(2000, 32)));
  EXPECT_EQ(p.at_server(event::streams_opened), 2000u);
  EXPECT_EQ(p.at_server(event::streams_refused), 0u);
  p.net.wait(1 * second);
  EXPECT_EQ(p.net.server->endpoint->shared().streams.open_streams(), 0u);
}

TEST(quic_bad_path, multiplexes_two_thousand_streams_with_losses) {
  sim_pair p;
  p.net.up.loss = p.net.down.loss = 0.05;
  EXPECT_TRUE(p.fetch(std::vector<std::uint64_t>(2000, 700)));
  p.net.wait(3 * second);
  EXPECT_EQ(p.net.server->endpoint->shared().streams.open_streams(), 0u);
}

TEST(quic_bad_path, goes_on_after_each_outage) {
  sim_pair p;
  p.net.up.bytes_per_second = p.net.down.bytes_per_second = 1'250'000;  // as in the interop list: 10 Mbit/s
  p.client_app.to_ask = {10'000'000};
  ASSERT_NE(p.connect(), nullptr);
  for (unsigned i = 0; i < 20 && !p.client_app.all_done(); ++i) {
    p.net.up.is_down = p.net.down.is_down = false;
    if (p.net.run([&] { return p.client_app.all_done(); }, 5 * second)) break;
    p.net.up.is_down = p.net.down.is_down = true;
    p.net.wait(2 * second);
  }
  EXPECT_TRUE(p.client_app.all_done());
  EXPECT_LE((p.net.now_ns - sim_start_ns) / second, 20u);
  EXPECT_FALSE(p.client_app.closed);
}

TEST(quic_bad_path, fills_a_link_of_ten_megabits) {
  sim_pair p;
  p.net.up.bytes_per_second = p.net.down.bytes_per_second = 1'250'000;
  p.net.up.queue_bytes = p.net.down.queue_bytes = 25 * 1500;
  p.net.up.delay_ns = p.net.down.delay_ns = 15 * ms;
  EXPECT_TRUE(p.fetch({10'000'000}));
  EXPECT_LE(p.net.now_ns - sim_start_ns, 10 * second) << "8.5 s would be all of the link";
}

TEST(quic_bad_path, is_idle_when_there_is_nothing_to_do) {
  sim_pair p;
  ASSERT_TRUE(p.fetch({1'000'000}));
  p.net.wait(2 * second);
  const std::uint64_t before = p.net.sent[0] + p.net.sent[1];
  const std::uint64_t turns = p.net.turns;
  p.net.wait(20 * second);
  EXPECT_LE(p.net.sent[0] + p.net.sent[1] - before, 4u);
  EXPECT_LE(p.net.turns - turns, 20u) << "a timer that fires for nothing";
}

// A server that may not send has nothing to wake up for.
TEST(quic_bad_path, sleeps_while_an_unproven_address_keeps_it_from_sending) {
  sim_options o;
  sim_pair p(o);
  unsigned from_client = 0;
  p.net.passing = [&](seen_datagram& d) { return d.from_client && ++from_client == 1; };
  p.connect();
  p.net.wait(100 * ms);
  const std::uint64_t turns = p.net.turns;
  p.net.wait(8 * second);
  EXPECT_LE(p.net.turns - turns, 100u);
}

TEST(quic_bad_path, goes_on_when_large_datagrams_begin_to_vanish) {
  sim_pair p;
  p.client_app.to_ask = {6'000'000};
  ASSERT_NE(p.connect(), nullptr);
  ASSERT_TRUE(p.net.run(
      [&] { return !p.client_app.streams.empty() && p.client_app.streams.begin()->second->got > 1'000'000; }));
  ASSERT_GT(p.server_app.last->mtu().mtu(), 1400u);
  p.net.down.most_bytes = 1300;
  EXPECT_TRUE(p.net.run([&] { return p.client_app.all_done(); }, 120 * second));
  EXPECT_EQ(p.server_app.last->mtu().counters().black_holes, 1u);
}

}  // namespace millrace::test
