// app/h3_service.hpp - HTTP/3 on an lcore's QUIC endpoint: the built-in endpoints behind a dispatcher.
//
// Owner    the object; dies behind its endpoint. `stats` and `pattern` are the caller's, and outlive it.
// Errors   make(): no memory. Threads  one lcore; counters from anywhere. Tests  test/e2e/h3_test.py
#pragma once

#include "app/quic_config.hpp"
#include "h3/server.hpp"
#include "http/dispatcher.hpp"
#include "service/builtin.hpp"

namespace millrace::app {

class h3_service {
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
  http::router routes_;
  std::vector<http::exchange_handler*> handlers_;
  std::unique_ptr<http::dispatcher> dispatcher_;
  std::unique_ptr<h3::server> server_;

 public:
  // `blocks`: what heads and small bodies are written into.
  [[nodiscard]] static base::result<std::unique_ptr<h3_service>> make(const quic::endpoint::endpoint_settings& endpoint,
                                                                      const buf::content& pattern,
                                                                      const buf::mbuf_source& blocks,
                                                                      service::stats_source* stats,
                                                                      std::int64_t wall_less_clock_ns);
  base::outcome serve_on(quic::endpoint::quic_endpoint& endpoint) { return server_->serve_on(endpoint); }

  [[nodiscard]] const h3::counters& events() const noexcept { return server_->count(); }
  [[nodiscard]] const service::counters& answers() const noexcept { return builtin_->count(); }
  [[nodiscard]] const stats::latency_histogram& latency() const noexcept { return server_->latency(); }
  // From any lcore.
  void list(mem::pool_listing& to) const noexcept {
    server_->list(to);
    builtin_->list(to);
  }
};

// EAL memory of one, a little above the truth.
[[nodiscard]] std::size_t expected_h3_bytes(const quic::endpoint::endpoint_settings& endpoint);

}  // namespace millrace::app
