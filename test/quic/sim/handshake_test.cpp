// The interop list's handshakes in virtual time: slow, lossy and corrupting paths, every suite, large chains and
// hellos, Retry, and the versions.
#include "quic/sim/pair.hpp"

namespace millrace::test {

namespace {

using quic::conn::end_reason;
using quic::conn::event;

const tls::pem_pair& large_pem() {
  static const tls::pem_pair made = [] {
    tls::self_signed_settings settings;
    settings.names = {"example.test"};
    for (int i = 0; i < 250; ++i) settings.names.push_back("name-" + std::to_string(i) + ".large.example.test");
    settings.now_ns = sim_epoch_ns;
    return tls::make_self_signed(settings).value();
  }();
  return made;
}

// A hello that does not fit one packet: the longest names, all protocols, and a ticket.
void make_hello_large(sim_pair& p) {
  ASSERT_TRUE(p.fetch({10}));
  ASSERT_TRUE(p.net.run([&] { return !p.memory.session.empty(); }));
  p.client_app.streams.clear();
  p.client_app.closed = false;
  tls::client_settings c;
  c.trust = tls::client_trust::anybody().value();
  c.protocols.push_back("hq-interop");
  for (int i = 0; i < 7; ++i) c.protocols.push_back("a-protocol-of-31-bytes-number-" + std::to_string(i));
  c.key_shares = 2;
  p.client_tls = tls::client_context::make(std::move(c)).value();
  p.server_name = std::string(60, 'a') + "." + std::string(60, 'b') + "." + std::string(60, 'c') + "." +
                  std::string(60, 'd') + ".test";
}

}  // namespace

TEST(quic_sim_handshake, survives_a_round_trip_of_a_second_and_a_half) {
  sim_pair p;
  p.net.up.delay_ns = p.net.down.delay_ns = 750 * ms;
  EXPECT_TRUE(p.fetch({100'000}));
  EXPECT_EQ(p.at_server(event::accepted), 1u) << "a repeated Initial began another connection";
}

TEST(quic_sim_handshake, works_with_each_cipher_suite_alone) {
  for (const tls::cipher_suite suite : {tls::cipher_suite::aes_128_gcm_sha256, tls::cipher_suite::aes_256_gcm_sha384,
                                        tls::cipher_suite::chacha20_poly1305_sha256}) {
    sim_options o;
    o.client_algorithms.suites = {suite};
    sim_pair p(o);
    EXPECT_TRUE(p.fetch({200'000})) << static_cast<int>(suite);
  }
}

TEST(quic_sim_handshake, fails_cleanly_when_no_suite_is_shared) {
  sim_options o;
  o.client_algorithms.suites = {tls::cipher_suite::chacha20_poly1305_sha256};
  o.server_algorithms.suites = {tls::cipher_suite::aes_128_gcm_sha256};
  sim_pair p(o);
  EXPECT_FALSE(p.fetch({1000}));
  EXPECT_EQ(p.client_app.end.reason, end_reason::closed_by_peer);
  EXPECT_TRUE(quic::wire::is_crypto_error(p.client_app.end.code)) << p.client_app.end.code;
  EXPECT_EQ(p.at_server(event::handshake_failed), 1u);
}

TEST(quic_sim_handshake, asks_for_another_group_when_it_has_to) {
  sim_options o;
  o.server_algorithms.groups = {tls::group::secp256r1};
  sim_pair p(o);
  EXPECT_TRUE(p.fetch({1000}));
}

TEST(quic_sim_handshake, never_sends_more_than_three_times_what_an_unproven_client_sent) {
  for (int lost_to = 2; lost_to <= 7; ++lost_to) {
    sim_options o;
    o.pem = &large_pem();
    sim_pair p(o);
    std::uint64_t up = 0;
    std::uint64_t down = 0;
    int from_client = 0;
    bool proven = false;
    p.net.passing = [&](seen_datagram& d) {
      if (!d.from_client) {
        down += d.bytes.size();
        if (!proven) {
          EXPECT_LE(down, 3 * up);
        }
        return true;
      }
      ++from_client;
      if (from_client >= 2 && from_client <= lost_to) return false;  // packets 2 to 7 of the client are lost
      up += d.bytes.size();
      quic::wire::packet_header h;
      for (base::byte_view rest = d.bytes; !rest.empty() && quic::wire::parse_packet(rest, h) && h.is_long();
           rest = rest.subspan(h.packet_size))
        proven |= h.type == quic::wire::packet_type::handshake;
      return true;
    };
    EXPECT_TRUE(p.fetch({5000})) << "lost up to " << lost_to;
    EXPECT_GT(p.at_server(event::amplification_limited), 0u) << "the chain was not large enough to show anything";
  }
}

TEST(quic_sim_handshake, comes_through_where_three_in_ten_are_lost) {
  unsigned slowest_s = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    sim_options o;
    o.seed = seed;
    o.client.transport.handshake_timeout_ns = o.server.transport.handshake_timeout_ns = 60 * second;
    o.client.transport.idle_timeout_ns = o.server.transport.idle_timeout_ns = 60 * second;
    sim_pair p(o);
    p.net.up.loss = p.net.down.loss = 0.3;
    p.net.up.most_lost_in_a_row = p.net.down.most_lost_in_a_row = 3;
    p.net.up.delay_ns = p.net.down.delay_ns = 15 * ms;
    EXPECT_TRUE(p.fetch({1024})) << "seed " << seed;
    slowest_s = std::max(slowest_s, static_cast<unsigned>((p.net.now_ns - sim_start_ns) / second));
  }
  EXPECT_LE(slowest_s, 15u);
}

TEST(quic_sim_handshake, comes_through_where_three_in_ten_are_corrupted) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    sim_options o;
    o.seed = seed;
    o.client.transport.handshake_timeout_ns = o.server.transport.handshake_timeout_ns = 60 * second;
    o.client.transport.idle_timeout_ns = o.server.transport.idle_timeout_ns = 60 * second;
    sim_pair p(o);
    p.net.up.corrupt = p.net.down.corrupt = 0.3;
    EXPECT_TRUE(p.fetch({1024})) << "seed " << seed;
  }
}

TEST(quic_sim_handshake, comes_through_reordering_and_duplicates) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim_options o;
    o.seed = seed;
    o.pem = &large_pem();
    sim_pair p(o);
    p.net.up.jitter_ns = p.net.down.jitter_ns = 30 * ms;
    p.net.up.duplicate = p.net.down.duplicate = 0.3;
    EXPECT_TRUE(p.fetch({20'000, 1, 0})) << "seed " << seed;
    EXPECT_EQ(p.at_server(event::established), 1u);
  }
}

TEST(quic_sim_handshake, takes_a_hello_that_fills_several_packets) {
  sim_pair p;
  make_hello_large(p);
  unsigned initials = 0;
  p.net.passing = [&](seen_datagram& d) {
    initials += d.from_client && p.at_server(event::accepted) == 1 && (d.bytes[0] & 0x80) != 0;
    return true;
  };
  p.client_app.to_ask = {1000};
  ASSERT_NE(p.connect(true), nullptr);
  EXPECT_TRUE(p.net.run([&] { return p.client_app.all_done(); }));
  EXPECT_EQ(p.at_server(event::resumed), 1u);
  EXPECT_GE(initials, 2u);
}

TEST(quic_sim_handshake, takes_a_large_hello_in_any_order_and_with_losses) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim_options o;
    o.seed = seed;
    sim_pair p(o);
    make_hello_large(p);
    p.net.up.jitter_ns = 20 * ms;
    p.net.up.loss = p.net.down.loss = 0.1;
    p.client_app.to_ask = {1000};
    ASSERT_NE(p.connect(true), nullptr);
    EXPECT_TRUE(p.net.run([&] { return p.client_app.all_done(); })) << "seed " << seed;
  }
}

TEST(quic_sim_handshake, goes_through_a_retry_when_that_is_the_policy) {
  sim_options o;
  o.server.sources.retry = quic::endpoint::retry_mode::always;
  sim_pair p(o);
  EXPECT_TRUE(p.fetch({10'000}));
  EXPECT_EQ(p.at_server(event::retries), 1u);
  EXPECT_EQ(p.at_server(event::tokens_accepted), 1u);
  EXPECT_EQ(p.at_server(event::amplification_limited), 0u) << "a token proves the address";
}

TEST(quic_sim_handshake, goes_through_a_retry_with_losses) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim_options o;
    o.seed = seed;
    o.server.sources.retry = quic::endpoint::retry_mode::always;
    sim_pair p(o);
    p.net.up.loss = p.net.down.loss = 0.2;
    p.net.up.jitter_ns = p.net.down.jitter_ns = 10 * ms;
    EXPECT_TRUE(p.fetch({10'000})) << "seed " << seed;
  }
}

TEST(quic_sim_handshake, times_out_when_nobody_answers) {
  sim_pair p;
  p.net.up.is_down = true;
  p.connect();
  EXPECT_TRUE(p.net.run([&] { return p.client_app.closed; }));
  EXPECT_EQ(p.client_app.end.reason, end_reason::handshake_timeout);
  EXPECT_EQ(p.at_client(event::handshake_timeout), 1u);
  EXPECT_LE(p.net.sent[0], 20u) << "probes back off";
}

TEST(quic_sim_handshake, speaks_version_2_from_the_start) {
  sim_pair p;
  p.client_app.to_ask = {50'000};
  ASSERT_NE(p.connect(false, quic::wire::version_2), nullptr);
  EXPECT_TRUE(p.net.run([&] { return p.client_app.all_done(); }));
}

TEST(quic_sim_handshake, moves_to_the_version_that_the_server_prefers) {
  using quic::wire::version_1;
  using quic::wire::version_2;
  static constexpr std::array<quic::wire::version_number, 2> newest{version_2, version_1};
  static constexpr std::array<quic::wire::version_number, 2> oldest{version_1, version_2};
  for (const bool up : {true, false}) {
    for (const bool large : {false, true}) {
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        sim_options o;
        o.seed = seed;
        o.server.transport.versions = up ? newest : oldest;
        sim_pair p(o);
        if (large) make_hello_large(p);
        if (seed > 1) p.net.up.loss = p.net.down.loss = 0.15;
        p.client_app.to_ask = {50'000};
        auto* c = p.connect(large, up ? version_1 : version_2);
        ASSERT_NE(c, nullptr);
        EXPECT_TRUE(p.net.run([&] { return p.client_app.all_done() || p.client_app.closed; }));
        ASSERT_TRUE(p.client_app.all_done()) << "up " << up << ", large " << large << ", seed " << seed;
        EXPECT_EQ(c->version(), up ? version_2 : version_1);
      }
    }
  }
}

TEST(quic_sim_handshake, stays_with_its_version_when_the_server_follows) {
  sim_options o;
  o.server.transport.prefer_first_version = false;
  sim_pair p(o);
  p.client_app.to_ask = {1000};
  auto* c = p.connect(false, quic::wire::version_2);
  EXPECT_TRUE(p.net.run([&] { return p.client_app.all_done(); }));
  EXPECT_EQ(c->version(), quic::wire::version_2);
}

TEST(quic_sim_handshake, learns_which_versions_a_server_speaks) {
  static constexpr std::array<quic::wire::version_number, 1> one{quic::wire::version_1};
  sim_options o;
  o.server.transport.versions = one;
  sim_pair p(o);
  p.client_app.to_ask = {1000};
  ASSERT_NE(p.connect(false, quic::wire::version_2), nullptr);
  EXPECT_TRUE(p.net.run([&] { return p.client_app.closed; }));
  EXPECT_EQ(p.client_app.end.reason, end_reason::version_negotiation);
  EXPECT_EQ(p.client_app.end.code, quic::wire::version_1);
  EXPECT_EQ(p.at_server(event::version_negotiations), 1u);
  EXPECT_EQ(p.at_server(event::accepted), 0u);
  p.client_app.closed = false;
  p.negotiated = true;
  ASSERT_NE(p.connect(false, static_cast<quic::wire::version_number>(p.client_app.end.code)), nullptr);
  EXPECT_TRUE(p.net.run([&] { return p.client_app.all_done(); }));
}

TEST(quic_sim_handshake, serves_a_hundred_connections_at_once) {
  sim_options o;
  o.client.connections = o.server.connections = 128;
  o.client.handshakes = o.server.handshakes = 128;
  sim_pair p(o);
  p.net.up.loss = p.net.down.loss = 0.02;
  std::vector<std::unique_ptr<pattern_application>> apps;
  for (int i = 0; i < 100; ++i) {
    apps.push_back(std::make_unique<pattern_application>());
    apps.back()->to_ask = {20'000, 100};
    quic::endpoint::client_request r;
    r.address = p.net.client_path();
    r.server_name = "example.test";
    r.protocol = apps.back().get();
    r.context = p.client_tls;
    ASSERT_NE(p.net.client->endpoint->connect(r, p.net.now_ns), nullptr);
  }
  EXPECT_TRUE(p.net.run([&] { return std::ranges::all_of(apps, [](const auto& a) { return a->all_done(); }); }));
  EXPECT_EQ(p.at_server(event::established), 100u);
  p.net.client->endpoint->close_all(0, p.net.now_ns);
  p.net.wait(30 * second);
}

}  // namespace millrace::test
