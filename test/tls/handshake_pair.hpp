// test/tls/handshake_pair.hpp - a client and a server handshake that pass CRYPTO bytes to each other in memory.
//
// Shape    exchange() moves what is new until neither side says more, in pieces of `piece` bytes. Hooks see and may
//          change what passes. The wall clock is the pair's own.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "support/bytes.hpp"
#include "tls/quic_handshake.hpp"

namespace millrace::test {

inline constexpr std::int64_t pair_epoch_ns = 1'790'000'000'000'000'000;  // some day in 2026
inline constexpr std::int64_t pair_second_ns = 1'000'000'000;

using bytes = std::vector<std::uint8_t>;

inline const tls::pem_pair& test_pem(tls::key_kind kind) {
  static std::map<tls::key_kind, tls::pem_pair> made;
  const auto found = made.find(kind);
  if (found != made.end()) return found->second;
  tls::self_signed_settings settings;
  settings.names = {"example.test", "127.0.0.1"};
  settings.key = kind;
  settings.now_ns = pair_epoch_ns;
  return made.emplace(kind, tls::make_self_signed(settings).value()).first->second;
}

inline tls::server_settings server_defaults(tls::key_kind kind = tls::key_kind::ecdsa_p256) {
  tls::server_settings s;
  s.credentials = tls::server_credentials::make({&test_pem(kind), 1}).value();
  s.protocols = {{"h3", "limits 1"}, {"hq-interop", "limits 1"}};
  s.ticket_secret = std::string(32, 's');
  return s;
}

inline tls::client_settings client_defaults() {
  tls::client_settings s;
  s.trust = tls::client_trust::anybody().value();
  s.protocols = {"h3"};
  return s;
}

inline std::shared_ptr<const tls::server_context> make_server(tls::server_settings s) {
  auto made = tls::server_context::make(std::move(s));
  EXPECT_TRUE(made) << made.error().what;
  return made.value();
}

inline std::shared_ptr<const tls::client_context> make_client(tls::client_settings s) {
  auto made = tls::client_context::make(std::move(s));
  EXPECT_TRUE(made) << made.error().what;
  return made.value();
}

inline const bytes client_parameters = {0x0f, 0x04, 1, 2, 3, 4, 0x04, 0x01, 0x3f};
inline const bytes server_parameters = {0x0f, 0x03, 9, 8, 7, 0x04, 0x01, 0x3e};

inline constexpr std::array crypto_levels = {tls::encryption_level::initial, tls::encryption_level::handshake,
                                             tls::encryption_level::application};

// One end: the handshake, the secrets it gave, and how far the other end has read its output.
struct handshake_end {
  std::unique_ptr<tls::quic_handshake> tls;
  std::vector<tls::traffic_secret> secrets;
  std::array<std::size_t, 3> read{};
  tls::handshake_progress last = tls::handshake_progress::stalled;

  void collect() {
    tls::traffic_secret secret;
    while (tls->take_secret(secret)) secrets.push_back(secret);
  }
  const tls::traffic_secret* secret(tls::encryption_level level, tls::direction way) const {
    for (const auto& s : secrets)
      if (s.level == level && s.way == way) return &s;
    return nullptr;
  }
  void advance(std::int64_t now) {
    last = tls->advance(now);
    collect();
  }
};

class handshake_pair {
 public:
  handshake_end client, server;
  std::int64_t now_ns = pair_epoch_ns;
  std::size_t piece = 4096;
  // Sees what `from` sends before the other end does, and may change it.
  std::function<void(bool from_client, tls::encryption_level, bytes&)> passing;
  bytes server_says = server_parameters;
  std::string_view server_name = "example.test";

  handshake_pair(std::shared_ptr<const tls::client_context> c, std::shared_ptr<const tls::server_context> s) {
    client.tls = std::make_unique<tls::quic_handshake>(std::move(c));
    server.tls = std::make_unique<tls::quic_handshake>(std::move(s));
  }

  void start(base::byte_view session = {}, bool early = true) {
    tls::client_start with;
    with.server_name = server_name;
    with.transport_parameters = client_parameters;
    with.session = session;
    with.offer_early_data = early;
    client.last = client.tls->start(with);
    client.advance(now_ns);
  }

  // Moves everything once in one direction; true when something moved.
  bool pass(handshake_end& from, handshake_end& to, bool from_client) {
    bool moved = false;
    for (std::size_t i = 0; i < crypto_levels.size(); ++i) {
      const base::byte_view all = from.tls->output(crypto_levels[i]);
      if (all.size() <= from.read[i]) continue;
      bytes fresh(all.begin() + static_cast<std::ptrdiff_t>(from.read[i]), all.end());
      from.read[i] = all.size();
      moved = true;
      if (passing) passing(from_client, crypto_levels[i], fresh);
      for (std::size_t at = 0; at < fresh.size(); at += piece) {
        const std::size_t size = std::min(piece, fresh.size() - at);
        to.last = to.tls->provide(crypto_levels[i], {fresh.data() + at, size});
        if (to.last == tls::handshake_progress::failed) return true;
        if (to.last != tls::handshake_progress::ready) continue;
        if (!from_client || to.tls->set_transport_parameters(server_says)) to.advance(now_ns);
      }
    }
    return moved;
  }

  void exchange() {
    for (int turn = 0; turn < 12; ++turn) {
      const bool there = pass(client, server, true);
      const bool back = pass(server, client, false);
      if (!there && !back) return;
    }
    ADD_FAILURE() << "the handshake does not come to an end";
  }

  void run(base::byte_view session = {}, bool early = true) {
    start(session, early);
    exchange();
  }

  void expect_complete() const {
    EXPECT_TRUE(client.tls->is_complete()) << client.tls->reason();
    EXPECT_TRUE(server.tls->is_complete()) << server.tls->reason();
  }

  // Every secret one end has is the other's, the other way round.
  void expect_same_secrets() const {
    using tls::direction, tls::encryption_level;
    for (const auto level : {encryption_level::handshake, encryption_level::application}) {
      for (const auto& [mine, theirs] :
           {std::pair{direction::read, direction::write}, std::pair{direction::write, direction::read}}) {
        const auto* a = client.secret(level, mine);
        const auto* b = server.secret(level, theirs);
        ASSERT_NE(a, nullptr);
        ASSERT_NE(b, nullptr);
        EXPECT_EQ(a->bytes, b->bytes);
        EXPECT_EQ(a->suite, b->suite);
        EXPECT_EQ(a->size, tls::secret_size(a->suite));
      }
    }
  }

  bytes session() const {
    const base::byte_view view = client.tls->session();
    return {view.begin(), view.end()};
  }
};

}  // namespace millrace::test
