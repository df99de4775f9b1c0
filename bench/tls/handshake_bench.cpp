// CPU time of one TLS 1.3 handshake, by side: ours for QUIC, and beside it GnuTLS's own over TCP records in memory.
// X25519, AES-128-GCM, a certificate with an ECDSA P-256 key; `resumed` 1 takes a ticket. The server's side includes
// its ticket.
#include <benchmark/benchmark.h>
#include <gnutls/gnutls.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "tls/quic_handshake.hpp"

namespace {

using namespace millrace;
using tls::encryption_level;
using tls::handshake_progress;

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::array<std::uint8_t, 40> parameters = {4, 4, 0x80, 0x10, 0, 0, 0x0f, 8, 1, 2, 3, 4, 5, 6, 7, 8};

[[noreturn]] void give_up(const char* what) {
  std::fputs(what, stderr);
  std::abort();
}

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

std::int64_t wall_ns() { return std::int64_t{std::time(nullptr)} * second_ns; }

// The time spent between begin() and end(), added up.
struct stopwatch {
  double total = 0;
  double since = 0;
  void begin() { since = cpu_seconds(); }
  void end() { total += cpu_seconds() - since; }
};

const tls::pem_pair& certificate() {
  static const tls::pem_pair made = [] {
    tls::self_signed_settings s;
    s.now_ns = wall_ns();
    return tls::make_self_signed(s).value();
  }();
  return made;
}

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

// --- GnuTLS alone

struct wire_end {
  gnutls_session_t session = nullptr;
  std::string in;
  wire_end* other = nullptr;
};

ssize_t push(gnutls_transport_ptr_t to, const void* data, std::size_t size) {
  static_cast<wire_end*>(to)->other->in.append(static_cast<const char*>(data), size);
  return static_cast<ssize_t>(size);
}

ssize_t pull(gnutls_transport_ptr_t from, void* data, std::size_t size) {
  auto& end = *static_cast<wire_end*>(from);
  if (end.in.empty()) {
    gnutls_transport_set_errno(end.session, EAGAIN);
    return -1;
  }
  const std::size_t count = std::min(size, end.in.size());
  std::memcpy(data, end.in.data(), count);
  end.in.erase(0, count);
  return static_cast<ssize_t>(count);
}

int pull_timeout(gnutls_transport_ptr_t from, unsigned) { return static_cast<wire_end*>(from)->in.empty() ? 0 : 1; }

struct bare {
  gnutls_certificate_credentials_t server = nullptr, client = nullptr;
  gnutls_priority_t priority = nullptr;
  gnutls_datum_t key{nullptr, 0};
  bare() {
    const gnutls_datum_t chain{reinterpret_cast<unsigned char*>(const_cast<char*>(certificate().certificate.data())),
                               static_cast<unsigned>(certificate().certificate.size())};
    const gnutls_datum_t secret{reinterpret_cast<unsigned char*>(const_cast<char*>(certificate().key.data())),
                                static_cast<unsigned>(certificate().key.size())};
    gnutls_certificate_allocate_credentials(&server);
    gnutls_certificate_allocate_credentials(&client);
    gnutls_certificate_set_x509_key_mem(server, &chain, &secret, GNUTLS_X509_FMT_PEM);
    gnutls_priority_init(&priority, "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:-GROUP-ALL:+GROUP-X25519",
                         nullptr);
    gnutls_session_ticket_key_generate(&key);
  }
  ~bare() {
    gnutls_certificate_free_credentials(server);
    gnutls_certificate_free_credentials(client);
    gnutls_priority_deinit(priority);
    gnutls_free(key.data);
  }
};

void open_end(wire_end& end, unsigned flags, const bare& with, gnutls_certificate_credentials_t credentials) {
  gnutls_init(&end.session, flags | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
  gnutls_priority_set(end.session, with.priority);
  gnutls_credentials_set(end.session, GNUTLS_CRD_CERTIFICATE, credentials);
  gnutls_transport_set_ptr(end.session, &end);
  gnutls_transport_set_push_function(end.session, push);
  gnutls_transport_set_pull_function(end.session, pull);
  gnutls_transport_set_pull_timeout_function(end.session, pull_timeout);
  gnutls_handshake_set_timeout(end.session, 0);
  const gnutls_datum_t alpn{reinterpret_cast<unsigned char*>(const_cast<char*>("h3")), 2};
  gnutls_alpn_set_protocols(end.session, &alpn, 1, 0);
}

bool go(wire_end& end, stopwatch& time) {
  time.begin();
  const int code = gnutls_handshake(end.session);
  time.end();
  if (code < 0 && gnutls_error_is_fatal(code) != 0) give_up(gnutls_strerror(code));
  return code == 0;
}

void bare_once(const bare& with, std::string& session, bool resumed, stopwatch& server_time, stopwatch& client_time) {
  wire_end client;
  wire_end server;
  client.other = &server;
  server.other = &client;
  client_time.begin();
  open_end(client, GNUTLS_CLIENT | GNUTLS_KEY_SHARE_TOP, with, with.client);
  gnutls_server_name_set(client.session, GNUTLS_NAME_DNS, "localhost", 9);
  if (resumed) gnutls_session_set_data(client.session, session.data(), session.size());
  client_time.end();
  server_time.begin();
  open_end(server, GNUTLS_SERVER | GNUTLS_NO_AUTO_SEND_TICKET, with, with.server);
  gnutls_session_ticket_enable_server(server.session, &with.key);
  server_time.end();
  bool client_done = false;
  bool server_done = false;
  for (int turn = 0; turn < 8 && !(client_done && server_done); ++turn) {
    if (!client_done) client_done = go(client, client_time);
    if (!server_done) server_done = go(server, server_time);
  }
  server_time.begin();
  gnutls_session_ticket_send(server.session, 1, 0);
  server_time.end();
  client_time.begin();
  char byte = 0;
  static_cast<void>(gnutls_record_recv(client.session, &byte, 1));
  gnutls_datum_t data{nullptr, 0};
  if (gnutls_session_get_data2(client.session, &data) < 0) give_up("no session data");
  client_time.end();
  if (!server_done || (gnutls_session_is_resumed(server.session) != 0) != resumed) give_up("not what was meant");
  session.assign(reinterpret_cast<const char*>(data.data), data.size);
  gnutls_free(data.data);
  client_time.begin();
  gnutls_deinit(client.session);
  client_time.end();
  server_time.begin();
  gnutls_deinit(server.session);
  server_time.end();
}

template <bool Server>
void tls_handshake_bare(benchmark::State& state) {
  const bare with;
  const bool resumed = state.range(0) != 0;
  std::string session;
  stopwatch nobody;
  bare_once(with, session, false, nobody, nobody);
  for (auto _ : state) {
    stopwatch server;
    stopwatch client;
    bare_once(with, session, resumed, server, client);
    state.SetIterationTime(Server ? server.total : client.total);
  }
  state.SetItemsProcessed(state.iterations());
}

#define MILLRACE_HANDSHAKE(function, name) \
  BENCHMARK(function)->Name(name)->ArgName("resumed")->Arg(0)->Arg(1)->UseManualTime()->Unit(benchmark::kMicrosecond)
MILLRACE_HANDSHAKE(tls_handshake<true>, "tls_handshake_server");
MILLRACE_HANDSHAKE(tls_handshake_bare<true>, "tls_handshake_server__limit_gnutls");
MILLRACE_HANDSHAKE(tls_handshake<false>, "tls_handshake_client");
MILLRACE_HANDSHAKE(tls_handshake_bare<false>, "tls_handshake_client__limit_gnutls");

}  // namespace
