#include "tls/quic_handshake.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tls/handshake_pair.hpp"
#include "tls/message_edit.hpp"

using namespace millrace;
using namespace millrace::test;
using tls::cipher_suite;
using tls::direction;
using tls::encryption_level;
using tls::group;
using tls::handshake_progress;
using tls::key_kind;

namespace {

bytes as_vector(base::byte_view view) { return {view.begin(), view.end()}; }

}  // namespace

TEST(quic_handshake, completes_and_agrees_on_secrets_parameters_and_names) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  pair.run();
  pair.expect_complete();
  pair.expect_same_secrets();
  EXPECT_EQ(as_vector(pair.server.tls->peer_transport_parameters()), client_parameters);
  EXPECT_EQ(as_vector(pair.client.tls->peer_transport_parameters()), server_parameters);
  EXPECT_EQ(pair.client.tls->protocol(), "h3");
  EXPECT_EQ(pair.server.tls->protocol(), "h3");
  EXPECT_EQ(pair.server.tls->sni(), "example.test");
  EXPECT_FALSE(pair.server.tls->is_resumed());
  EXPECT_EQ(pair.server.tls->early(), tls::early_data::none);
  EXPECT_EQ(pair.server.tls->error(), tls::quic_no_error);
}

TEST(quic_handshake, speaks_every_suite_over_every_group_with_every_certificate) {
  for (const auto kind : {key_kind::ecdsa_p256, key_kind::rsa_2048}) {
    for (const auto suite :
         {cipher_suite::aes_128_gcm_sha256, cipher_suite::aes_256_gcm_sha384, cipher_suite::chacha20_poly1305_sha256}) {
      for (const auto g : {group::x25519, group::secp256r1}) {
        auto settings = client_defaults();
        settings.offered = {{suite}, {g}};
        handshake_pair pair(make_client(settings), make_server(server_defaults(kind)));
        pair.run();
        pair.expect_complete();
        pair.expect_same_secrets();
        for (const auto* end : {&pair.client, &pair.server}) {
          EXPECT_EQ(end->tls->suite(), suite);
          EXPECT_EQ(end->tls->key_exchange(), g);
        }
      }
    }
  }
}

TEST(quic_handshake, gives_secrets_in_the_order_they_can_be_used) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  pair.run();
  const auto order = [](const handshake_end& end) {
    std::string out;
    for (const auto& s : end.secrets)
      out += std::string(s.level == encryption_level::handshake ? "h" : "a") + (s.way == direction::read ? "r " : "w ");
    return out;
  };
  EXPECT_EQ(order(pair.server), "hr hw aw ar ");
  EXPECT_EQ(order(pair.client), "hr hw ar aw ");
}

TEST(quic_handshake, frees_the_servers_session_once_its_tickets_are_out) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  EXPECT_FALSE(pair.server.tls->holds_session());
  pair.run();
  pair.expect_complete();
  EXPECT_FALSE(pair.server.tls->holds_session());
  EXPECT_FALSE(pair.server.tls->output(encryption_level::application).empty());
  EXPECT_TRUE(pair.client.tls->has_new_session());
  EXPECT_TRUE(pair.client.tls->holds_session());
  pair.client.tls->release();
  EXPECT_FALSE(pair.client.tls->holds_session());
}

TEST(quic_handshake, makes_no_session_for_an_unfinished_hello) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  pair.start();
  const bytes hello = as_vector(pair.client.tls->output(encryption_level::initial));
  EXPECT_EQ(pair.server.tls->provide(encryption_level::initial, base::byte_view(hello).first(hello.size() - 1)),
            handshake_progress::stalled);
  EXPECT_EQ(pair.server.tls->advance(pair.now_ns), handshake_progress::stalled);
  EXPECT_FALSE(pair.server.tls->holds_session());
}

TEST(quic_handshake, knows_the_clients_wishes_before_it_spends_anything) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  pair.start();
  EXPECT_EQ(pair.server.tls->provide(encryption_level::initial, pair.client.tls->output(encryption_level::initial)),
            handshake_progress::ready);
  EXPECT_EQ(pair.server.tls->sni(), "example.test");
  EXPECT_EQ(pair.server.tls->protocol(), "h3");
  EXPECT_EQ(as_vector(pair.server.tls->peer_transport_parameters()), client_parameters);
  EXPECT_FALSE(pair.server.tls->holds_session());
}

