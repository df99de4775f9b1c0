// Paths that change under a connection: rebinding, migration, IPv6, jumbo datagrams.
#include <set>

#include "quic/sim/pair.hpp"

namespace millrace::test {

namespace {

using quic::conn::event;

std::uint64_t received(const sim_pair& p) {
  return p.client_app.streams.empty() ? 0 : p.client_app.streams.begin()->second->got;
}

// A transfer under way.
bool begin(sim_pair& p, std::uint64_t size = 5'000'000) {
  p.net.up.bytes_per_second = p.net.down.bytes_per_second = 1'250'000;
  p.client_app.to_ask = {size};
  return p.connect() != nullptr && p.net.run([&] { return received(p) > 300'000; });
}

bool finish(sim_pair& p) {
  return p.net.run([&] { return p.client_app.all_done() || p.client_app.closed; }) && p.client_app.all_done();
}

base::endpoint v6_address(std::uint8_t host, std::uint16_t port) {
  std::uint8_t octets[16] = {0xfd, 1};
  octets[15] = host;
  return {base::ip_address::v6(octets), port};
}

}  // namespace

TEST(quic_paths, go_on_when_a_nat_changes_the_port_again_and_again) {
  sim_pair p;
  ASSERT_TRUE(begin(p));
  for (std::uint16_t i = 1; i <= 3; ++i) {
    p.net.client_outside.port = static_cast<std::uint16_t>(50'000 + i);
    p.net.wait(1 * second);
  }
  EXPECT_TRUE(finish(p));
  EXPECT_EQ(p.server_app.last->paths().counters().rebindings, 3u);
  EXPECT_EQ(p.server_app.last->address().remote, p.net.client_outside);
}

TEST(quic_paths, go_on_when_a_nat_changes_the_address_again_and_again) {
  sim_pair p;
  ASSERT_TRUE(begin(p));
  for (std::uint8_t i = 1; i <= 3; ++i) {
    p.net.client_outside = sim_address(static_cast<std::uint8_t>(20 + i), 40'000);
    p.net.wait(1 * second);
  }
  EXPECT_TRUE(finish(p));
  EXPECT_EQ(p.server_app.last->paths().counters().changes, 3u);
  EXPECT_EQ(p.at_server(event::migrations), 3u);
}

TEST(quic_paths, share_an_id_behind_a_nat_when_the_client_gives_no_other) {
  sim_options o;
  o.client.transport.most_cids = 1;
  sim_pair p(o);
  ASSERT_TRUE(begin(p));
  p.net.client_outside.port = 50'001;
  EXPECT_TRUE(finish(p));
  EXPECT_EQ(p.server_app.last->address().remote, p.net.client_outside);
}

// RFC 9000 9.5: whoever watches both networks must not be able to tell.
TEST(quic_paths, never_share_an_id_between_two_hosts) {
  sim_options o;
  o.client.transport.most_cids = 1;
  sim_pair p(o);
  ASSERT_TRUE(begin(p));
  p.net.client_outside = sim_address(23, 40'000);
  unsigned there = 0;
  p.net.passing = [&](seen_datagram& d) {
    there += d.from_client ? 0u : 1u;
    return true;
  };
  p.net.wait(1 * second);
  EXPECT_EQ(there, 0u) << "the only ID is the other path's";
}

TEST(quic_paths, follow_a_client_that_moves_and_comes_back) {
  sim_pair p;
  ASSERT_TRUE(begin(p));
  p.net.other_client = sim_address(3, 41'000);
  std::set<std::vector<std::uint8_t>> ids[2];  // by the client's address
  p.net.passing = [&](seen_datagram& d) {
    if ((d.bytes[0] & 0x80) != 0) return true;
    const base::endpoint& client = d.from_client ? d.address.remote : d.address.local;
    ids[client == p.net.other_client ? 1 : 0].insert({d.bytes.begin() + 1, d.bytes.begin() + 9});
    return true;
  };
  ASSERT_TRUE(p.connection->migrate({p.net.other_client, p.net.server_address}, 0, p.net.now_ns));
  p.net.client->endpoint->touch(*p.connection);
  p.net.wait(1 * second);
  EXPECT_EQ(p.server_app.last->address().remote, p.net.other_client);
  ASSERT_TRUE(p.connection->migrate(p.net.client_path(), 0, p.net.now_ns));
  p.net.client->endpoint->touch(*p.connection);
  EXPECT_TRUE(finish(p));
  EXPECT_EQ(p.server_app.last->address().remote, p.net.client_outside);
  EXPECT_FALSE(ids[1].empty());
  for (const auto& id : ids[1]) EXPECT_FALSE(ids[0].contains(id)) << "one ID on two paths";
}

TEST(quic_paths, are_not_left_by_a_client_of_a_server_that_forbids_it) {
  sim_options o;
  o.server.transport.migration = false;
  sim_pair p(o);
  ASSERT_TRUE(begin(p));
  p.net.other_client = sim_address(3, 41'000);
  EXPECT_FALSE(p.connection->migrate({p.net.other_client, p.net.server_address}, 0, p.net.now_ns));
  p.net.client_outside.port = 50'001;  // what a NAT does is not the client's doing
  EXPECT_TRUE(finish(p));
}

// RFC 9000 9.6.
struct preferring_pair : sim_pair {
  static sim_options wanting(base::endpoint there, sim_options o = {}) {
    (there.address.family == base::ip_family::v4 ? o.server.transport.preferred_ipv4
                                                 : o.server.transport.preferred_ipv6) = there;
    return o;
  }
  explicit preferring_pair(const base::endpoint& there = sim_address(9, 4430), const sim_options& o = {})
      : sim_pair(wanting(there, o)) {
    net.other_server = there;
  }
};

TEST(quic_paths, lead_to_the_address_that_the_server_prefers) {
  preferring_pair p;
  ASSERT_TRUE(begin(p));
  ASSERT_TRUE(p.net.run([&] { return p.connection->address().remote == p.net.other_server; }, 2 * second));
  EXPECT_TRUE(finish(p));
  EXPECT_EQ(p.connection->address().remote, p.net.other_server);
  EXPECT_EQ(p.server_app.last->address().local, p.net.other_server);
  EXPECT_EQ(p.at_client(event::migrations), 1u);
  EXPECT_EQ(p.at_server(event::migrations), 1u);
  EXPECT_EQ(p.at_client(event::path_failed) + p.at_server(event::path_failed), 0u);
}

TEST(quic_paths, do_not_lead_there_before_it_has_answered) {
  preferring_pair p;
  p.net.passing = [&](seen_datagram& d) {
    return d.address.remote != p.net.other_server && d.address.local != p.net.other_server;
  };
  ASSERT_TRUE(begin(p));
  EXPECT_TRUE(finish(p)) << "where nobody answers nothing is lost";
  EXPECT_NE(p.connection->address().remote, p.net.other_server);
  EXPECT_EQ(p.at_client(event::migrations), 0u);
  EXPECT_TRUE(p.net.run([&] { return p.at_client(event::path_failed) == 1; }, 20 * second));
  EXPECT_EQ(p.at_client(event::closed_by_us) + p.at_client(event::closed_by_peer), 0u);
}

// RFC 9000 9.6.3: what was proven begins at an address that the client has left.
TEST(quic_paths, do_not_lead_back_to_an_address_that_the_client_has_left) {
  preferring_pair p;
  p.net.other_client = sim_address(3, 41'000);
  std::vector<seen_datagram> answers;
  p.net.passing = [&](seen_datagram& d) {
    const bool late = !d.from_client && d.address.remote == p.net.other_server;
    if (late) answers.push_back(d);
    return !late;
  };
  ASSERT_TRUE(begin(p));
  ASSERT_TRUE(p.net.run([&] { return !answers.empty(); }, 2 * second));
  ASSERT_TRUE(p.connection->migrate({p.net.other_client, p.net.server_address}, 0, p.net.now_ns));
  p.net.client->endpoint->touch(*p.connection);
  p.net.passing = nullptr;
  for (seen_datagram& d : answers) p.net.deliver(std::move(d));
  EXPECT_TRUE(finish(p));
  EXPECT_EQ(p.connection->address().local, p.net.other_client);
  EXPECT_EQ(p.connection->address().remote, p.net.server_address);
}

TEST(quic_paths, survive_the_loss_of_the_first_probes) {
  preferring_pair p;
  unsigned probes = 0;
  p.net.passing = [&](seen_datagram& d) { return d.address.remote != p.net.other_server || ++probes > 2; };
  ASSERT_TRUE(begin(p));
  EXPECT_TRUE(p.net.run([&] { return p.connection->address().remote == p.net.other_server; }, 5 * second));
  EXPECT_TRUE(finish(p));
}

TEST(quic_paths, stay_where_they_are_when_the_preferred_address_is_of_the_other_family_or_not_wanted) {
  {
    preferring_pair p(v6_address(9, 4430));
    EXPECT_TRUE(p.fetch({100'000}));
    p.net.wait(second);
    EXPECT_EQ(p.at_client(event::migrations), 0u);
  }
  sim_options o;
  o.client.transport.follow_preferred = false;
  preferring_pair p(sim_address(9, 4430), o);
  EXPECT_TRUE(p.fetch({100'000}));
  p.net.wait(second);
  EXPECT_EQ(p.at_client(event::migrations), 0u);
}

TEST(quic_paths, lead_to_the_preferred_address_though_clients_may_not_move) {
  sim_options o;
  o.server.transport.migration = false;
  preferring_pair p(sim_address(9, 4430), o);
  ASSERT_TRUE(begin(p));
  EXPECT_TRUE(p.net.run([&] { return p.connection->address().remote == p.net.other_server; }, 2 * second));
  EXPECT_TRUE(finish(p));
  EXPECT_EQ(p.at_server(event::migrations), 1u);
}

TEST(quic_paths, may_be_of_ipv6) {
  sim_pair p;
  p.net.client_inside = p.net.client_outside = v6_address(2, 40'000);
  p.net.server_address = v6_address(1, 443);
  ASSERT_TRUE(begin(p));
  p.net.client_outside = v6_address(7, 40'000);
  EXPECT_TRUE(finish(p));
}

TEST(quic_paths, carry_jumbo_datagrams_when_all_of_it_does) {
  for (const std::size_t most : {8972u, 4000u, 1452u, 1200u}) {
    sim_options o;
    o.client.transport.max_datagram_bytes = o.server.transport.max_datagram_bytes = 8972;
    sim_pair p(o);
    p.net.up.most_bytes = p.net.down.most_bytes = most;
    EXPECT_TRUE(p.fetch({3'000'000})) << most;
    p.net.wait(5 * second);
    EXPECT_GT(p.server_app.last->mtu().mtu() + 64, most) << "the search ends near to what passes";
    EXPECT_LE(p.server_app.last->mtu().mtu(), most);
  }
}

TEST(quic_paths, carry_everything_with_very_different_delays) {
  for (const bool slow_up : {true, false}) {
    sim_pair p;
    (slow_up ? p.net.up : p.net.down).delay_ns = 300 * ms;
    (slow_up ? p.net.down : p.net.up).delay_ns = 1 * ms;
    EXPECT_TRUE(p.fetch({2'000'000, 1, 500'000}));
    EXPECT_FALSE(p.client_app.closed);
  }
}

}  // namespace millrace::test
