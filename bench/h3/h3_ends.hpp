// bench/h3/h3_ends.hpp - an HTTP/3 client and server over bench::quic_ends, and a client that asks without pause.
//
// Shape    h3_ends e({.handler = &h}); e.asker says what is asked; e.connect(); e.step_until(n) runs until n requests
// are
//          answered. Several of them may be run in turns, so that the moods of the machine meet all alike.
// Units    latencies are TSC cycles as ns, from the request's call to its end.
// Owner    the handler is the caller's and outlives the ends.
#pragma once

#include <rte_cycles.h>

#include <string>

#include "buf/large_block_pool.hpp"
#include "h3/client.hpp"
#include "h3/server.hpp"
#include "stats/latency_histogram.hpp"
#include "support/quic_ends.hpp"

namespace millrace::bench {

inline std::uint64_t tsc_to_ns(std::uint64_t cycles) {
  return static_cast<std::uint64_t>(static_cast<double>(cycles) * 1e9 / static_cast<double>(rte_get_tsc_hz()));
}

inline mem::packet_pool& h3_pool(bool for_answers) {
  static const auto make = [](const char* name) {
    mem::packet_pool_config c;
    c.name = name;
    c.packets = 32'767;
    c.data_room = 2048;
    return mem::packet_pool::make(c);
  };
  static auto received = make("bench_h3_rx");
  static auto answers = make("bench_h3_tx");
  return for_answers ? answers.value() : received.value();
}

// Asks again whenever an answer has come, on each connection as many at a time.
class asking final : public h3::response_observer, public h3::client_events {
 public:
  h3::client* client = nullptr;
  std::string_view method = "GET";
  std::string_view path = "/";
  std::string_view content;  // of a POST
  unsigned streams = 32;
  bool goes_on = true;                     // false: the benchmark calls ask()
  quic::conn::connection* last = nullptr;  // that connected
  bool keeps = false;                      // the last answer's text
  std::string text;
  stats::latency_histogram* whole_ns = nullptr;  // where times are kept; nullptr: nowhere
  stats::latency_histogram* first_ns = nullptr;  // until the first byte of the body
  std::uint64_t done = 0, failed = 0, bytes = 0, now_ns = 0;

  void ask(quic::conn::connection& c) noexcept {
    const std::array<http::field, 5> fields{
        {{":method", method}, {":scheme", "https"}, {":authority", "localhost"}, {":path", path}, {"accept", "*/*"}}};
    http::body body;
    if (!content.empty()) {
      buf::chain copy;
      static_cast<void>(copy.append_copy(base::as_bytes(content), h3_pool(true)));
      body = std::move(copy);
    }
    auto* const began = reinterpret_cast<void*>(static_cast<std::uintptr_t>(rte_rdtsc()));
    static_cast<void>(
        client->request(c, {.fields = fields, .body = std::move(body), .observer = this, .user = began}, now_ns));
  }
  void on_connected(quic::conn::connection& c) noexcept override {
    last = &c;
    for (unsigned i = 0; i < streams; ++i) ask(c);
  }
  void on_streams_available(quic::conn::connection& c) noexcept override {
    while (goes_on && client->open_requests() < client->limits().exchanges && c.open_streams() < streams + 6) {
      const std::uint32_t before = client->open_requests();
      ask(c);
      if (client->open_requests() == before) return;
    }
  }
  void on_response(h3::asked&) noexcept override {
    if (keeps) text.clear();
  }
  void on_body(h3::asked& a) noexcept override {
    if (first_ns != nullptr && (reinterpret_cast<std::uintptr_t>(a.user) & 1) == 0) {
      first_ns->record(age_ns(a));
      a.user = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(a.user) | 1);  // a cycle more or less
    }
    for (base::byte_view v = a.front(); !v.empty(); v = a.front()) {
      if (keeps) text.append(reinterpret_cast<const char*>(v.data()), v.size());
      bytes += v.size();
      a.consume(v.size());
    }
  }
  void on_end(h3::asked& a, h3::request_end e) noexcept override {
    if (whole_ns != nullptr) whole_ns->record(age_ns(a));
    ++(e == h3::request_end::complete ? done : failed);
    if (goes_on && !a.connection().is_closing() && e == h3::request_end::complete) ask(a.connection());
  }

 private:
  static std::uint64_t age_ns(const h3::asked& a) noexcept {
    return tsc_to_ns(rte_rdtsc() - reinterpret_cast<std::uintptr_t>(a.user));
  }
};

struct h3_wish {
  http::exchange_handler* handler = nullptr;
  std::string_view path = "/";
  unsigned streams = 32;
  std::uint32_t pull_bytes = 64u << 10;
};

struct h3_ends : quic_ends {
  asking asker;
  std::unique_ptr<h3::server> server_app;
  std::unique_ptr<h3::client> client_app;

  static quic_wish quic_of() {
    quic_wish w{h3::protocol, &h3_pool(false)};
    w.endpoint.connections = 64;
    w.endpoint.streams = 8192;
    w.endpoint.sent_blocks = 8192;
    w.endpoint.transport.max_datagram_bytes = 1452;
    return w;
  }
  explicit h3_ends(const h3_wish& wish) : quic_ends(quic_of()) {
    h3::settings h;
    h.connections = 64;
    h.pull_bytes = wish.pull_bytes;
    asker.path = wish.path;
    asker.streams = wish.streams;
    server_app = std::move(h3::server::make(h, *wish.handler, h3_pool(true)).value());
    client_app = std::move(h3::client::make(h, h3_pool(true), &asker).value());
    asker.client = client_app.get();
    protocol = client_app.get();
    static_cast<void>(server_app->serve_on(*server));
    static_cast<void>(client_app->use(*client));
  }
  ~h3_ends() { end(); }

  void turn() {
    asker.now_ns = now_ns;
    step_1us();
  }
  void step_until(std::uint64_t done) {
    while (asker.done < done) turn();
  }
  // Until one request that begins now is answered, on the connection that is there.
  void once() {
    asker.ask(*asker.last);
    client->touch(*asker.last);
    step_until(asker.done + 1);
  }
};

}  // namespace millrace::bench
