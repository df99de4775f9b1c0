// The handshake against a TLS that is not GnuTLS, in both roles.
#include "tls/openssl_peer.hpp"

#include <gtest/gtest.h>

#include "crypto/engine.hpp"
#include "tls/ja4.hpp"
#include "tls/wire/client_hello.hpp"

using namespace millrace;
using namespace millrace::test;
using tls::encryption_level;
using tls::handshake_progress;

namespace {

constexpr const char* aes = "TLS_AES_128_GCM_SHA256";
constexpr const char* chacha = "TLS_CHACHA20_POLY1305_SHA256";

// Passes bytes between the two until neither says more.
void converse(handshake_end& ours, openssl_peer& theirs, bool ours_is_server, std::int64_t now) {
  for (int turn = 0; turn < 12; ++turn) {
    bool moved = false;
    for (std::size_t i = 0; i < crypto_levels.size(); ++i) {
      const base::byte_view all = ours.tls->output(crypto_levels[i]);
      if (all.size() <= ours.read[i]) continue;
      theirs.hear(crypto_levels[i], all.subspan(ours.read[i]));
      ours.read[i] = all.size();
      moved = true;
    }
    for (const auto& [level, crypto] : theirs.work()) {
      moved = true;
      ours.last = ours.tls->provide(level, crypto);
      ASSERT_NE(ours.last, handshake_progress::failed) << ours.tls->reason();
      if (ours.last != handshake_progress::ready) continue;
      if (ours_is_server) {
        ASSERT_TRUE(ours.tls->set_transport_parameters(server_parameters));
      }
      ours.advance(now);
      ASSERT_NE(ours.last, handshake_progress::failed) << ours.tls->reason();
    }
    if (!moved) return;
  }
}

void expect_same_secrets(const handshake_end& ours, const openssl_peer& theirs, bool ours_is_server) {
  using tls::direction;
  const auto check = [&](encryption_level level, direction way, const char* label) {
    const tls::traffic_secret* secret = ours.secret(level, way);
    ASSERT_NE(secret, nullptr);
    EXPECT_EQ(bytes(secret->view().begin(), secret->view().end()), theirs.secret(label)) << label;
  };
  const direction client = ours_is_server ? direction::read : direction::write;
  const direction server = ours_is_server ? direction::write : direction::read;
  check(encryption_level::handshake, client, "CLIENT_HANDSHAKE_TRAFFIC_SECRET");
  check(encryption_level::handshake, server, "SERVER_HANDSHAKE_TRAFFIC_SECRET");
  check(encryption_level::application, client, "CLIENT_TRAFFIC_SECRET_0");
  check(encryption_level::application, server, "SERVER_TRAFFIC_SECRET_0");
}

handshake_end our_server(const std::shared_ptr<const tls::server_context>& context) {
  handshake_end end;
  end.tls = std::make_unique<tls::quic_handshake>(context);
  return end;
}

void expect_served(openssl_peer& client, handshake_end& server) {
  converse(server, client, true, pair_epoch_ns);
  EXPECT_TRUE(server.tls->is_complete()) << server.tls->reason();
  EXPECT_TRUE(client.is_complete());
  EXPECT_EQ(client.parameters, server_parameters);
  const base::byte_view seen = server.tls->peer_transport_parameters();
  EXPECT_EQ(bytes(seen.begin(), seen.end()), client_parameters);
  EXPECT_EQ(server.tls->sni(), "example.test");
  EXPECT_EQ(server.tls->protocol(), "h3");
  expect_same_secrets(server, client, true);
}

}  // namespace

TEST(openssl_peer, is_served_over_every_suite_group_and_certificate) {
  for (const auto kind : {tls::key_kind::ecdsa_p256, tls::key_kind::rsa_2048}) {
    for (const char* suite : {aes, chacha}) {
      for (const char* group : {"X25519", "P-256"}) {
        openssl_peer client(false, group, suite);
        handshake_end server = our_server(make_server(server_defaults(kind)));
        expect_served(client, server);
      }
    }
  }
}

TEST(openssl_peer, is_served_after_a_retry_for_another_group) {
  auto settings = server_defaults();
  settings.offered.groups = {tls::group::x25519};
  openssl_peer client(false, "P-256:X25519", aes);
  handshake_end server = our_server(make_server(settings));
  expect_served(client, server);
  EXPECT_EQ(server.tls->key_exchange(), tls::group::x25519);
}

