// service/ws_echo.hpp - CONNECT /ws: every message goes back to whoever sent it (RFC 9220).
//
// Shape    make(); route_at() goes into a router, its handler into a dispatcher that names "websocket" among its
//          protocols. The shortest ws::message_handler there is. One object an lcore.
// Flow     a peer that does not take its messages is not read from (ws/session.hpp).
// Owner    the object. Errors  make(): no memory. Threads  one lcore; counters from anywhere.
// Tests    test/h3/websocket_test.cpp, test/e2e/browser_test.py
#pragma once

#include "service/builtin.hpp"
#include "ws/endpoint.hpp"

namespace millrace::service {

inline constexpr std::string_view websocket_protocol = "websocket";

class ws_echo final : public ws::message_handler {
  std::unique_ptr<ws::endpoint> endpoint_;

 public:
  [[nodiscard]] static base::result<std::unique_ptr<ws_echo>> make(const ws::settings& s) {
    auto made = std::make_unique<ws_echo>();
    auto endpoint = ws::endpoint::make(s, *made);
    if (!endpoint) return endpoint.error();
    made->endpoint_ = std::move(endpoint.value());
    return made;
  }

  void on_message(ws::session& s, ws::message_kind kind, buf::chain&& whole) noexcept override {
    static_cast<void>(s.send(kind, std::move(whole)));  // paused: the session reads no further until it can send
  }

  [[nodiscard]] route route_at(std::string_view path) noexcept {
    return {http::wire::method::connect, path, endpoint_.get()};
  }
  [[nodiscard]] const ws::counters& count() const noexcept { return endpoint_->count(); }
  [[nodiscard]] std::uint32_t open_sessions() const noexcept { return endpoint_->open_sessions(); }
  // Every pool has back what it lent.
  [[nodiscard]] bool is_whole() noexcept { return endpoint_->is_whole(); }
};

}  // namespace millrace::service
