// Stateless resets: a peer that has forgotten everything (RFC 9000 10.3).
#include "quic/sim/pair.hpp"

namespace millrace::test {

namespace {

using quic::conn::end_reason;
using quic::conn::event;

void make_reset(seen_datagram& d, const quic::wire::stateless_reset_token_value& token, std::size_t size) {
  d.bytes.assign(size, 0x5a);
  std::copy(token.begin(), token.end(), d.bytes.end() - static_cast<std::ptrdiff_t>(token.size()));
}

struct open_pair : sim_pair {
  explicit open_pair(const sim_options& o = {}) : sim_pair(o) {
    EXPECT_TRUE(fetch({1000}));
    net.wait(1 * second);
  }
};

}  // namespace

TEST(quic_reset, tells_a_client_that_the_server_was_started_again) {
  open_pair p;
  p.net.forget_server();
  p.net.server->endpoint->serve(p.server_tls);
  p.client_app.to_ask = {1000};
  p.client_app.ask(*p.connection);
  p.net.client->endpoint->touch(*p.connection);
  EXPECT_TRUE(p.net.run([&] { return p.client_app.closed; }, 1 * second));
  EXPECT_EQ(p.client_app.end.reason, end_reason::stateless_reset);
  EXPECT_EQ(p.at_client(event::reset_by_peer), 1u);
  EXPECT_GE(p.at_server(event::stateless_resets), 1u);
  const auto answers = p.net.sent[1];
  p.net.wait(30 * second);
  EXPECT_LE(p.net.sent[1] - answers, 1u) << "and is silent from then on";
}

TEST(quic_reset, is_believed_from_the_servers_address_alone_and_with_its_token_alone) {
  open_pair p;
  const auto tokens = p.connection->remote_cids().tokens_in_use();
  ASSERT_EQ(tokens.size(), 1u);
  seen_datagram d;
  d.address = p.net.client_path();
  quic::wire::stateless_reset_token_value wrong{};
  make_reset(d, wrong, 40);  // what an unset token would look like
  p.net.client->receive(d, p.net.now_ns);
  wrong = tokens[0];
  wrong[15] ^= 1;
  make_reset(d, wrong, 40);
  p.net.client->receive(d, p.net.now_ns);
  make_reset(d, tokens[0], 40);
  d.address.remote = sim_address(77, 443);
  p.net.client->receive(d, p.net.now_ns);
  make_reset(d, tokens[0], 20);  // RFC 9000 10.3: at least 21 bytes
  d.address = p.net.client_path();
  p.net.client->receive(d, p.net.now_ns);
  p.net.wait(10 * ms);
  EXPECT_FALSE(p.client_app.closed);
  make_reset(d, tokens[0], 21);
  p.net.client->receive(d, p.net.now_ns);
  p.net.wait(10 * ms);
  EXPECT_TRUE(p.client_app.closed);
  EXPECT_EQ(p.client_app.end.reason, end_reason::stateless_reset);
}

TEST(quic_reset, is_believed_by_a_server_for_ids_that_came_with_a_token) {
  open_pair p;
  EXPECT_TRUE(p.server_app.last->remote_cids().tokens_in_use().empty()) << "a client's first ID has none";
  // Another address of the client's: the server takes the next ID for it.
  p.net.other_client = sim_address(3, 41'000);
  ASSERT_TRUE(p.connection->migrate({p.net.other_client, p.net.server_address}, 0, p.net.now_ns));
  p.net.client->endpoint->touch(*p.connection);
  p.net.wait(1 * second);
  const auto tokens = p.server_app.last->remote_cids().tokens_in_use();
  ASSERT_FALSE(tokens.empty());
  seen_datagram d;
  d.from_client = true;
  d.address = {p.net.server_address, p.net.other_client};
  make_reset(d, tokens[0], 30);
  p.net.server->receive(d, p.net.now_ns);
  p.net.wait(10 * ms);
  EXPECT_TRUE(p.server_app.closed);
  EXPECT_EQ(p.server_app.end.reason, end_reason::stateless_reset);
  EXPECT_EQ(p.at_server(event::reset_by_peer), 1u);
}

TEST(quic_reset, has_a_budget_and_is_shorter_than_what_it_answers) {
  sim_options o;
  o.server.sources.all_stateless_resets = {.per_second = 10, .burst = 10};
  sim_pair p(o);
  std::size_t largest = 0;
  p.net.passing = [&](seen_datagram& d) {
    if (!d.from_client) largest = std::max(largest, d.bytes.size());
    return true;
  };
  for (unsigned i = 0; i < 1000; ++i) {
    seen_datagram d;
    d.from_client = true;
    d.address = {p.net.server_address, p.net.client_outside};
    d.bytes.assign(30, static_cast<std::uint8_t>(0x40 | (i & 0x3f)));
    p.net.server->receive(d, p.net.now_ns);
    p.net.wait(1 * ms);
  }
  EXPECT_GE(p.at_server(event::stateless_resets), 10u);
  EXPECT_LE(p.at_server(event::stateless_resets), 21u);
  EXPECT_LT(largest, 30u);
}

}  // namespace millrace::test
