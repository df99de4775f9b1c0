// What ends a handshake, and with which error: everything a peer can do wrong and QUIC or TLS has a code for.
#include <gtest/gtest.h>

#include "support/seeded.hpp"
#include "tls/handshake_pair.hpp"
#include "tls/message_edit.hpp"

using namespace millrace;
using namespace millrace::test;
using tls::alert;
using tls::crypto_error;
using tls::encryption_level;
using tls::handshake_progress;
using tls::key_kind;

namespace {

constexpr std::uint8_t alert_handshake_failure = 40;
constexpr std::uint8_t alert_bad_certificate = 42;

using edit = std::function<void(bytes&)>;

// A pair whose messages of one side are changed on their way.
struct edited {
  handshake_pair pair;
  edited(bool from_client, const edit& change, tls::client_settings c = client_defaults(),
         tls::server_settings s = server_defaults())
      : pair(make_client(std::move(c)), make_server(std::move(s))) {
    pair.passing = [=](bool is_client, encryption_level, bytes& flight) {
      if (is_client == from_client) for_each_message(flight, change);
    };
    pair.run();
  }
  [[nodiscard]] tls::quic_error server_error() const { return pair.server.tls->error(); }
  [[nodiscard]] tls::quic_error client_error() const { return pair.client.tls->error(); }
};

bytes hello_of_a_client(tls::client_settings settings = client_defaults()) {
  handshake_pair pair(make_client(std::move(settings)), make_server(server_defaults()));
  pair.start();
  const base::byte_view hello = pair.client.tls->output(encryption_level::initial);
  return {hello.begin(), hello.end()};
}

tls::quic_error server_judges(const bytes& crypto, encryption_level level = encryption_level::initial) {
  tls::quic_handshake server(make_server(server_defaults()));
  EXPECT_TRUE(server.set_transport_parameters(server_parameters));
  if (server.provide(level, crypto) == handshake_progress::ready) server.advance(pair_epoch_ns);
  EXPECT_EQ(server.has_failed(), server.error() != tls::quic_no_error);
  if (server.has_failed()) {
    EXPECT_FALSE(server.holds_session());
    EXPECT_STRNE(server.reason(), "");
    EXPECT_EQ(server.provide(level, crypto), handshake_progress::failed);
    EXPECT_EQ(server.advance(pair_epoch_ns), handshake_progress::failed);
  }
  return server.error();
}

}  // namespace

TEST(quic_handshake_failure, no_protocol_in_common_is_0x178) {
  auto client = client_defaults();
  client.protocols = {"h2", "spdy"};
  EXPECT_EQ(server_judges(hello_of_a_client(client)), 0x0178u);
}

TEST(quic_handshake_failure, a_hello_without_protocols_is_0x178) {
  EXPECT_EQ(edited(true, [](bytes& m) { drop_extension(m, 16); }).server_error(), 0x0178u);
}

TEST(quic_handshake_failure, a_server_that_chooses_no_protocol_is_0x178_for_the_client) {
  EXPECT_EQ(edited(false, [](bytes& m) { drop_extension(m, 16); }).client_error(), 0x0178u);
}

TEST(quic_handshake_failure, missing_transport_parameters_are_missing_extension_on_both_sides) {
  const auto drop = [](bytes& m) { drop_extension(m, 0x39); };
  EXPECT_EQ(edited(true, drop).server_error(), crypto_error(alert::missing_extension));
  EXPECT_EQ(edited(false, drop).client_error(), crypto_error(alert::missing_extension));
  EXPECT_EQ(crypto_error(alert::missing_extension), 0x016du);
}

TEST(quic_handshake_failure, transport_parameters_under_a_drafts_number_do_not_count) {
  const auto rename = [](bytes& m) {
    const std::size_t at = find_extension(m, 0x39);
    if (at != m.size()) base::store_be16(m.data() + at, 0xffa5);
  };
  EXPECT_EQ(edited(true, rename).server_error(), crypto_error(alert::missing_extension));
}

TEST(quic_handshake_failure, a_session_id_is_a_protocol_violation) {
  const auto insert = [](bytes& m) {
    if (m[0] != 1) return;
    m[38] = 32;
    splice(m, 39, 39, bytes(32, 0xaa));
  };
  EXPECT_EQ(edited(true, insert).server_error(), tls::quic_protocol_violation);
}

