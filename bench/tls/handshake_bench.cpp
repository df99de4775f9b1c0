// CPU time of one TLS 1.3 handshake, by side: ours for QUIC, and beside it GnuTLS's own over TCP records in memory.
// X25519, AES-128-GCM, a certificate with an ECDSA P-256 key; `resumed` 1 takes a ticket. The server's side includes
// its ticket.
#include "tls/bare_handshake.hpp"
#include "tls/quic_handshake.hpp"

namespace {

using namespace millrace;
using namespace millrace::bench_tls;
using tls::encryption_level;
using tls::handshake_progress;

constexpr std::array<std::uint8_t, 40> parameters = {4, 4, 0x80, 0x10, 0, 0, 0x0f, 8, 1, 2, 3, 4, 5, 6, 7, 8};

// --- ours

struct contexts {
  std::shared_ptr<const tls::server_context> server;
  std::shared_ptr<const tls::client_context> client;
  contexts() {
    tls::server_settings s;
    s.credentials = tls::server_credentials::make({&certificate(), 1}).value();
    s.protocols = {{"h3", ""}};
    s.offered.suites = {tls::cipher_suite::aes_128_gcm_sha256};
    server = tls::server_context::make(s).value();
    tls::client_settings c;
    c.trust = tls::client_trust::anybody().value();
    c.protocols = {"h3"};
    c.offered.suites = {tls::cipher_suite::aes_128_gcm_sha256};
    client = tls::client_context::make(c).value();
  }
};

void move(tls::quic_handshake& from, tls::quic_handshake& to, encryption_level level, std::int64_t now) {
  if (to.provide(level, from.output(level)) == handshake_progress::ready) static_cast<void>(to.advance(now));
  if (to.has_failed()) give_up(to.reason());
}

// One handshake; the session the client may resume is left in `session`.
void ours_once(const contexts& with, std::string& session, bool resumed, stopwatch& server_time,
               stopwatch& client_time) {
  const std::int64_t now = wall_ns();
  client_time.begin();
  tls::quic_handshake client(with.client);
  tls::client_start start;
  start.server_name = "localhost";
  start.transport_parameters = parameters;
  if (resumed) start.session = base::as_bytes(session);
  static_cast<void>(client.start(start));
  static_cast<void>(client.advance(now));
  client_time.end();
  server_time.begin();
  {
    tls::quic_handshake server(with.server);
    if (!server.set_transport_parameters(parameters)) give_up("no memory");
    move(client, server, encryption_level::initial, now);
    server_time.end();
    client_time.begin();
    move(server, client, encryption_level::initial, now);
    move(server, client, encryption_level::handshake, now);
    client_time.end();
    server_time.begin();
    move(client, server, encryption_level::handshake, now);
    server_time.end();
    if (!server.is_complete() || server.is_resumed() != resumed) give_up("not the handshake that was meant");
    client_time.begin();
    move(server, client, encryption_level::application, now);
    client_time.end();
    session = base::as_text(client.session());
    server_time.begin();
  }
  server_time.end();
}

template <bool Server>
void tls_handshake(benchmark::State& state) {
  const contexts with;
  const bool resumed = state.range(0) != 0;
  std::string session;
  stopwatch nobody;
  ours_once(with, session, false, nobody, nobody);
  for (auto _ : state) {
    stopwatch server;
    stopwatch client;
    ours_once(with, session, resumed, server, client);
    state.SetIterationTime(Server ? server.total : client.total);
  }
  state.SetItemsProcessed(state.iterations());
}

#define MILLRACE_HANDSHAKE(function, name) \
  BENCHMARK(function)->Name(name)->ArgName("resumed")->Arg(0)->Arg(1)->UseManualTime()->Unit(benchmark::kMicrosecond)
MILLRACE_HANDSHAKE(tls_handshake<true>, "tls_handshake_server");
MILLRACE_HANDSHAKE(bare_handshake<true>, "tls_handshake_server__limit_gnutls");
MILLRACE_HANDSHAKE(tls_handshake<false>, "tls_handshake_client");
MILLRACE_HANDSHAKE(bare_handshake<false>, "tls_handshake_client__limit_gnutls");

}  // namespace
