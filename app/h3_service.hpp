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
  // What tells of trouble, by kind: "h3_body_too_slow" ...; no zeroes.
  template <class Add>
  void for_each_trouble(Add&& add) const;
};

// EAL memory of one, a little above the truth.
[[nodiscard]] std::size_t expected_h3_bytes(const quic::endpoint::endpoint_settings& endpoint);

template <class Add>
void h3_service::for_each_trouble(Add&& add) const {
  // What is before `rejected` is work done.
  for (std::size_t i = 0; i < h3::event_count; ++i) {
    const auto e = static_cast<h3::event>(i);
    switch (e) {
      case h3::event::connections:
      case h3::event::requests:
      case h3::event::early_requests:
      case h3::event::heads:
      case h3::event::completed:
      case h3::event::blocked:
      case h3::event::starved:
      case h3::event::frames_skipped:
      case h3::event::streams_ignored:
      case h3::event::priority_updates:
      case h3::event::goaways:
        break;
      default:
        add("h3_" + std::string(h3::to_string(e)), server_->count().get(e));
    }
  }
}

}  // namespace millrace::app
