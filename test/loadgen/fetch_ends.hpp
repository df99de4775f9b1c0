// test/loadgen/fetch_ends.hpp - a load that fetches bodies and the server that has them, each in a loop of its own
// across crossed rings, on one thread: real packets, real handshakes, the machine's clock.
//
// Shape    what derives has the server's application and the load: make() gets both, end() is called by its destructor.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <optional>

#include "crypto/random.hpp"
#include "loadgen/fetch_load.hpp"
#include "loadgen/two_ends.hpp"
#include "pipeline/impairment.hpp"
#include "tls/context.hpp"

namespace millrace::loadgen {

using quic::conn::event;
using test_support::host_of;

inline constexpr std::uint16_t quic_port = 443;
inline constexpr std::uint64_t ms = 1'000'000;

inline std::int64_t wall_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

inline std::shared_ptr<const tls::server_credentials> credentials() {
  static const auto made = tls::server_credentials::self_signed({.now_ns = wall_now_ns()}).value();
  return made;
}

inline std::shared_ptr<const tls::client_context> client_context(std::string_view protocol,
                                                                 const std::string& pin = "") {
  tls::client_settings s;
  s.trust = pin.empty() ? tls::client_trust::anybody().value() : tls::client_trust::pinned(pin).value();
  s.protocols = {std::string(protocol)};
  return tls::client_context::make(std::move(s)).value();
}

inline fetch_settings bodies_over(std::string_view protocol, std::uint64_t bytes) {
  fetch_settings s;
  s.target = {base::ip_address::parse("198.18.0.1").value(), quic_port};
  s.server_name = "localhost";
  s.path = "/bytes/" + std::to_string(bytes);
  s.expected_bytes = bytes;
  s.checks_pattern = bytes != 0;
  s.patience_ns = 5'000 * ms;
  s.tls = client_context(protocol);
  return s;
}

struct serving {
  std::span<const quic::wire::version_number> versions = quic::conn::transport_settings::default_versions;
  bool early_data = true;
  quic::endpoint::retry_mode retry = quic::endpoint::retry_mode::never;
};

class fetch_ends {
  static inline unsigned made_ = 0;
  serving serving_;

 public:
  test::checked_pool pool{16383};
  port::crossed_rings cable = std::move(port::crossed_rings::make("fetch" + std::to_string(made_++), 1, 4096).value());
  std::deque<port::port> ports;
  crypto::engine engine = std::move(*crypto::engine::make());
  std::shared_ptr<tls::anti_replay> replay =
      std::make_shared<tls::anti_replay>(tls::anti_replay_limits{}, wall_now_ns());
  std::unique_ptr<quic::endpoint::quic_endpoint> endpoint;  // the server's
  std::optional<pipeline::quic_service> service;
  std::optional<pipeline::impairment> to_client;
  std::unique_ptr<pipeline::service_loop> server, client;
  std::unique_ptr<fetch_load> load;
  mem::heap_tally heap;

  using make_load = std::function<base::result<std::unique_ptr<fetch_load>>(const fetch_settings&, mem::packet_pool&)>;
  using add_application = std::function<void(quic::endpoint::quic_endpoint&, mem::packet_pool&)>;