TEST(openssl_peer, gets_the_certificate_whose_signatures_it_takes) {
  const std::array pems = {test_pem(tls::key_kind::ecdsa_p256), test_pem(tls::key_kind::rsa_2048)};
  auto settings = server_defaults();
  settings.credentials = tls::server_credentials::make(pems).value();
  const auto context = make_server(settings);
  for (const auto& [list, key] :
       {std::pair{"ecdsa_secp256r1_sha256", EVP_PKEY_EC}, std::pair{"rsa_pss_rsae_sha256", EVP_PKEY_RSA}}) {
    openssl_peer client(false, "X25519", aes);
    client.takes_signatures(list);
    handshake_end server = our_server(context);
    expect_served(client, server);
    EXPECT_EQ(client.servers_key(), key) << list;
  }
}

TEST(openssl_peer, resumes_with_our_ticket) {
  const auto context = make_server(server_defaults());
  openssl_peer first(false, "X25519", aes);
  handshake_end server = our_server(context);
  expect_served(first, server);
  ASSERT_NE(first.session, nullptr) << "no ticket reached it";
  openssl_peer again(false, "X25519", aes, first.session);
  handshake_end other = our_server(context);
  expect_served(again, other);
  EXPECT_TRUE(again.is_resumed());
  EXPECT_TRUE(other.tls->is_resumed());
}

TEST(openssl_peer, reads_our_announcement_of_early_data) {
  tls::anti_replay_limits limits;
  auto settings = server_defaults();
  settings.early_data = std::make_shared<tls::anti_replay>(limits, pair_epoch_ns);
  openssl_peer client(false, "X25519", aes);
  handshake_end server = our_server(make_server(settings));
  expect_served(client, server);
  ASSERT_NE(client.session, nullptr);
  EXPECT_EQ(SSL_SESSION_get_max_early_data(client.session), 0xffffffffu);
}

TEST(openssl_peer, of_ccm_alone_is_refused) {
  openssl_peer client(false, "X25519", "TLS_AES_128_CCM_8_SHA256:TLS_AES_128_CCM_SHA256");
  handshake_end server = our_server(make_server(server_defaults()));
  ASSERT_TRUE(server.tls->set_transport_parameters(server_parameters));
  for (const auto& [level, crypto] : client.work()) {
    if (server.tls->provide(level, crypto) == handshake_progress::ready) server.advance(pair_epoch_ns);
  }
  constexpr std::uint8_t handshake_failure = 40;
  EXPECT_EQ(server.tls->error(), tls::crypto_error(handshake_failure));
}

namespace {

struct early_run {
  std::unique_ptr<openssl_peer> client;
  handshake_end server;
};

// OpenSSL takes a ticket from a server, then offers 0-RTT to another with the same tickets.
early_run offer_early(const tls::server_settings& first, const tls::server_settings& then, const char* groups) {
  openssl_peer before(false, "X25519", aes);
  handshake_end one = our_server(make_server(first));
  expect_served(before, one);
  early_run run{std::make_unique<openssl_peer>(false, groups, aes, before.session), our_server(make_server(then))};
  EXPECT_NE(before.session, nullptr);
  run.client->write_early();
  return run;
}

tls::server_settings early_server() {
  auto settings = server_defaults();
  settings.early_data = std::make_shared<tls::anti_replay>(tls::anti_replay_limits{}, pair_epoch_ns - pair_second_ns);
  return settings;
}

}  // namespace

// To the server's flight alone: OpenSSL, which speaks of records, would now say EndOfEarlyData.
TEST(openssl_peer, offers_early_data_that_we_accept_with_the_same_secret) {
  const auto settings = early_server();
  early_run run = offer_early(settings, settings, "X25519");
  for (const auto& [level, crypto] : run.client->work()) {
    ASSERT_EQ(level, encryption_level::initial);
    ASSERT_EQ(run.server.tls->provide(level, crypto), handshake_progress::ready);
  }
  ASSERT_TRUE(run.server.tls->set_transport_parameters(server_parameters));
  run.server.advance(pair_epoch_ns + pair_second_ns);
  EXPECT_EQ(run.server.tls->early(), tls::early_data::accepted) << run.server.tls->reason();
  const auto* secret = run.server.secret(encryption_level::early, tls::direction::read);
  ASSERT_NE(secret, nullptr);
  EXPECT_EQ(bytes(secret->view().begin(), secret->view().end()), run.client->secret("CLIENT_EARLY_TRAFFIC_SECRET"));
}