TEST(quic_handshake, takes_bytes_one_at_a_time) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  pair.piece = 1;
  pair.run();
  pair.expect_complete();
  pair.expect_same_secrets();
  EXPECT_TRUE(pair.client.tls->has_new_session());
}

TEST(quic_handshake, takes_a_hello_of_many_packets) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  bytes large = client_parameters;
  const bytes unknown = {0x40, 0x60, 0x67, 0x10};  // a parameter nobody knows, of 10 000 bytes
  large.insert(large.end(), unknown.begin(), unknown.end());
  large.resize(large.size() + 10000, 0xab);
  tls::client_start with;
  with.server_name = "example.test";
  with.transport_parameters = large;
  pair.client.last = pair.client.tls->start(with);
  pair.client.advance(pair.now_ns);
  EXPECT_GT(pair.client.tls->output(encryption_level::initial).size(), 10000u);
  pair.piece = 1173;
  pair.exchange();
  pair.expect_complete();
  pair.expect_same_secrets();
  EXPECT_EQ(as_vector(pair.server.tls->peer_transport_parameters()), large);
}

// As browsers send: X25519MLKEM768 with its 1216 bytes in front of X25519.
TEST(quic_handshake, answers_a_hello_whose_first_key_share_is_post_quantum) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  pair.passing = [](bool from_client, encryption_level level, bytes& flight) {
    if (!from_client || level != encryption_level::initial) return;
    const auto body_of = [&](std::uint16_t type) {
      const std::size_t at = find_extension(flight, type);
      const std::size_t size = base::load_be16(flight.data() + at + 4);
      return bytes(flight.begin() + static_cast<std::ptrdiff_t>(at + 6),
                   flight.begin() + static_cast<std::ptrdiff_t>(at + 6 + size));
    };
    const auto put_before = [&](std::uint16_t type, bytes front) {
      const bytes rest = body_of(type);
      front.insert(front.end(), rest.begin(), rest.end());
      bytes whole(2);
      base::store_be16(whole.data(), static_cast<std::uint16_t>(front.size()));
      whole.insert(whole.end(), front.begin(), front.end());
      set_extension(flight, type, whole);
    };
    bytes share = {0x11, 0xec, 0x04, 0xc0};
    share.resize(share.size() + 1216, 0x5a);
    put_before(10, {0x11, 0xec});
    put_before(51, share);
  };
  pair.start();
  pair.pass(pair.client, pair.server, true);
  EXPECT_EQ(pair.server.last, handshake_progress::stalled) << pair.server.tls->reason();
  EXPECT_FALSE(pair.server.tls->output(encryption_level::handshake).empty()) << "a flight, no retry";
  EXPECT_EQ(pair.server.secrets.size(), 3u);
}

TEST(quic_handshake, lets_the_client_pin_the_servers_key) {
  for (const auto kind : {key_kind::ecdsa_p256, key_kind::rsa_2048}) {
    auto client = client_defaults();
    client.trust = tls::client_trust::pinned(server_defaults(kind).credentials->spki_pin()).value();
    handshake_pair pair(make_client(client), make_server(server_defaults(kind)));
    pair.server_name = "a.name.of.no.certificate";
    pair.run();
    pair.expect_complete();
    pair.expect_same_secrets();
  }
}

TEST(quic_handshake, holds_little_beside_the_session_and_less_afterwards) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  pair.run();
  pair.expect_complete();
  EXPECT_GT(pair.server.tls->heap_bytes(), 0u);
  EXPECT_LE(pair.server.tls->heap_bytes(), 4096u);
  for (const auto level : crypto_levels) pair.server.tls->discard_output(level);
  EXPECT_LE(pair.server.tls->heap_bytes(), 2048u);
}

TEST(quic_handshake, takes_the_servers_preference_of_protocols) {
  auto client = client_defaults();
  client.protocols = {"srmp", "hq-interop", "h3"};
  handshake_pair pair(make_client(client), make_server(server_defaults()));
  pair.run();
  pair.expect_complete();
  EXPECT_EQ(pair.client.tls->protocol(), "h3");
  EXPECT_EQ(pair.server.tls->protocol(), "h3");
}