TEST(quic_handshake_failure, an_older_version_alone_is_protocol_version) {
  EXPECT_EQ(edited(true, [](bytes& m) { set_extension(m, 43, {2, 3, 3}); }).server_error(),
            crypto_error(alert::protocol_version));
  EXPECT_EQ(edited(true, [](bytes& m) { drop_extension(m, 43); }).server_error(),
            crypto_error(alert::protocol_version));
}

TEST(quic_handshake_failure, no_suite_in_common_is_handshake_failure) {
  auto client = client_defaults();
  client.offered.suites = {tls::cipher_suite::chacha20_poly1305_sha256};
  auto server = server_defaults();
  server.offered.suites = {tls::cipher_suite::aes_128_gcm_sha256};
  EXPECT_EQ(edited(true, [](bytes&) {}, client, server).server_error(), crypto_error(alert_handshake_failure));
}

TEST(quic_handshake_failure, no_group_in_common_is_refused) {
  auto client = client_defaults();
  client.offered.groups = {tls::group::x25519};
  auto server = server_defaults();
  server.offered.groups = {tls::group::secp256r1};
  const edited run(true, [](bytes&) {}, client, server);
  EXPECT_EQ(run.server_error() & ~tls::quic_error{0xff}, tls::quic_crypto_error);
}

TEST(quic_handshake_failure, malformed_hellos_are_decode_errors) {
  const auto judge = [](const edit& change) { return edited(true, change).server_error(); };
  EXPECT_EQ(judge([](bytes& m) { set_extension(m, 16, {0, 0}); }), crypto_error(alert::decode_error));
  EXPECT_EQ(judge([](bytes& m) { set_extension(m, 16, {0, 1, 0}); }), crypto_error(alert::decode_error));
  EXPECT_EQ(judge([](bytes& m) { set_extension(m, 16, {0, 3, 2, 'h', '3', 0}); }), crypto_error(alert::decode_error));
  EXPECT_EQ(judge([](bytes& m) { base::store_be16(m.data() + extensions_of(m), 1); }),
            crypto_error(alert::decode_error));
}

TEST(quic_handshake_failure, transport_parameters_that_come_twice_are_illegal) {
  const auto twice = [](bytes& m) {
    if (m[0] != 1) return;
    splice(m, m.size(), m.size(), {0, 0x39, 0, 2, 1, 0});
  };
  EXPECT_EQ(edited(true, twice).server_error(), crypto_error(alert::illegal_parameter));
}

TEST(quic_handshake_failure, bytes_behind_the_hello_are_unexpected) {
  bytes hello = hello_of_a_client();
  hello.push_back(1);
  EXPECT_EQ(server_judges(hello), crypto_error(alert::unexpected_message));
  bytes twice = hello_of_a_client();
  twice.insert(twice.end(), twice.begin(), twice.end());
  EXPECT_EQ(server_judges(twice), crypto_error(alert::unexpected_message));
}

TEST(quic_handshake_failure, another_message_than_a_hello_is_refused_at_its_first_byte) {
  for (unsigned type = 0; type < 256; ++type) {
    if (type == 1) continue;
    EXPECT_EQ(server_judges({static_cast<std::uint8_t>(type)}), crypto_error(alert::unexpected_message)) << type;
  }
}

TEST(quic_handshake_failure, a_hello_beyond_the_limit_is_refused_at_its_fourth_byte) {
  EXPECT_EQ(server_judges({1, 0, 0x40, 0x00}), tls::quic_no_error);
  EXPECT_EQ(server_judges({1, 0, 0x40, 0x01}), tls::quic_crypto_buffer_exceeded);
  EXPECT_EQ(server_judges({1, 0xff, 0xff, 0xff}), tls::quic_crypto_buffer_exceeded);
}

TEST(quic_handshake_failure, messages_that_wait_for_a_step_are_bounded) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  pair.start();
  pair.pass(pair.client, pair.server, true);
  ASSERT_EQ(pair.client.tls->provide(encryption_level::initial, pair.server.tls->output(encryption_level::initial)),
            handshake_progress::ready);
  pair.client.advance(pair.now_ns);
  ASSERT_EQ(pair.client.tls->read_level(), encryption_level::handshake);
  bytes message(4 + 1020, 0);  // CertificateRequest, again and again
  message[0] = 13;
  message[2] = 0x03;
  message[3] = 0xfc;
  unsigned taken = 0;
  while (pair.client.tls->provide(encryption_level::handshake, message) == handshake_progress::ready) ++taken;
  EXPECT_EQ(taken, tls::handshake_limits{}.max_waiting_bytes / message.size());
  EXPECT_EQ(pair.client.tls->error(), tls::quic_crypto_buffer_exceeded);
  EXPECT_LT(pair.client.tls->heap_bytes(), 4096u) << "a failure gives it back";
}