TEST(openssl_peer, goes_on_when_we_reject_its_early_data) {
  early_run run = offer_early(early_server(), server_defaults(), "X25519");
  expect_served(*run.client, run.server);
  EXPECT_EQ(run.server.tls->early(), tls::early_data::rejected);
  EXPECT_TRUE(run.server.tls->is_resumed());
  EXPECT_FALSE(run.client->early_was_accepted());
}

TEST(openssl_peer, goes_on_when_a_retry_rejects_its_early_data) {
  auto settings = early_server();
  const auto first = settings;
  settings.offered.groups = {tls::group::x25519};
  early_run run = offer_early(first, settings, "P-256:X25519");
  expect_served(*run.client, run.server);
  EXPECT_EQ(run.server.tls->early(), tls::early_data::rejected);
  EXPECT_EQ(run.server.secret(encryption_level::early, tls::direction::read), nullptr);
  EXPECT_TRUE(run.server.tls->is_resumed());
  EXPECT_EQ(run.server.tls->key_exchange(), tls::group::x25519);
}

TEST(openssl_peer, serves_our_client) {
  for (const auto kind : {tls::key_kind::ecdsa_p256, tls::key_kind::rsa_2048}) {
    for (const char* group : {"X25519", "P-256"}) {
      openssl_peer server(true, group, aes, nullptr, kind);
      auto settings = client_defaults();
      settings.trust = tls::client_trust::authorities(test_pem(kind).certificate).value();
      handshake_end client;
      client.tls = std::make_unique<tls::quic_handshake>(make_client(settings));
      client.last = client.tls->start({"example.test", client_parameters, {}, true});
      client.advance(pair_epoch_ns);
      converse(client, server, false, pair_epoch_ns);
      EXPECT_TRUE(client.tls->is_complete()) << client.tls->reason();
      EXPECT_TRUE(server.is_complete());
      EXPECT_EQ(server.parameters, client_parameters);
      EXPECT_EQ(client.tls->protocol(), "h3");
      EXPECT_TRUE(client.tls->has_new_session());
      expect_same_secrets(client, server, false);
    }
  }
}

TEST(openssl_peer, that_asks_for_a_certificate_gets_none_and_goes_on) {
  openssl_peer server(true, "X25519", aes);
  server.asks_for_a_certificate();
  handshake_end client;
  client.tls = std::make_unique<tls::quic_handshake>(make_client(client_defaults()));
  client.last = client.tls->start({"example.test", client_parameters, {}, true});
  client.advance(pair_epoch_ns);
  converse(client, server, false, pair_epoch_ns);
  EXPECT_TRUE(client.tls->is_complete()) << client.tls->reason();
  EXPECT_TRUE(server.is_complete());
  expect_same_secrets(client, server, false);
}

TEST(openssl_peer, and_our_own_parser_read_our_hello) {
  std::optional<crypto::engine> engine = crypto::engine::make();
  ASSERT_TRUE(engine.has_value());
  std::string first;
  for (int again = 0; again < 3; ++again) {
    tls::quic_handshake client(make_client(client_defaults()));
    ASSERT_EQ(client.start({"example.test", client_parameters, {}, true}), handshake_progress::ready);
    client.advance(pair_epoch_ns);
    tls::wire::client_hello hello;
    ASSERT_TRUE(tls::wire::parse_client_hello(client.output(encryption_level::initial), hello));
    EXPECT_EQ(hello.sni, "example.test");
    EXPECT_TRUE(hello.session_id.empty());
    ASSERT_EQ(hello.alpn.size(), 1u);
    EXPECT_EQ(hello.alpn[0], "h3");
    ASSERT_EQ(hello.supported_versions.size(), 1u) << "RFC 9001 4.2: no older version";
    EXPECT_EQ(hello.supported_versions[0], 0x0304);
    ASSERT_EQ(hello.cipher_suites.size(), 3u);
    EXPECT_EQ(hello.cipher_suites[0], 0x1301);
    EXPECT_EQ(bytes(hello.transport_parameters.begin(), hello.transport_parameters.end()), client_parameters);
    std::array<char, tls::ja4_size> out{};
    tls::ja4(*engine, hello, tls::ja4_transport::quic, out);
    const std::string text(out.data(), out.size());
    if (first.empty()) first = text;
    EXPECT_EQ(text, first) << "the same client has the same fingerprint";
    EXPECT_EQ(text.substr(0, 4), "q13d");
  }
}
