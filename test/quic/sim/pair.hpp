// test/quic/sim/pair.hpp - a network with the pattern application on both sides, and TLS contexts for it.
#pragma once

#include "quic/sim/network.hpp"
#include "quic/sim/pattern.hpp"

namespace millrace::test {

inline const tls::pem_pair& sim_pem() {
  static const tls::pem_pair made = [] {
    tls::self_signed_settings settings;
    settings.names = {"example.test"};
    settings.now_ns = sim_epoch_ns;
    return tls::make_self_signed(settings).value();
  }();
  return made;
}

struct sim_options {
  quic::endpoint::endpoint_settings client, server;
  tls::algorithms client_algorithms, server_algorithms;
  bool early_data = false;
  std::string ticket_context = "1";
  std::uint64_t seed = 1;
  const tls::pem_pair* pem = nullptr;  // of the server; nullptr: a small one
  tls::key_log_sink key_log;           // of the client
  sim_options() {
    client.connections = server.connections = 64;
    client.handshakes = server.handshakes = 64;
    client.streams = server.streams = 8192;
    client.sent_blocks = server.sent_blocks = 8192;
    client.pieces = server.pieces = 65536;
    client.source_slots = server.source_slots = 64;
    server.sources.source_handshakes = server.sources.source_unproven = {0, 1};
  }
};

class sim_memory final : public quic::endpoint::client_memory {
 public:
  std::vector<std::uint8_t> session, token;
  void on_session(quic::conn::connection&, base::byte_view s) noexcept override { session.assign(s.begin(), s.end()); }
  void on_token(quic::conn::connection&, base::byte_view t) noexcept override { token.assign(t.begin(), t.end()); }
};

class sim_pair {
 public:
  sim_memory memory;
  pattern_application client_app, server_app;
  std::shared_ptr<tls::anti_replay> replay;
  std::shared_ptr<const tls::server_context> server_tls;
  std::shared_ptr<const tls::client_context> client_tls;
  network net;
  std::string server_name = "example.test";
  bool negotiated = false;  // the next connection is a second attempt, with the version that the first one learnt
  quic::conn::connection* connection = nullptr;  // the client's newest; dangles once it has ended

  explicit sim_pair(const sim_options& o = {}) : net(o.client, o.server, o.seed) {
    server_app.is_server = true;
    tls::server_settings s;
    s.credentials = tls::server_credentials::make({o.pem != nullptr ? o.pem : &sim_pem(), 1}).value();
    s.protocols = {{"hq-interop", o.ticket_context}};
    s.ticket_secret = std::string(32, 's');
    s.offered = o.server_algorithms;
    if (o.early_data)
      s.early_data = replay = std::make_shared<tls::anti_replay>(tls::anti_replay_limits{}, sim_epoch_ns);
    server_tls = tls::server_context::make(std::move(s)).value();
    tls::client_settings c;
    c.trust = tls::client_trust::anybody().value();
    c.protocols = {"hq-interop"};
    c.offered = o.client_algorithms;
    c.key_log = o.key_log;
    client_tls = tls::client_context::make(std::move(c)).value();
    net.server->endpoint->serve(server_tls);
    EXPECT_TRUE(net.server->endpoint->add_application("hq-interop", server_app));
    net.client->endpoint->set_client_memory(&memory);
  }

  quic::conn::connection* connect(bool remembering = false, quic::wire::version_number v = quic::wire::version_1) {
    quic::endpoint::client_request r;
    r.address = net.client_path();
    r.version = v;
    r.negotiated = negotiated;
    r.server_name = server_name;
    r.protocol = &client_app;
    r.context = client_tls;
    if (remembering) {
      r.session = memory.session;
      r.token = memory.token;
    }
    return connection = net.client->endpoint->connect(r, net.now_ns);
  }
  bool fetch(std::vector<std::uint64_t> sizes, std::uint64_t limit_ns = 60 * second) {
    client_app.to_ask = std::move(sizes);
    if (connect() == nullptr) return false;
    return net.run([&] { return client_app.all_done() || client_app.closed; }, limit_ns) && client_app.all_done();
  }
  std::uint64_t at_server(quic::conn::event e) const { return net.server->endpoint->events().get(e); }
  std::uint64_t at_client(quic::conn::event e) const { return net.client->endpoint->events().get(e); }
};

}  // namespace millrace::test