TEST(quic_handshake, takes_the_servers_preference_of_suites) {
  auto server = server_defaults();
  server.offered.suites = {cipher_suite::chacha20_poly1305_sha256, cipher_suite::aes_128_gcm_sha256};
  handshake_pair pair(make_client(client_defaults()), make_server(server));
  pair.run();
  pair.expect_complete();
  EXPECT_EQ(pair.server.tls->suite(), cipher_suite::chacha20_poly1305_sha256);
}

TEST(quic_handshake, asks_again_when_the_key_share_is_of_another_group) {
  auto server = server_defaults();
  server.offered.groups = {group::secp256r1};
  handshake_pair pair(make_client(client_defaults()), make_server(server));
  int hellos = 0;
  pair.passing = [&](bool from_client, encryption_level level, bytes&) {
    hellos += from_client && level == encryption_level::initial;
  };
  pair.run();
  EXPECT_EQ(hellos, 2);
  pair.expect_complete();
  pair.expect_same_secrets();
  EXPECT_EQ(pair.server.tls->key_exchange(), group::secp256r1);
}

TEST(quic_handshake, needs_no_retry_with_two_key_shares) {
  auto client = client_defaults();
  client.key_shares = 2;
  auto server = server_defaults();
  server.offered.groups = {group::secp256r1};
  handshake_pair pair(make_client(client), make_server(server));
  int hellos = 0;
  pair.passing = [&](bool from_client, encryption_level level, bytes&) {
    hellos += from_client && level == encryption_level::initial;
  };
  pair.run();
  EXPECT_EQ(hellos, 1);
  pair.expect_complete();
}

TEST(quic_handshake, lets_the_client_verify_the_servers_certificate) {
  auto client = client_defaults();
  client.trust = tls::client_trust::authorities(test_pem(key_kind::ecdsa_p256).certificate).value();
  for (const std::string_view name : {"example.test", "127.0.0.1"}) {
    handshake_pair pair(make_client(client), make_server(server_defaults()));
    pair.server_name = name;
    pair.run();
    pair.expect_complete();
    EXPECT_EQ(pair.server.tls->sni(), name == "example.test" ? "example.test" : "") << "an address is no SNI";
  }
}

TEST(quic_handshake, moves_its_step_to_another_thread) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  pair.start();
  auto& server = *pair.server.tls;
  ASSERT_TRUE(server.set_transport_parameters(server_parameters));
  ASSERT_EQ(server.provide(encryption_level::initial, pair.client.tls->output(encryption_level::initial)),
            handshake_progress::ready);
  pair.client.read[0] = pair.client.tls->output(encryption_level::initial).size();
  std::thread([&] { pair.server.advance(pair.now_ns); }).join();
  pair.exchange();
  pair.expect_complete();
  pair.expect_same_secrets();
}

TEST(quic_handshake, of_one_context_run_on_several_threads) {
  auto settings = server_defaults();
  tls::key_log_queue queue(1 << 20);
  settings.key_log = queue.sink();
  settings.early_data = std::make_shared<tls::anti_replay>(tls::anti_replay_limits{}, pair_epoch_ns - pair_second_ns);
  const auto server = make_server(settings);
  const auto client = make_client(client_defaults());
  const auto work = [&] {
    bytes session;
    for (int i = 0; i < 20; ++i) {
      handshake_pair pair(client, server);
      pair.now_ns += i * pair_second_ns;
      pair.run(session);
      pair.expect_complete();
      pair.expect_same_secrets();
      EXPECT_EQ(pair.server.tls->is_resumed(), i != 0);
      session = pair.session();
    }
  };
  std::thread one(work);
  std::thread other(work);
  one.join();
  other.join();
  EXPECT_EQ(settings.early_data->accepted(), 38u);
}

TEST(quic_handshake, forgets_outputs_that_are_acknowledged) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  pair.run();
  for (const auto level : crypto_levels) {
    pair.server.tls->discard_output(level);
    EXPECT_TRUE(pair.server.tls->output(level).empty());
  }
  EXPECT_TRUE(pair.server.tls->output(encryption_level::early).empty());
}

TEST(quic_handshake, wipes_a_secret_it_gave) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  pair.run();
  tls::traffic_secret none;
  EXPECT_FALSE(pair.server.tls->take_secret(none)) << "each comes once";
  EXPECT_EQ(pair.server.secrets.size(), 4u);
}
