// app/h3_service.hpp - HTTP/3 on an lcore's QUIC endpoint: the built-in endpoints and static directories behind a
// dispatcher.
//
// Adding   a handler of your own: make it in make() beside the others, and add its routes there (docs/handlers.md).
// Owner    the object; dies behind its endpoint. `pattern` and what http_parts names are the caller's, and outlive it.
// Errors   make(): no memory. Threads  one lcore; counters from anywhere. Tests  test/e2e/h3_test.py
#pragma once

#include "app/quic_config.hpp"
#include "h3/server.hpp"
#include "http/dispatcher.hpp"
#include "pipeline/quic_service.hpp"
#include "service/builtin.hpp"
#include "service/site_handler.hpp"
#include "service/ws_echo.hpp"

namespace millrace::app {

// What answers HTTP on an lcore, whatever version carries it.
struct http_parts {
  service::stats_source* stats = nullptr;  // nullptr: no /stats and no status page
  service::site* site = nullptr;           // nullptr: no directories
  std::size_t lcore = 0;                   // as the site counts
  std::uint64_t drain_ns = 0;              // so long requests that have begun are waited for at a stop
};

class h3_service final : public pipeline::work_under_way {
  // Tells the dispatcher what time it is, by the clock of whoever asks.
  class wall_clock final : public http::request_filter {
   public:
    http::dispatcher* to = nullptr;
    std::int64_t wall_less_clock_ns = 0;  // since 1970, less exchange::now_ns()
    bool on_request(http::exchange& x) noexcept override {
      to->set_time((static_cast<std::int64_t>(x.now_ns()) + wall_less_clock_ns) / 1'000'000'000);
      return true;
    }
  };
  wall_clock clock_;
  std::array<http::request_filter*, 1> before_{&clock_};
  std::unique_ptr<service::builtin> builtin_;
  std::unique_ptr<service::site_handler> site_;  // where there are directories
  std::unique_ptr<service::ws_echo> websocket_;
  http::router routes_;
  std::vector<http::exchange_handler*> handlers_;
  std::unique_ptr<http::dispatcher> dispatcher_;
  std::unique_ptr<h3::server> server_;

 public:
  // `blocks`: what heads and small bodies are written into.
  [[nodiscard]] static base::result<std::unique_ptr<h3_service>> make(const quic::endpoint::endpoint_settings& endpoint,
                                                                      const buf::content& pattern,
                                                                      const buf::mbuf_source& blocks,
                                                                      const http_parts& parts,
                                                                      std::int64_t wall_less_clock_ns);
  // --- pipeline::work_under_way: requests that have begun are answered (RFC 9114 5.2) ---
  void drain(std::uint64_t now_ns) noexcept override { server_->drain(now_ns); }
  [[nodiscard]] bool is_drained() const noexcept override { return server_->open_links() == 0; }

  base::outcome serve_on(quic::endpoint::quic_endpoint& endpoint) { return server_->serve_on(endpoint); }

  [[nodiscard]] const h3::counters& events() const noexcept { return server_->count(); }
  [[nodiscard]] const service::counters& answers() const noexcept { return builtin_->count(); }
  [[nodiscard]] const stats::latency_histogram& latency() const noexcept { return server_->latency(); }
  // From any lcore.
  void list(mem::pool_listing& to) const noexcept {
    server_->list(to);
    builtin_->list(to);
  }
  // nullptr: no directories.
  [[nodiscard]] const service::site_counters* site() const noexcept { return site_ ? &site_->count() : nullptr; }
  [[nodiscard]] const ws::counters& websocket() const noexcept { return websocket_->count(); }
  // What tells of trouble, by kind: "h3_body_too_slow" ...; no zeroes.
  template <class Add>
  void for_each_trouble(Add&& add) const;
};

// EAL memory of one, a little above the truth.
[[nodiscard]] std::size_t expected_h3_bytes(const quic::endpoint::endpoint_settings& endpoint);

template <class Add>
void h3_service::for_each_trouble(Add&& add) const {
  for (std::size_t i = 0; i < h3::event_count; ++i)
    if (const auto e = static_cast<h3::event>(i); h3::is_trouble(e))
      add("h3_" + std::string(h3::to_string(e)), events().get(e));
  if (site_) {
    add("site_not_found", site_->count().not_found.get());
    add("site_not_acceptable", site_->count().not_acceptable.get());
    add("site_not_satisfiable", site_->count().not_satisfiable.get());
  }
  for (std::size_t i = 0; i < ws::event_count; ++i) {
    const auto e = static_cast<ws::event>(i);
    if (ws::is_trouble(e)) add("ws_" + std::string(ws::to_string(e)), websocket_->count().get(e));
  }
}

}  // namespace millrace::app
