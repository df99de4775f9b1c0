// Tickets: resumption, 0-RTT and what may be relied on, in the caller's time.
#include <gtest/gtest.h>

#include "tls/handshake_pair.hpp"
#include "tls/message_edit.hpp"

using namespace millrace;
using namespace millrace::test;
using tls::direction;
using tls::early_data;
using tls::encryption_level;

namespace {

std::shared_ptr<tls::anti_replay> make_table(std::int64_t since = pair_epoch_ns - pair_second_ns,
                                             tls::anti_replay_limits limits = {}) {
  return std::make_shared<tls::anti_replay>(limits, since);
}

tls::server_settings early_server(std::shared_ptr<tls::anti_replay> table = make_table()) {
  auto s = server_defaults();
  s.early_data = std::move(table);
  return s;
}

// A first connection; what the client keeps of it.
bytes first_session(const std::shared_ptr<const tls::server_context>& server,
                    const tls::client_settings& client = client_defaults(), std::int64_t now = pair_epoch_ns) {
  handshake_pair pair(make_client(client), server);
  pair.now_ns = now;
  pair.run();
  pair.expect_complete();
  bytes session = pair.session();
  EXPECT_FALSE(session.empty());
  return session;
}

struct second {
  handshake_pair pair;
  second(const std::shared_ptr<const tls::server_context>& server, const bytes& session,
         std::int64_t after_ns = 5 * pair_second_ns, const tls::client_settings& client = client_defaults())
      : pair(make_client(client), server) {
    pair.now_ns += after_ns;
    pair.run(session);
    pair.expect_complete();
    pair.expect_same_secrets();
  }
  [[nodiscard]] early_data seen() const {
    EXPECT_EQ(pair.client.tls->early(), pair.server.tls->early());
    return pair.server.tls->early();
  }
};

}  // namespace

TEST(resumption, resumes_with_a_ticket_and_gives_another) {
  for (const auto suite : {tls::cipher_suite::aes_128_gcm_sha256, tls::cipher_suite::aes_256_gcm_sha384,
                           tls::cipher_suite::chacha20_poly1305_sha256}) {
    auto client = client_defaults();
    client.offered.suites = {suite};
    const auto server = make_server(server_defaults());
    bytes session = first_session(server, client);
    for (int again = 0; again < 3; ++again) {
      second next(server, session, 5 * pair_second_ns, client);
      EXPECT_TRUE(next.pair.client.tls->is_resumed());
      EXPECT_TRUE(next.pair.server.tls->is_resumed());
      EXPECT_EQ(next.pair.server.tls->suite(), suite);
      EXPECT_EQ(next.pair.server.tls->early(), early_data::none) << "nobody announced 0-RTT";
      EXPECT_EQ(next.pair.server.tls->protocol(), "h3");
      EXPECT_FALSE(next.pair.client.tls->peer_transport_parameters().empty());
      session = next.pair.session();
      EXPECT_FALSE(session.empty());
    }
  }
}

TEST(resumption, keeps_early_data_from_a_protocol_that_must_not_have_it) {
  auto settings = early_server();
  settings.protocols[1].early_data = false;
  const auto server = make_server(settings);
  auto client = client_defaults();
  const bytes careless = first_session(server, client);
  EXPECT_EQ(second(server, careless).seen(), early_data::accepted);
  client.protocols = {"hq-interop"};
  const bytes careful = first_session(server, client);
  second next(server, careful, 5 * pair_second_ns, client);
  EXPECT_TRUE(next.pair.server.tls->is_resumed()) << "only the early data is kept away";
  EXPECT_EQ(next.seen(), early_data::none) << "the ticket announced none, so none was offered";
  EXPECT_EQ(settings.early_data->accepted(), 1u);
}

// A ticket from before the server changed its mind: the offer is turned down, the handshake goes on.
TEST(resumption, rejects_early_data_of_a_protocol_that_no_longer_takes_it) {
  auto settings = early_server();
  const bytes session = first_session(make_server(settings));
  settings.protocols[0].early_data = false;
  second next(make_server(settings), session);
  EXPECT_EQ(next.seen(), early_data::rejected);
  EXPECT_EQ(settings.early_data->accepted(), 0u);
}

