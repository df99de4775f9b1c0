// The second connection: tickets, 0-RTT, its refusal and its replay, tokens.
#include "quic/sim/pair.hpp"

namespace millrace::test {

namespace {

using quic::conn::event;

// One connection that ends; its ticket and token are in p.memory.
void remember(sim_pair& p) {
  ASSERT_TRUE(p.fetch({1000}));
  ASSERT_TRUE(p.net.run([&] { return !p.memory.session.empty() && !p.memory.token.empty(); }));
  p.net.client->endpoint->touch(*p.connection);
  p.connection->close(0, p.net.now_ns);
  p.net.client->endpoint->touch(*p.connection);
  ASSERT_TRUE(p.net.run(
      [&] { return p.net.client->endpoint->connections() == 0 && p.net.server->endpoint->connections() == 0; }));
  p.client_app.streams.clear();
  p.server_app.streams.clear();
  p.client_app.established = p.client_app.early = p.client_app.closed = false;
}

bool fetch_again(sim_pair& p, std::vector<std::uint64_t> sizes) {
  p.client_app.to_ask = std::move(sizes);
  if (p.connect(true) == nullptr) return false;
  return p.net.run([&] { return p.client_app.all_done() || p.client_app.closed; }) && p.client_app.all_done();
}

}  // namespace

TEST(quic_resumption, resumes_with_a_ticket) {
  sim_pair p;
  remember(p);
  EXPECT_TRUE(fetch_again(p, {10'000}));
  EXPECT_EQ(p.at_client(event::resumed), 1u);
  EXPECT_EQ(p.at_server(event::resumed), 1u);
  EXPECT_FALSE(p.client_app.early) << "the server never offered 0-RTT";
}

TEST(quic_resumption, proves_its_address_with_the_token_of_the_connection_before) {
  sim_options o;
  o.server.sources.retry = quic::endpoint::retry_mode::always;
  sim_pair p(o);
  remember(p);
  EXPECT_EQ(p.at_server(event::retries), 1u);
  EXPECT_TRUE(fetch_again(p, {10'000}));
  EXPECT_EQ(p.at_server(event::retries), 1u) << "the second came with a token";
  EXPECT_EQ(p.at_server(event::tokens_accepted), 2u);
}

TEST(quic_resumption, a_token_proves_an_address_once) {
  sim_pair p;
  remember(p);
  const auto token = p.memory.token;
  ASSERT_FALSE(token.empty());
  for (int i = 0; i < 2; ++i) {
    p.memory.token = token;
    EXPECT_TRUE(fetch_again(p, {1'000}));
  }
  EXPECT_EQ(p.at_server(event::tokens_accepted), 1u);
  EXPECT_EQ(p.at_server(event::tokens_refused), 1u);
}

TEST(quic_resumption, sends_requests_in_0_rtt) {
  sim_options o;
  o.early_data = true;
  sim_pair p(o);
  remember(p);
  const std::uint64_t began = p.net.now_ns;
  EXPECT_TRUE(fetch_again(p, {1000, 2000}));
  EXPECT_TRUE(p.client_app.early);
  EXPECT_LE(p.net.now_ns - began, 21 * ms) << "one round trip and no more";
  p.net.wait(100 * ms);
  EXPECT_EQ(p.at_client(event::early_data_accepted), 1u);
  EXPECT_EQ(p.at_server(event::early_data_accepted), 1u);
}

TEST(quic_resumption, sends_requests_in_0_rtt_over_a_bad_path) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    sim_options o;
    o.early_data = true;
    o.seed = seed;
    sim_pair p(o);
    remember(p);
    p.net.up.loss = p.net.down.loss = 0.25;
    p.net.up.most_lost_in_a_row = p.net.down.most_lost_in_a_row = 3;
    p.net.up.jitter_ns = p.net.down.jitter_ns = 10 * ms;
    EXPECT_TRUE(fetch_again(p, {1000, 20'000, 3})) << "seed " << seed;
  }
}

TEST(quic_resumption, keeps_finished_alive_until_1_rtt_is_acknowledged) {
  // An ACK of 0-RTT packets says nothing of Finished: it must not confirm the handshake (RFC 9001 4.1.2).
  sim_options o;
  o.early_data = true;
  sim_pair p(o);
  remember(p);
  unsigned lost = 0;
  p.net.passing = [&](seen_datagram& d) {
    // Everything of the client behind its first flight, until the server has spoken for a while.
    if (!d.from_client || (d.bytes[0] & 0x80) == 0) return true;
    quic::wire::packet_header h;
    if (!quic::wire::parse_packet(d.bytes, h)) return true;
    const bool finished = h.type == quic::wire::packet_type::handshake ||
                          (h.type == quic::wire::packet_type::initial && p.client_app.established);
    return !finished || ++lost > 3;
  };
  EXPECT_TRUE(fetch_again(p, {300'000}));
  EXPECT_EQ(p.at_server(event::established), 2u);
  EXPECT_GE(lost, 4u);
}

TEST(quic_resumption, sends_again_what_was_refused_as_0_rtt) {
  sim_options o;
  o.early_data = true;
  sim_pair p(o);
  remember(p);
  // The server comes back with other secrets behind its tickets: it knows neither them nor their early data.
  tls::server_settings s;
  s.credentials = tls::server_credentials::make({&sim_pem(), 1}).value();
  s.protocols = {{"hq-interop", "1"}};
  s.ticket_secret = std::string(32, 'x');
  p.net.server->endpoint->serve(tls::server_context::make(std::move(s)).value());
  EXPECT_TRUE(fetch_again(p, {1000, 50'000}));
  EXPECT_TRUE(p.client_app.early);
  EXPECT_EQ(p.at_client(event::early_data_rejected), 1u);
  EXPECT_EQ(p.server_app.opened, 3u) << "one before, two now, and none twice";
}

TEST(quic_resumption, opens_a_replayed_hello_without_its_early_data) {
  sim_options o;
  o.early_data = true;
  sim_pair p(o);
  remember(p);
  std::vector<seen_datagram> first;
  p.net.passing = [&](seen_datagram& d) {
    if (d.from_client && !p.client_app.established) first.push_back(d);
    return true;
  };
  EXPECT_TRUE(fetch_again(p, {1000}));
  EXPECT_EQ(p.server_app.opened, 2u);
  p.net.passing = nullptr;
  p.connection->close(0, p.net.now_ns);
  p.net.client->endpoint->touch(*p.connection);
  EXPECT_TRUE(p.net.run([&] { return p.net.server->endpoint->connections() == 0; }));
  const auto early = p.at_server(event::early_data_accepted);
  for (seen_datagram d : first) {
    d.address.remote = sim_address(66, 6666);  // somebody who listened
    p.net.server->receive(d, p.net.now_ns);
  }
  p.net.wait(100 * ms);
  EXPECT_EQ(p.at_server(event::early_data_accepted), early);
  EXPECT_EQ(p.server_app.opened, 2u) << "a request was served twice";
  EXPECT_EQ(p.replay->replayed(), 1u);
}

}  // namespace millrace::test
