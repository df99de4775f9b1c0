// bench/tls/bare_handshake.hpp - TLS 1.3 handshakes by GnuTLS alone, over records in memory: what a handshake costs at
// least. X25519, AES-128-GCM, a certificate with an ECDSA P-256 key; the server sends one ticket.
#pragma once

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

#include "support/cpu_seconds.hpp"
#include "tls/context.hpp"

namespace millrace::bench_tls {

[[noreturn]] inline void give_up(const char* what) {
  std::fputs(what, stderr);
  std::abort();
}

using bench::cpu_seconds;

inline std::int64_t wall_ns() { return std::int64_t{std::time(nullptr)} * std::int64_t{1'000'000'000}; }

// The time spent between begin() and end(), added up.
struct stopwatch {
  double total = 0;
  double since = 0;
  void begin() { since = cpu_seconds(); }
  void end() { total += cpu_seconds() - since; }
};

inline const tls::pem_pair& certificate() {
  static const tls::pem_pair made = [] {
    tls::self_signed_settings s;
    s.now_ns = wall_ns();
    return tls::make_self_signed(s).value();
  }();
  return made;
}

struct wire_end {
  gnutls_session_t session = nullptr;
  std::string in;
  wire_end* other = nullptr;
};

inline ssize_t push(gnutls_transport_ptr_t to, const void* data, std::size_t size) {
  static_cast<wire_end*>(to)->other->in.append(static_cast<const char*>(data), size);
  return static_cast<ssize_t>(size);
}

inline ssize_t pull(gnutls_transport_ptr_t from, void* data, std::size_t size) {
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

inline int pull_timeout(gnutls_transport_ptr_t from, unsigned) {
  return static_cast<wire_end*>(from)->in.empty() ? 0 : 1;
}

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

inline void open_end(wire_end& end, unsigned flags, const bare& with, gnutls_certificate_credentials_t credentials) {
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

inline bool go(wire_end& end, stopwatch& time) {
  time.begin();
  const int code = gnutls_handshake(end.session);
  time.end();
  if (code < 0 && gnutls_error_is_fatal(code) != 0) give_up(gnutls_strerror(code));
  return code == 0;
}

inline void bare_once(const bare& with, std::string& session, bool resumed, stopwatch& server_time,
                      stopwatch& client_time) {
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

// Rows of a limit: server or client, `resumed` by the argument.
template <bool Server>
void bare_handshake(benchmark::State& state) {
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

}  // namespace millrace::bench_tls