  explicit fetch_ends(const serving& how) : serving_(how) {}
  void make(fetch_settings settings, std::string_view protocol, const add_application& add, const make_load& with) {
    for (const std::uint16_t id : {cable.first(), cable.second()}) {
      auto plan = port::make_plan({&port::read_facts(id).value(), 1}, {});
      auto opened = port::port::open(plan.value().ports[0], *pool);
      EXPECT_TRUE(opened && opened.value().start());
      ports.push_back(std::move(opened.value()));
    }
    make_server(protocol);
    add(*endpoint, *pool);
    const pipeline::loop_interface at_server{.port = cable.first(), .host = host_of(1)};
    const pipeline::loop_interface at_client{.port = cable.second(), .host = host_of(2)};
    const pipeline::loop_settings loops{.idle = pipeline::idle_policy::poll};
    server = std::move(pipeline::service_loop::make(loops, {&at_server, 1}, *pool).value());
    client = std::move(pipeline::service_loop::make(loops, {&at_client, 1}, *pool).value());
    EXPECT_TRUE(server->open(quic_port, *service));
    settings.endpoint.transport.max_udp_payload = 1900;
    static_cast<void>(fit(settings));
    auto made = with(settings, *pool);
    EXPECT_TRUE(made) << (made ? "" : made.error().what);
    load = std::move(made.value());
    EXPECT_TRUE(load->open_on(*client));
  }
  void end() {
    server.reset();
    client.reset();
    load.reset();
    service.reset();
    endpoint.reset();
    buf::burst left;
    for (const port::port& p : ports)
      while (port::rx_burst(p.id(), 0, left, 32) != 0) left.free_all();
    ports.clear();
  }

  // Both ends by turns, until the client is done, `until` says so, or 30 seconds are over.
  template <class Until>
  bool run_until(Until&& until, bool with_server = true) {
    const mem::heap_watch watched(heap);
    const env::tsc_clock clock;
    const std::uint64_t end = clock.now_ns() + 30'000 * ms;
    while (!load->is_done() && !until() && clock.now_ns() < end) {
      client->turn();
      if (with_server) server->turn();
    }
    return load->is_done();
  }
  bool run() {
    return run_until([] { return false; });
  }

  void expect_balance() {
    server->finish();  // closes what is left, which the client hears
    client->finish();
    EXPECT_TRUE(client->total().is_conserved());
    EXPECT_TRUE(server->total().is_conserved());
    if (mem::heap_counter_present()) {
      EXPECT_EQ(heap.calls.get(), 0u) << "outside of handshakes";
      EXPECT_GT(load->endpoint().handshake_heap_calls(), 0u);
    }
    const fetch_figures f = load->figures();
    EXPECT_EQ(f.begun, f.whole + f.short_bodies + f.failed);
    EXPECT_EQ(f.in_flight, 0u);
    // Closed connections are remembered for three PTO; then nothing is lent.
    const env::tsc_clock clock;
    const std::uint64_t end = clock.now_ns() + 10'000 * ms;
    while (!(load->is_whole() && endpoint->is_whole()) && clock.now_ns() < end) {
      client->turn();
      server->turn();
    }
    EXPECT_TRUE(load->is_whole());
    EXPECT_TRUE(endpoint->is_whole());
  }

 private:
  void make_server(std::string_view protocol) {
    quic::endpoint::endpoint_settings s;
    s.connections = 512;
    s.handshakes = 512;
    s.streams = 2048;
    s.sent_blocks = 4096;
    s.pieces = 4096;
    s.source_slots = 64;
    s.sources.source_unproven = s.sources.source_handshakes = {0, 1};
    s.sources.retry = serving_.retry;
    s.sources.retry_above = s.sources.accept_below = s.sources.most_half_open = 512;
    s.transport.versions = serving_.versions;
    s.transport.max_udp_payload = 1900;
    quic::endpoint::endpoint_keys keys;
    EXPECT_TRUE(crypto::random_bytes(keys.cid) && crypto::random_bytes(keys.reset) && crypto::random_bytes(keys.token));
    endpoint = std::move(
        quic::endpoint::quic_endpoint::make(s, keys, engine, *pool, env::tsc_clock{}.now_ns(), wall_now_ns()).value());
    tls::server_settings t;
    t.credentials = credentials();
    t.protocols = {{std::string(protocol), "test"}};
    if (serving_.early_data) t.early_data = replay;
    endpoint->serve(tls::server_context::make(std::move(t)).value());
    service.emplace(*endpoint, *pool);
  }
};

}  // namespace millrace::loadgen