TEST(quic_handshake_failure, bytes_at_a_level_without_keys_are_a_protocol_violation) {
  for (const auto level : {encryption_level::early, encryption_level::handshake, encryption_level::application})
    EXPECT_EQ(server_judges({20, 0, 0, 32}, level), tls::quic_protocol_violation);
}

TEST(quic_handshake_failure, new_bytes_of_a_level_that_is_over_are_a_protocol_violation) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  pair.start();
  pair.pass(pair.client, pair.server, true);
  ASSERT_EQ(pair.server.tls->read_level(), encryption_level::handshake);
  EXPECT_EQ(pair.server.tls->provide(encryption_level::initial, bytes{1}), handshake_progress::failed);
  EXPECT_EQ(pair.server.tls->error(), tls::quic_protocol_violation);
}

TEST(quic_handshake_failure, a_server_takes_nothing_once_the_handshake_is_complete) {
  for (const unsigned type : {1u, 4u, 8u, 11u, 20u, 24u}) {
    handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
    pair.run();
    pair.expect_complete();
    EXPECT_EQ(
        pair.server.tls->provide(encryption_level::application, bytes{static_cast<std::uint8_t>(type), 0, 0, 1, 0}),
        handshake_progress::failed);
    EXPECT_EQ(pair.server.tls->error(), crypto_error(alert::unexpected_message));
  }
}

TEST(quic_handshake_failure, a_key_update_message_is_unexpected_for_a_client) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  pair.run();
  pair.expect_complete();
  EXPECT_EQ(pair.client.tls->provide(encryption_level::application, bytes{24, 0, 0, 1, 0}), handshake_progress::failed);
  EXPECT_EQ(pair.client.tls->error(), crypto_error(alert::unexpected_message));
}

TEST(quic_handshake_failure, something_behind_finished_is_unexpected) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  pair.passing = [](bool from_client, encryption_level level, bytes& flight) {
    if (from_client && level == encryption_level::handshake) flight.push_back(20);
  };
  pair.run();
  EXPECT_EQ(pair.server.tls->error(), crypto_error(alert::unexpected_message));
  EXPECT_FALSE(pair.server.tls->is_complete());
}

TEST(quic_handshake_failure, a_certificate_of_a_stranger_or_of_another_name_is_refused) {
  auto client = client_defaults();
  client.trust = tls::client_trust::authorities(test_pem(key_kind::rsa_2048).certificate).value();
  EXPECT_EQ(edited(true, [](bytes&) {}, client).client_error(), crypto_error(alert_bad_certificate));
  client.trust = tls::client_trust::authorities(test_pem(key_kind::ecdsa_p256).certificate).value();
  handshake_pair other(make_client(client), make_server(server_defaults()));
  other.server_name = "example.org";
  other.run();
  EXPECT_EQ(other.client.tls->error(), crypto_error(alert_bad_certificate));
  EXPECT_FALSE(other.server.tls->is_complete());
}

TEST(quic_handshake_failure, a_key_that_is_not_the_pinned_one_is_refused) {
  auto client = client_defaults();
  client.trust = tls::client_trust::pinned(server_defaults(key_kind::rsa_2048).credentials->spki_pin()).value();
  EXPECT_EQ(edited(true, [](bytes&) {}, client).client_error(), crypto_error(alert_bad_certificate));
  EXPECT_FALSE(tls::client_trust::pinned(""));
  EXPECT_FALSE(tls::client_trust::pinned("c2hvcnQ="));
  EXPECT_FALSE(tls::client_trust::pinned(std::string(44, '*')));
}

TEST(quic_handshake_failure, a_certificate_is_judged_by_the_callers_time) {
  auto client = client_defaults();
  client.trust = tls::client_trust::authorities(test_pem(key_kind::ecdsa_p256).certificate).value();
  handshake_pair late(make_client(client), make_server(server_defaults()));
  late.now_ns += 14 * 86400 * pair_second_ns;
  late.run();
  EXPECT_EQ(late.client.tls->error(), crypto_error(alert_bad_certificate));
}

