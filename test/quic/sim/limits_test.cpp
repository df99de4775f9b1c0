// Limits that one side sets and the other keeps: credit, streams, memory, resets.
#include "quic/sim/pair.hpp"

namespace millrace::test {

namespace {

using quic::conn::event;

// One connection that leaves a ticket, and then a server that knows the ticket no more and allows less.
struct refused_pair : sim_pair {
  explicit refused_pair(const sim_options& o) : sim_pair(o) {}
  // True when the second connection got everything it asked for.
  bool fetch_after_refusal(std::vector<std::uint64_t> sizes) {
    if (!fetch({1000}) || !net.run([&] { return !memory.session.empty(); })) return false;
    connection->close(0, net.now_ns);
    net.client->endpoint->touch(*connection);
    if (!net.run([&] { return net.client->endpoint->connections() + net.server->endpoint->connections() == 0; }))
      return false;
    client_app.streams.clear();
    client_app.closed = client_app.early = false;
    tls::server_settings s;
    s.credentials = tls::server_credentials::make({&sim_pem(), 1}).value();
    s.protocols = {{"hq-interop", "1"}};
    s.ticket_secret = std::string(32, 'x');
    net.shrink_server();
    net.server->endpoint->serve(tls::server_context::make(std::move(s)).value());
    EXPECT_TRUE(net.server->endpoint->add_application("hq-interop", server_app));
    client_app.to_ask = std::move(sizes);
    if (connect(true) == nullptr) return false;
    return net.run([&] { return client_app.all_done() || client_app.closed; }) && client_app.all_done();
  }
};

// Cancels what it asks for at once, as soon as it may ask again.
struct resetting : pattern_application {
  std::uint64_t reset_streams = 0;
  void go_on(connection& c) {
    while (live_stream* s = c.open(quic::stream::direction::bidirectional, c.now_ns())) {
      auto x = std::make_unique<exchange>();
      x->text.bytes = "GET 1000000";
      s->source = &x->text;
      s->user = x.get();
      c.write(*s, x->text.bytes.size());
      c.reset(*s, 1);
      c.stop(*s, 1);
      ++reset_streams;
      streams[s->id.value()] = std::move(x);
    }
  }
  void on_established(connection& c) noexcept override { go_on(c); }
  void on_streams_available(connection& c) noexcept override { go_on(c); }
};

}  // namespace

TEST(quic_limits, keeps_to_the_new_ones_when_0_rtt_was_refused) {
  sim_options o;
  o.early_data = true;
  refused_pair p(o);
  p.net.smaller = o.server;
  p.net.smaller.transport.connection_window_bytes = p.net.smaller.transport.connection_window_most = 40;
  p.net.smaller.transport.stream_window_bytes = p.net.smaller.transport.stream_window_most = 8;  // less than a request
  p.net.smaller.transport.streams_bidi = 3;
  EXPECT_TRUE(p.fetch_after_refusal(std::vector<std::uint64_t>(20, 2000)));
  EXPECT_TRUE(p.client_app.early);
  EXPECT_EQ(p.at_client(event::early_data_rejected), 1u);
  EXPECT_EQ(p.at_server(event::closed_for_fault), 0u);
}

TEST(quic_limits, opens_streams_when_memory_for_them_comes_back) {
  sim_options o;
  o.client.streams = 3;
  sim_pair p(o);
  EXPECT_TRUE(p.fetch(std::vector<std::uint64_t>(50, 1000)));
  EXPECT_GT(p.at_client(event::streams_refused), 0u);
}

TEST(quic_limits, says_that_a_stream_is_blocked_in_the_packet_that_used_up_its_credit) {
  sim_options o;
  o.client.transport.stream_window_bytes = o.client.transport.stream_window_most = 300;
  o.client.transport.connection_window_bytes = 100'000;
  sim_pair p(o);
  p.client_app.auto_open = false;
  ASSERT_NE(p.connect(), nullptr);
  ASSERT_TRUE(p.net.run([&] { return p.client_app.established && p.server_app.established; }));
  p.net.wait(1 * second);
  p.client_app.reads = false;
  p.client_app.to_ask = {1000};
  p.client_app.ask(*p.connection);
  p.net.client->endpoint->touch(*p.connection);
  std::map<std::uint64_t, unsigned> by_time;
  p.net.passing = [&](seen_datagram& d) {
    if (!d.from_client && d.bytes.size() > 300) ++by_time[d.at_ns];
    if (!d.from_client && d.bytes.size() <= 300 && by_time.contains(d.at_ns)) ++by_time[d.at_ns];
    return true;
  };
  p.net.wait(20 * ms + 1);
  ASSERT_EQ(by_time.size(), 1u);
  EXPECT_EQ(by_time.begin()->second, 1u) << "STREAM_DATA_BLOCKED went in a packet of its own";
}

// A body's bytes stay where they lie, and nothing is sent that was not allowed: who does not read costs its stream.
TEST(quic_limits, ten_thousand_stalled_readers_hold_their_streams_and_nothing_else) {
  constexpr std::size_t readers = 10'000;
  sim_options o;
  o.server.streams = o.client.streams = readers + 64;
  o.server.transport.streams_bidi = readers;
  o.client.transport.keep_alive_ns = 10 * second;
  sim_pair p(o);
  p.client_app.reads = false;
  p.client_app.to_ask.assign(readers, 2000);  // 20 MB, of which the connection's first window lets 1 MB through
  ASSERT_NE(p.connect(), nullptr);
  const auto has_all = [&] {
    std::size_t asked = 0;
    for (const auto& [id, x] : p.server_app.streams) asked += x->wanted != 0 ? 1 : 0;
    return asked == readers;
  };
  ASSERT_TRUE(p.net.run(has_all));
  p.net.wait(3 * second);
  const node& server = *p.net.server;
  const auto& shared = server.endpoint->shared();
  const auto held = [&] { return std::tuple(server.pool.in_use(), shared.pieces.in_use(), shared.sent.lent()); };
  const auto before = held();
  EXPECT_LE(std::get<0>(before), 1u);
  EXPECT_EQ(std::get<1>(before), 0u);
  EXPECT_LE(std::get<2>(before), 1u) << "what is in flight has its records, and nothing is";
  EXPECT_LE(p.net.client->pool.in_use() * 1200, 2 * o.client.transport.connection_window_bytes);
  p.net.wait(60 * second);
  EXPECT_EQ(held(), before) << "and time changes nothing";
  p.client_app.reads = true;
  for (const auto& [id, x] : p.client_app.streams)
    if (quic::conn::live_stream* s = p.connection->find_stream(id)) p.client_app.on_readable(*p.connection, *s);
  p.net.client->endpoint->touch(*p.connection);
  EXPECT_TRUE(p.net.run([&] { return p.client_app.all_done(); }));
}

TEST(quic_limits, closes_a_connection_whose_client_resets_what_it_opens_all_the_time) {
  sim_options o;
  o.server.transport.resets = {.per_second = 500, .burst = 1000};
  sim_pair p(o);
  resetting app;
  quic::endpoint::client_request r;
  r.address = p.net.client_path();
  r.server_name = p.server_name;
  r.protocol = &app;
  r.context = p.client_tls;
  ASSERT_NE(p.net.client->endpoint->connect(r, p.net.now_ns), nullptr);
  EXPECT_TRUE(p.net.run([&] { return app.closed; }, 20 * second));
  EXPECT_EQ(p.at_server(event::resets_too_many), 1u);
  EXPECT_EQ(p.at_server(event::closed_for_fault), 1u);
  EXPECT_EQ(app.end.code, static_cast<std::uint64_t>(quic::wire::transport_error::protocol_violation));
  EXPECT_GE(app.reset_streams, 500u) << "what is usual passes";
}

}  // namespace millrace::test