TEST(resumption, sends_as_many_tickets_as_it_is_told) {
  for (const unsigned tickets : {0u, 1u, 2u, 4u}) {
    auto settings = server_defaults();
    settings.tickets = static_cast<std::uint8_t>(tickets);
    handshake_pair pair(make_client(client_defaults()), make_server(settings));
    pair.run();
    pair.expect_complete();
    const base::byte_view out = pair.server.tls->output(encryption_level::application);
    bytes flight(out.begin(), out.end());
    unsigned count = 0;
    for_each_message(flight, [&](const bytes& message) {
      EXPECT_EQ(message[0], 4);
      ++count;
    });
    EXPECT_EQ(count, tickets);
    EXPECT_EQ(pair.client.tls->has_new_session(), tickets != 0);
  }
}

TEST(resumption, falls_back_to_a_full_handshake_without_the_tickets_key) {
  const bytes session = first_session(make_server(server_defaults()));
  auto other = server_defaults();
  other.ticket_secret = std::string(32, 'o');
  EXPECT_FALSE(second(make_server(other), session).pair.server.tls->is_resumed());
  auto none = server_defaults();
  none.tickets = 0;
  EXPECT_FALSE(second(make_server(none), session).pair.server.tls->is_resumed());
  EXPECT_TRUE(second(make_server(server_defaults()), session).pair.server.tls->is_resumed()) << "same secret";
}

TEST(resumption, keys_change_every_three_lifetimes_and_the_one_before_still_opens) {
  auto settings = server_defaults();
  settings.ticket_lifetime_s = 1000;
  const auto server = make_server(settings);
  const std::int64_t period = 3000 * pair_second_ns;
  const std::int64_t end = (pair_epoch_ns / period + 1) * period;
  const bytes session = first_session(server, client_defaults(), end - 10 * pair_second_ns);
  const auto resumes = [&](std::int64_t at) {
    return second(server, session, at - pair_epoch_ns).pair.server.tls->is_resumed();
  };
  EXPECT_TRUE(resumes(end - pair_second_ns));
  EXPECT_FALSE(resumes(end + 1500 * pair_second_ns)) << "past its lifetime";
}

TEST(resumption, ignores_sessions_that_are_no_sessions) {
  const auto server = make_server(server_defaults());
  const bytes good = first_session(server);
  for (std::size_t size = 0; size < good.size(); size += 13) {
    const bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(second(server, cut).pair.server.tls->is_resumed()) << size;
  }
  EXPECT_FALSE(second(server, bytes{9, 9, 9}).pair.server.tls->is_resumed());
  auto client = client_defaults();
  client.protocols = {"hq-interop"};
  EXPECT_FALSE(second(server, good, pair_second_ns, client).pair.server.tls->is_resumed()) << "of another protocol";
}

TEST(resumption, goes_on_across_a_change_of_certificate) {
  const bytes session = first_session(make_server(server_defaults()));
  EXPECT_TRUE(second(make_server(server_defaults(tls::key_kind::rsa_2048)), session).pair.server.tls->is_resumed());
}

TEST(zero_rtt, is_accepted_with_a_secret_both_have) {
  const auto server = make_server(early_server());
  const bytes session = first_session(server);
  second next(server, session);
  EXPECT_EQ(next.seen(), early_data::accepted);
  const auto* client = next.pair.client.secret(encryption_level::early, direction::write);
  const auto* theirs = next.pair.server.secret(encryption_level::early, direction::read);
  ASSERT_NE(client, nullptr);
  ASSERT_NE(theirs, nullptr);
  EXPECT_EQ(client->bytes, theirs->bytes);
  EXPECT_EQ(client->suite, theirs->suite);
  const base::byte_view remembered = next.pair.client.tls->remembered_transport_parameters();
  EXPECT_EQ(bytes(remembered.begin(), remembered.end()), server_parameters);
}

TEST(zero_rtt, gives_the_client_its_secret_with_the_hello) {
  const auto server = make_server(early_server());
  const bytes session = first_session(server);
  handshake_pair pair(make_client(client_defaults()), server);
  pair.now_ns += pair_second_ns;
  pair.start(session);
  EXPECT_EQ(pair.client.tls->early(), early_data::offered);
  ASSERT_EQ(pair.client.secrets.size(), 1u);
  EXPECT_EQ(pair.client.secrets[0].level, encryption_level::early);
}

TEST(zero_rtt, is_not_offered_when_the_client_does_not_want_it) {
  const auto server = make_server(early_server());
  const bytes session = first_session(server);
  handshake_pair pair(make_client(client_defaults()), server);
  pair.now_ns += pair_second_ns;
  pair.run(session, false);
  pair.expect_complete();
  EXPECT_TRUE(pair.server.tls->is_resumed());
  EXPECT_EQ(pair.server.tls->early(), early_data::none);
  EXPECT_EQ(pair.client.tls->early(), early_data::none);
}