TEST(quic_handshake_failure, a_second_hello_may_not_contradict_the_first) {
  auto server = server_defaults();
  server.offered.groups = {tls::group::secp256r1};
  const auto run = [&](const edit& change) {
    handshake_pair pair(make_client(client_defaults()), make_server(server));
    int hellos = 0;
    pair.passing = [&](bool from_client, encryption_level level, bytes& flight) {
      if (from_client && level == encryption_level::initial && ++hellos == 2) for_each_message(flight, change);
    };
    pair.run();
    EXPECT_EQ(hellos, 2);
    return pair.server.tls->error();
  };
  EXPECT_EQ(run([](bytes& m) { set_extension(m, 0x39, {4, 1, 1}); }), crypto_error(alert::illegal_parameter));
  EXPECT_EQ(run([](bytes& m) { set_extension(m, 42, {}); }), crypto_error(alert::illegal_parameter)) << "0-RTT";
  EXPECT_EQ(run([](bytes& m) { set_extension(m, 16, {0, 11, 10, 'h', 'q', '-', 'i', 'n', 't', 'e', 'r', 'o', 'p'}); }),
            crypto_error(alert::illegal_parameter));
}

TEST(quic_handshake_failure, every_truncation_stalls) {
  handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
  pair.start();
  const auto feed = [&](handshake_end& to, encryption_level level, base::byte_view flight) {
    for (std::size_t i = 0; i + 1 < flight.size(); ++i) {
      handshake_progress now = to.tls->provide(level, flight.subspan(i, 1));
      if (now == handshake_progress::ready) now = to.tls->advance(pair.now_ns);  // a message of several is whole
      ASSERT_EQ(now, handshake_progress::stalled) << i << ' ' << to.tls->reason();
    }
    to.last = to.tls->provide(level, flight.last(1));
    ASSERT_EQ(to.last, handshake_progress::ready);
    to.advance(pair.now_ns);
  };
  ASSERT_TRUE(pair.server.tls->set_transport_parameters(server_parameters));
  feed(pair.server, encryption_level::initial, pair.client.tls->output(encryption_level::initial));
  feed(pair.client, encryption_level::initial, pair.server.tls->output(encryption_level::initial));
  feed(pair.client, encryption_level::handshake, pair.server.tls->output(encryption_level::handshake));
  feed(pair.server, encryption_level::handshake, pair.client.tls->output(encryption_level::handshake));
  pair.expect_complete();
}

// Every byte is part of the transcript, so no change goes unnoticed: a client never completes on a changed flight.
TEST(quic_handshake_failure, every_changed_byte_ends_the_handshake) {
  struct flight {
    bool from_client;
    encryption_level level;
    std::size_t stride;
  };
  for (const flight& f :
       {flight{true, encryption_level::initial, 2}, flight{false, encryption_level::initial, 2},
        flight{false, encryption_level::handshake, 7}, flight{true, encryption_level::handshake, 3}}) {
    std::size_t size = 1;
    seeded random(f.stride);
    for (std::size_t at = 0; at < size; at += f.stride) {
      const auto by = static_cast<std::uint8_t>(1 + random.below(255));
      handshake_pair pair(make_client(client_defaults()), make_server(server_defaults()));
      bool first = true;
      pair.passing = [&](bool from_client, encryption_level level, bytes& passed) {
        if (from_client != f.from_client || level != f.level || !first) return;
        first = false;
        size = passed.size();
        if (at < size) passed[at] ^= by;
      };
      pair.run();
      const bool both = pair.client.tls->is_complete() && pair.server.tls->is_complete();
      EXPECT_FALSE(both) << at << " by " << int{by};
      if (!f.from_client || f.level == encryption_level::initial) {
        EXPECT_FALSE(pair.client.tls->is_complete()) << at;
      }
    }
  }
}

TEST(quic_handshake_failure, needs_transport_parameters_of_ours) {
  tls::quic_handshake server(make_server(server_defaults()));
  ASSERT_EQ(server.provide(encryption_level::initial, hello_of_a_client()), handshake_progress::ready);
  EXPECT_EQ(server.advance(pair_epoch_ns), handshake_progress::failed);
  EXPECT_EQ(server.error(), tls::quic_internal_error);
  tls::quic_handshake client(make_client(client_defaults()));
  EXPECT_EQ(client.start({}), handshake_progress::failed);
  EXPECT_EQ(client.error(), tls::quic_internal_error);
}
