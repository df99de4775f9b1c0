// Keys of connections that fell silent, or that others need the room of.
#include "quic/sim/pair.hpp"

namespace millrace::test {

namespace {

using quic::conn::event;

bool ask_again(sim_pair& p, quic::conn::connection& c, std::uint64_t size) {
  p.client_app.streams.clear();
  p.client_app.to_ask = {size};
  p.client_app.ask(c);
  p.net.client->endpoint->touch(c);
  return p.net.run([&] { return p.client_app.all_done() || p.client_app.closed; }) && p.client_app.all_done();
}

}  // namespace

TEST(quic_resting, silent_connections_hold_no_keys_and_go_on_when_something_comes) {
  sim_options o;
  sim_pair p(o);
  ASSERT_TRUE(p.fetch({100'000}));
  quic::conn::connection& c = *p.connection;
  quic::conn::key_store& at_client = p.net.client->endpoint->shared().keys;
  quic::conn::key_store& at_server = p.net.server->endpoint->shared().keys;
  EXPECT_EQ(at_client.in_use(), 1u);
  for (unsigned round = 0; round < 6; ++round) {
    p.net.wait(5 * second);
    EXPECT_EQ(at_client.in_use(), 0u);
    EXPECT_EQ(at_server.in_use(), 0u);
    EXPECT_EQ(p.net.server->endpoint->shared().sent.lent(), 0u);
    ASSERT_TRUE(ask_again(p, c, 50'000));
    EXPECT_EQ(at_client.in_use(), 1u);
    EXPECT_EQ(c.statistics().key_updates, round / 2);
    if (round % 2 == 0) continue;
    // Also in another phase, with what was of the one before.
    ASSERT_TRUE(c.update_keys(p.net.now_ns));
    ASSERT_TRUE(ask_again(p, c, 1000));
    EXPECT_EQ(c.statistics().key_updates, round / 2 + 1);
  }
  EXPECT_EQ(at_client.rested(), 6u);
  EXPECT_EQ(p.at_client(event::auth_failed) + p.at_server(event::auth_failed), 0u);
}

TEST(quic_resting, closes_and_times_out_from_a_rest) {
  for (const bool closes : {true, false}) {
    sim_pair p;
    ASSERT_TRUE(p.fetch({1000}));
    p.net.wait(5 * second);
    ASSERT_EQ(p.net.client->endpoint->shared().keys.in_use(), 0u);
    if (closes) {
      p.connection->close(7, p.net.now_ns);
      p.net.client->endpoint->touch(*p.connection);
    }
    ASSERT_TRUE(p.net.run([&] { return p.server_app.closed; }));
    EXPECT_EQ(p.server_app.end.reason,
              closes ? quic::conn::end_reason::closed_by_peer : quic::conn::end_reason::idle_timeout);
    EXPECT_EQ(p.server_app.end.code, closes ? 7u : 0u);
  }
}

TEST(quic_resting, more_connections_than_keys_take_turns) {
  sim_options o;
  o.client.awake_keys = o.server.awake_keys = 2;
  sim_pair p(o);
  std::vector<quic::conn::connection*> all;
  for (unsigned i = 0; i < 6; ++i) {
    p.client_app.streams.clear();
    ASSERT_TRUE(p.fetch({1000})) << i;
    ASSERT_TRUE(p.net.run([&] { return p.net.server->endpoint->half_open() == 0; }));
    all.push_back(p.connection);
  }
  for (unsigned round = 0; round < 24; ++round) {
    ASSERT_TRUE(ask_again(p, *all[round * 5 % 6], 20'000)) << round;
    EXPECT_LE(p.net.server->endpoint->shared().keys.in_use(), 2u);
  }
  EXPECT_GT(p.net.server->endpoint->shared().keys.rested(), 12u);
  EXPECT_EQ(p.at_client(event::auth_failed) + p.at_server(event::auth_failed), 0u);
  EXPECT_EQ(p.net.client->endpoint->connections(), 6u);
}

// docs/quic.md tells what a connection takes; of the pools, as they account for it, and not of the process.
TEST(quic_resting, an_idle_connection_takes_what_the_documentation_says) {
  sim_pair p;
  for (unsigned i = 0; i < 8; ++i) {
    p.client_app.streams.clear();
    ASSERT_TRUE(p.fetch({100'000}));
    ASSERT_TRUE(p.net.run([&] { return p.net.server->endpoint->half_open() == 0; }));
  }
  EXPECT_GT(p.net.server->endpoint->held_bytes() / 8, 8192u) << "busy ones take more";
  p.net.wait(6 * second);
  ASSERT_EQ(p.net.server->endpoint->connections(), 8u);
  static_assert(quic::endpoint::idle_connection_bytes <= 4096);
  RecordProperty("server_bytes", std::to_string(p.net.server->endpoint->held_bytes() / 8));
  EXPECT_LE(p.net.server->endpoint->held_bytes() / 8, quic::endpoint::idle_connection_bytes);
  EXPECT_LE(p.net.client->endpoint->held_bytes() / 8, quic::endpoint::idle_connection_bytes);
}

// A second path needs a place of its own; as long as there is none, the peer is not followed.
TEST(quic_resting, a_peer_that_moves_is_followed_when_there_is_room_for_its_path) {
  sim_pair p;
  ASSERT_TRUE(p.fetch({1000}));
  ASSERT_TRUE(p.net.run([&] { return p.net.server->endpoint->half_open() == 0; }));
  p.net.wait(5 * second);
  const std::uint64_t idle = p.net.server->endpoint->held_bytes();
  auto& paths = p.net.server->endpoint->shared().paths;
  std::vector<quic::conn::more_paths*> taken;
  while (quic::conn::more_paths* const one = paths.get()) taken.push_back(one);
  p.net.client_outside.port = 50'001;
  p.connection->ping();
  p.net.client->endpoint->touch(*p.connection);
  p.net.wait(200 * ms);
  EXPECT_GT(p.at_server(event::migrations_refused), 0u);
  EXPECT_EQ(p.at_server(event::migrations), 0u);
  for (quic::conn::more_paths* const one : taken) paths.give(one);
  ASSERT_TRUE(ask_again(p, *p.connection, 50'000));
  EXPECT_EQ(p.at_server(event::migrations), 1u);
  EXPECT_EQ(p.server_app.last->address().remote, p.net.client_outside);
  EXPECT_EQ(paths.in_use(), 1u);
  p.net.wait(5 * second);
  EXPECT_EQ(p.net.server->endpoint->held_bytes(), idle + paths.slot_bytes());
}

}  // namespace millrace::test