TEST(zero_rtt, announces_the_size_quic_demands_or_nothing) {
  const auto announced = [](const tls::server_settings& settings) {
    handshake_pair pair(make_client(client_defaults()), make_server(settings));
    pair.run();
    const base::byte_view out = pair.server.tls->output(encryption_level::application);
    const bytes wanted = {0, 42, 0, 4, 0xff, 0xff, 0xff, 0xff};
    return std::search(out.begin(), out.end(), wanted.begin(), wanted.end()) != out.end();
  };
  EXPECT_TRUE(announced(early_server()));
  EXPECT_FALSE(announced(server_defaults()));
}

TEST(zero_rtt, with_another_size_is_a_protocol_violation) {
  handshake_pair pair(make_client(client_defaults()), make_server(early_server()));
  pair.passing = [](bool from_client, encryption_level level, bytes& flight) {
    if (!from_client && level == encryption_level::application) flight.back() = 0xfe;
  };
  pair.run();
  EXPECT_EQ(pair.client.tls->error(), tls::quic_protocol_violation);
}

TEST(zero_rtt, is_rejected_by_a_server_whose_limits_changed) {
  const bytes session = first_session(make_server(early_server()));
  auto other = early_server();
  other.protocols[0].ticket_context = "limits 2";
  EXPECT_EQ(second(make_server(other), session).seen(), early_data::rejected);
}

TEST(zero_rtt, is_rejected_by_a_server_that_does_not_take_it_any_more) {
  const bytes session = first_session(make_server(early_server()));
  second next(make_server(server_defaults()), session);
  EXPECT_EQ(next.seen(), early_data::rejected);
  EXPECT_TRUE(next.pair.server.tls->is_resumed());
  EXPECT_EQ(next.pair.server.secret(encryption_level::early, direction::read), nullptr);
}

TEST(zero_rtt, is_rejected_for_a_ticket_older_than_the_table_of_hellos) {
  const bytes session = first_session(make_server(early_server()));
  second next(make_server(early_server(make_table(pair_epoch_ns + pair_second_ns))), session);
  EXPECT_EQ(next.seen(), early_data::rejected) << "a restart forgot which hellos it saw";
  EXPECT_TRUE(next.pair.server.tls->is_resumed());
}

TEST(zero_rtt, is_accepted_hours_after_the_ticket) {
  const auto server = make_server(early_server());
  const bytes session = first_session(server);
  EXPECT_EQ(second(server, session, 5 * 3600 * pair_second_ns).seen(), early_data::accepted);
}

TEST(zero_rtt, needs_no_retry_because_every_group_has_a_share) {
  const auto table = make_table();
  const bytes session = first_session(make_server(early_server(table)));
  auto settings = early_server(table);
  settings.offered.groups = {tls::group::secp256r1};
  second next(make_server(settings), session);
  EXPECT_EQ(next.seen(), early_data::accepted);
  EXPECT_EQ(next.pair.server.tls->key_exchange(), tls::group::secp256r1);
}

// A server may ask for another hello all the same, to be rid of early data.
TEST(zero_rtt, is_given_up_for_a_server_that_asks_for_another_hello) {
  const auto server = make_server(early_server());
  const bytes session = first_session(server);
  // TLS_AES_128_GCM_SHA256, secp256r1, a cookie.
  const bytes retry = from_hex(
      "020000460303cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c00130100001e"
      "002b0002030400330002001700"
      "2c000e000c000102030405060708090a0b");
  handshake_pair pair(make_client(client_defaults()), server);
  pair.start(session);
  ASSERT_EQ(pair.client.tls->early(), early_data::offered);
  EXPECT_EQ(pair.client.tls->provide(encryption_level::initial, retry), tls::handshake_progress::ready);
  EXPECT_FALSE(pair.client.tls->must_start_over());
  EXPECT_EQ(pair.client.tls->advance(pair.now_ns), tls::handshake_progress::failed);
  EXPECT_TRUE(pair.client.tls->must_start_over());
  EXPECT_EQ(pair.client.tls->error(), tls::quic_internal_error);
  EXPECT_FALSE(pair.client.tls->holds_session());

  handshake_pair again(make_client(client_defaults()), server);
  again.start(session, false);
  EXPECT_EQ(again.client.tls->provide(encryption_level::initial, retry), tls::handshake_progress::ready);
  EXPECT_EQ(again.client.tls->advance(again.now_ns), tls::handshake_progress::stalled) << again.client.tls->reason();
  EXPECT_FALSE(again.client.tls->must_start_over());
  const base::byte_view hellos = again.client.tls->output(encryption_level::initial);
  const bytes cookie = from_hex("002c000e000c000102030405060708090a0b");
  EXPECT_NE(std::search(hellos.begin(), hellos.end(), cookie.begin(), cookie.end()), hellos.end())
      << "without 0-RTT a second hello brings the cookie back";
}

