// A connection's life after the handshake: keys, silence, DATAGRAM frames, ECN, the end.
#include "quic/sim/pair.hpp"

namespace millrace::test {

namespace {

using quic::conn::connection;
using quic::conn::end_reason;
using quic::conn::event;

struct open_pair : sim_pair {
  explicit open_pair(const sim_options& o = {}) : sim_pair(o) {
    EXPECT_TRUE(fetch({1000}));
    net.wait(1 * second);
  }
  quic::conn::connection& server_side() { return *server_app.last; }
};

}  // namespace

TEST(quic_life, changes_keys_whichever_side_begins) {
  for (const bool by_client : {true, false}) {
    open_pair p;
    for (unsigned i = 1; i <= 5; ++i) {
      connection& one = by_client ? *p.connection : p.server_side();
      EXPECT_TRUE(one.update_keys(p.net.now_ns)) << i;
      one.ping();
      (by_client ? p.net.client : p.net.server)->endpoint->touch(one);
      p.net.wait(2 * second);
      EXPECT_EQ(p.connection->statistics().key_updates, i);
      EXPECT_EQ(p.server_side().statistics().key_updates, i);
    }
    EXPECT_EQ(p.at_client(event::key_updates_hasty) + p.at_server(event::key_updates_hasty), 0u);
    p.client_app.to_ask = {100'000};
    p.client_app.ask(*p.connection);
    p.net.client->endpoint->touch(*p.connection);
    EXPECT_TRUE(p.net.run([&] { return p.client_app.all_done() || p.client_app.closed; }));
    EXPECT_FALSE(p.client_app.closed);
  }
}

TEST(quic_life, changes_keys_while_packets_are_lost_and_reordered) {
  sim_pair p;
  p.net.up.loss = p.net.down.loss = 0.02;
  p.net.up.jitter_ns = p.net.down.jitter_ns = 5 * ms;
  p.net.down.bytes_per_second = 1'250'000;
  p.client_app.to_ask = {5'000'000};
  ASSERT_NE(p.connect(), nullptr);
  for (unsigned i = 0; i < 100 && !p.client_app.all_done() && !p.client_app.closed; ++i) {
    p.net.wait(50 * ms);
    if (!p.client_app.established || p.client_app.closed || !p.server_app.established) continue;
    connection& one = i % 2 == 0 ? *p.connection : *p.server_app.last;
    static_cast<void>(one.update_keys(p.net.now_ns));
  }
  EXPECT_TRUE(p.net.run([&] { return p.client_app.all_done() || p.client_app.closed; }));
  EXPECT_TRUE(p.client_app.all_done());
  EXPECT_GE(p.connection->statistics().key_updates, 3u);
}

TEST(quic_life, ends_in_silence_on_both_sides) {
  open_pair p;
  p.net.up.is_down = p.net.down.is_down = true;
  p.net.wait(29 * second);
  EXPECT_FALSE(p.client_app.closed);
  p.net.wait(3 * second);
  EXPECT_TRUE(p.client_app.closed);
  EXPECT_TRUE(p.server_app.closed);
  EXPECT_EQ(p.client_app.end.reason, end_reason::idle_timeout);
  EXPECT_EQ(p.server_app.end.reason, end_reason::idle_timeout);
  EXPECT_EQ(p.net.client->endpoint->connections() + p.net.server->endpoint->connections(), 0u);
}

TEST(quic_life, is_kept_by_a_ping_now_and_then) {
  sim_options o;
  o.client.transport.keep_alive_ns = 10 * second;
  open_pair p(o);
  p.net.wait(200 * second);
  EXPECT_FALSE(p.client_app.closed);
  EXPECT_FALSE(p.server_app.closed);
}

TEST(quic_life, carries_datagrams_both_ways_within_their_limits) {
  open_pair p;
  const auto send = [&](connection& c, std::size_t size) {
    const std::vector<std::uint8_t> bytes(size, 'x');
    const bool taken = c.send_datagram(bytes);
    (&c == p.connection ? p.net.client : p.net.server)->endpoint->touch(c);
    return taken;
  };
  for (const std::size_t size : {1u, 100u, 1100u}) {
    EXPECT_TRUE(send(*p.connection, size));
    EXPECT_TRUE(send(p.server_side(), size));
    p.net.wait(50 * ms);
    ASSERT_FALSE(p.server_app.datagrams.empty());
    EXPECT_EQ(p.server_app.datagrams.back(), std::string(size, 'x'));
    EXPECT_EQ(p.client_app.datagrams.back(), std::string(size, 'x'));
  }
  EXPECT_FALSE(send(*p.connection, 1500)) << "larger than the path";
  const std::vector<std::uint8_t> bytes(1000, 'y');
  unsigned taken = 0;
  for (unsigned i = 0; i < 100; ++i) taken += p.connection->send_datagram(bytes) ? 1u : 0u;
  EXPECT_EQ(taken, 32u) << "as many as may wait";
  EXPECT_EQ(p.at_client(event::datagram_frames_dropped), 69u);
  p.net.client->endpoint->touch(*p.connection);
  p.net.wait(1 * second);
  EXPECT_EQ(p.server_app.datagrams.size(), 3u + 32u);
}

TEST(quic_life, takes_no_datagrams_where_the_peer_takes_none) {
  sim_options o;
  o.server.transport.max_datagram_frame_size = 0;
  open_pair p(o);
  const std::vector<std::uint8_t> bytes(10, 'x');
  EXPECT_FALSE(p.connection->send_datagram(bytes));
  EXPECT_TRUE(p.server_side().send_datagram(bytes)) << "the client does";
}

TEST(quic_life, marks_packets_and_slows_down_when_they_are_marked_ce) {
  std::uint64_t lost_windows[2] = {};
  for (const bool congested : {false, true}) {
    sim_pair p;
    p.net.down.mark_ce = congested ? 0.05 : 0;
    EXPECT_TRUE(p.fetch({3'000'000}));
    EXPECT_EQ(p.server_app.last->losses().ecn_now(), quic::recovery::ecn_state::capable);
    lost_windows[congested ? 1 : 0] = p.server_app.last->losses().controller().window_bytes();
  }
  EXPECT_LT(lost_windows[1], lost_windows[0]);
}

TEST(quic_life, stops_marking_where_marks_are_washed_off) {
  sim_pair p;
  p.net.passing = [&](seen_datagram& d) {
    d.ecn = quic::wire::ecn_mark::not_ect;
    return true;
  };
  EXPECT_TRUE(p.fetch({3'000'000}));
  EXPECT_EQ(p.server_app.last->losses().ecn_now(), quic::recovery::ecn_state::failed);
  EXPECT_FALSE(p.server_app.last->losses().should_mark());
}

TEST(quic_life, answers_seldomer_and_seldomer_while_it_is_closing) {
  open_pair p;
  p.client_app.to_ask = {20'000'000};
  p.net.up.bytes_per_second = p.net.down.bytes_per_second = 12'500'000;
  p.client_app.ask(*p.connection);
  p.net.client->endpoint->touch(*p.connection);
  p.net.wait(200 * ms);
  p.net.up.is_down = true;  // the server never hears of the end
  const std::uint64_t before = p.net.sent[0];
  p.connection->close(7, p.net.now_ns);
  p.net.client->endpoint->touch(*p.connection);
  p.net.wait(10 * second);
  EXPECT_LE(p.net.sent[0] - before, 14u) << "one answer to 1, 2, 4, 8 ... packets";
  EXPECT_GE(p.net.sent[0] - before, 2u);
  EXPECT_EQ(p.net.client->endpoint->connections(), 0u);
}

}  // namespace millrace::test
