// bench/support/quic_ends.hpp - a QUIC client and a QUIC server in one thread, without a loop, a port or a wire: what
// benchmarks of QUIC and of HTTP/3 have in common.
//
// Shape    quic_ends e(wish); its applications are added to e.server and named in e.protocol; e.connect(); e.step() or
//          e.pass() as often as the benchmark likes. Datagrams go by bursts, are never lost, and arrive at once.
// Time     now_ns is the ends' clock: it moves when the benchmark says so. cpu_seconds() is the machine's.
// Owner    applications are the caller's and outlive the ends; a class that derives from this one calls end() before
//          its own applications go.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "mem/packet_pool.hpp"
#include "quic/endpoint/endpoint.hpp"
#include "support/cpu_seconds.hpp"
#include "tls/context.hpp"

namespace millrace::bench {

inline constexpr std::int64_t epoch_ns = 1'790'000'000'000'000'000;
inline constexpr std::uint64_t start_ns = 1'000'000'000;
inline constexpr std::size_t burst_pkts = 32;

struct quic_wish {
  std::string_view alpn;
  mem::packet_pool* packets = nullptr;
  std::uint16_t room_bytes = 2000;  // of a packet, for a datagram
  quic::endpoint::endpoint_settings endpoint = plain_settings();

  // Nobody is a stranger here: no Retry, no limits by source.
  static quic::endpoint::endpoint_settings plain_settings() {
    quic::endpoint::endpoint_settings s;
    s.handshakes = 64;
    s.source_slots = 64;
    s.sources.retry = quic::endpoint::retry_mode::never;
    s.sources.source_handshakes = s.sources.source_unproven = {0, 1};
    return s;
  }
};

struct quic_ends {
  std::shared_ptr<const tls::server_context> server_context;
  std::shared_ptr<const tls::client_context> client_context;
  crypto::engine client_engine = std::move(*crypto::engine::make());
  crypto::engine server_engine = std::move(*crypto::engine::make());
  mem::packet_pool& packets;
  std::uint16_t room_bytes;
  quic::conn::application* protocol = nullptr;  // of connections that begin from now on, the client's end
  std::unique_ptr<quic::endpoint::quic_endpoint> client, server;
  stats::drop_counters drops;
  std::uint64_t now_ns = start_ns;
  double server_s = 0;           // CPU time of the server's half, where it is measured
  bool measures_server = false;  // costs a system call each time
  std::uint64_t datagrams = 0;

  explicit quic_ends(const quic_wish& wish) : packets(*wish.packets), room_bytes(wish.room_bytes) {
    make_contexts(wish.alpn);
    quic::endpoint::endpoint_keys keys;
    const auto make = [&](crypto::engine& engine) {
      ++keys.cid[0];
      return std::move(
          quic::endpoint::quic_endpoint::make(wish.endpoint, keys, engine, packets, now_ns, epoch_ns).value());
    };
    client = make(client_engine);
    server = make(server_engine);
    server->serve(server_context);
  }

  // `session`: of an earlier connection, to resume it.
  quic::conn::connection* connect(std::uint16_t port, base::byte_view session = {}) {
    quic::endpoint::client_request r;
    const std::uint8_t us[] = {198, 18, 0, 2}, them[] = {198, 18, 0, 1};
    r.address = {{base::ip_address::v4(us), port}, {base::ip_address::v4(them), 443}};
    r.server_name = "localhost";
    r.protocol = protocol;
    r.context = client_context;
    r.session = session;
    r.early_data = false;
    return client->connect(r, now_ns);
  }

  // One burst from one end to the other. Answers how many datagrams.
  std::size_t pass(quic::endpoint::quic_endpoint& from, quic::endpoint::quic_endpoint& to) {
    std::array<buf::packet, burst_pkts> held;
    std::array<quic::conn::datagram_in, burst_pkts> in;
    const bool from_server = &from == server.get();
    const double began = measures_server ? cpu_seconds() : 0;
    std::size_t count = 0;
    for (; count < burst_pkts; ++count) {
      held[count] = buf::packet::alloc(packets);
      const base::byte_span room = held[count].append(room_bytes);
      quic::conn::datagram_out out;
      const std::size_t size = from.poll(room, now_ns, out);
      if (size == 0) break;
      in[count] = {};
      in[count].whole = &held[count];
      in[count].bytes = room.first(size);
      in[count].address = {out.address.remote, out.address.local};
    }
    const double middle = measures_server ? cpu_seconds() : 0;
    if (count != 0) static_cast<void>(to.on_datagrams(std::span(in).first(count), now_ns, drops));
    if (measures_server) server_s += from_server ? middle - began : cpu_seconds() - middle;
    datagrams += count;
    return count;
  }
  std::size_t pass_both() { return pass(*client, *server) + pass(*server, *client); }

  [[nodiscard]] std::uint64_t due_ns() const { return std::min(client->due_ns(), server->due_ns()); }
  // Lets timers run that are due at now_ns.
  void run_timers() {
    if (client->due_ns() <= now_ns) client->on_time(now_ns);
    if (server->due_ns() <= now_ns) server->on_time(now_ns);
  }
  // A burst each way. While nothing is said, time goes on to the next deadline.
  void step() {
    if (pass_both() != 0) return;
    now_ns = std::max(now_ns + 1'000, due_ns());
    client->on_time(now_ns);
    server->on_time(now_ns);
  }
  // The same, and each burst takes a microsecond.
  void step_1us() {
    const bool moved = pass_both() != 0;
    now_ns = moved ? now_ns + 1'000 : std::max(now_ns + 1'000, due_ns());
    run_timers();
  }
  void end() {
    client->close_all(0, now_ns);
    server->close_all(0, now_ns);
    client.reset();
    server.reset();
  }

 private:
  void make_contexts(std::string_view alpn) {
    tls::self_signed_settings pem;
    pem.now_ns = epoch_ns;
    tls::server_settings s;
    s.credentials = tls::server_credentials::self_signed(pem).value();
    s.protocols = {{std::string(alpn), ""}};
    s.offered.suites = {tls::cipher_suite::aes_128_gcm_sha256};
    s.ticket_secret = std::string(32, 't');
    server_context = tls::server_context::make(std::move(s)).value();
    tls::client_settings c;
    c.trust = tls::client_trust::anybody().value();
    c.protocols = {std::string(alpn)};
    c.offered.suites = {tls::cipher_suite::aes_128_gcm_sha256};
    client_context = tls::client_context::make(std::move(c)).value();
  }
};

}  // namespace millrace::bench