TEST(zero_rtt, is_accepted_once_for_each_hello) {
  const auto table = make_table();
  const auto server = make_server(early_server(table));
  const bytes session = first_session(server);
  handshake_pair pair(make_client(client_defaults()), server);
  pair.now_ns += pair_second_ns;
  pair.start(session);
  const base::byte_view hello = pair.client.tls->output(encryption_level::initial);
  const auto judged = [&](std::int64_t at) {
    tls::quic_handshake replayed(server);
    EXPECT_TRUE(replayed.set_transport_parameters(server_parameters));
    EXPECT_EQ(replayed.provide(encryption_level::initial, hello), tls::handshake_progress::ready);
    EXPECT_EQ(replayed.advance(at), tls::handshake_progress::stalled);
    return replayed.early();
  };
  EXPECT_EQ(judged(pair.now_ns), early_data::accepted);
  for (int seconds = 0; seconds < 30; ++seconds)
    EXPECT_EQ(judged(pair.now_ns + seconds * pair_second_ns), early_data::rejected) << seconds;
  EXPECT_EQ(table->accepted(), 1u);
  EXPECT_GE(table->replayed(), 9u);
}

TEST(zero_rtt, is_rejected_when_the_hello_comes_late) {
  const auto server = make_server(early_server());
  const bytes session = first_session(server);
  handshake_pair pair(make_client(client_defaults()), server);
  pair.now_ns += pair_second_ns;
  pair.start(session);
  pair.now_ns += 11 * pair_second_ns;  // beyond the window of ten
  pair.exchange();
  pair.expect_complete();
  EXPECT_EQ(pair.server.tls->early(), early_data::rejected);
  EXPECT_EQ(pair.client.tls->early(), early_data::rejected);
}

TEST(zero_rtt, under_another_protocol_than_remembered_is_illegal) {
  const auto server = make_server(early_server());
  auto client = client_defaults();
  client.protocols = {"h3", "hq-interop"};
  const bytes session = first_session(server, client);
  handshake_pair pair(make_client(client), server);
  pair.now_ns += pair_second_ns;
  pair.passing = [](bool from_client, encryption_level level, bytes& flight) {
    if (from_client || level != encryption_level::handshake) return;
    for_each_message(flight, [](bytes& m) {
      if (m[0] == 8) set_extension(m, 16, {0, 11, 10, 'h', 'q', '-', 'i', 'n', 't', 'e', 'r', 'o', 'p'});
    });
  };
  pair.run(session);
  EXPECT_EQ(pair.client.tls->error(), tls::crypto_error(tls::alert::illegal_parameter));
}

TEST(resumption, a_client_reads_so_many_tickets_and_no_more) {
  const auto server = make_server(server_defaults());
  auto client = client_defaults();
  client.limits.max_tickets = 3;
  handshake_pair pair(make_client(client), server);
  pair.run();
  pair.expect_complete();
  const base::byte_view out = pair.server.tls->output(encryption_level::application);
  const bytes ticket(out.begin(), out.end());
  unsigned taken = 0;
  for (int i = 0; i < 100; ++i) {
    taken += pair.client.tls->has_new_session();
    EXPECT_FALSE(pair.session().empty());
    ASSERT_EQ(pair.client.tls->provide(encryption_level::application, ticket), tls::handshake_progress::ready);
    ASSERT_EQ(pair.client.tls->advance(pair.now_ns), tls::handshake_progress::complete);
  }
  EXPECT_EQ(taken, 3u);
  EXPECT_TRUE(second(server, pair.session()).pair.server.tls->is_resumed());
}

TEST(zero_rtt, tickets_after_release_are_ignored) {
  handshake_pair pair(make_client(client_defaults()), make_server(early_server()));
  pair.passing = [&](bool from_client, encryption_level level, bytes&) {
    if (!from_client && level == encryption_level::application) pair.client.tls->release();
  };
  pair.run();
  pair.expect_complete();
  EXPECT_FALSE(pair.client.tls->has_new_session());
  EXPECT_EQ(pair.client.last, tls::handshake_progress::complete);
}
