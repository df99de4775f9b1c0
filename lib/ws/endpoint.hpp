// ws/endpoint.hpp - where WebSocket sessions are opened: an exchange handler that makes a tunnel a session.
//
// Shape    make(), then a route of method CONNECT to it (RFC 9220). One endpoint an lcore and path; all its sessions
//          have one message_handler.
// Answers  200 and a session; 501 to another :protocol, 400 with Sec-WebSocket-Version: 13 to another version (426
//          needs Upgrade, which HTTP/3 has not), 425 to an opening in 0-RTT, which may be a repetition; 503 when all
//          sessions are in use; what the handler says. No extension and no subprotocol is chosen. The key is not looked
//          at: an extended CONNECT proves what key and accept value prove (RFC 8441 5).
// Owner    sessions are objects of a pool; the handler is the caller's and outlives the endpoint, which outlives its
//          exchanges. Errors  make(): no memory.
// Threads  one lcore; counters from anywhere. Source  RFC 9220 3, RFC 8441 5, RFC 6455 4.2 4.4, RFC 8470 5.2.
// Tests    test/ws/session_test.cpp
#pragma once

#include <memory>

#include "mem/object_pool.hpp"
#include "ws/counters.hpp"
#include "ws/session.hpp"
#include "ws/settings.hpp"

namespace millrace::ws {

class endpoint final : public http::exchange_handler {
  settings settings_;
  message_handler& to_;
  mem::object_pool<session> sessions_;
  counters count_;
  std::uint64_t gathered_ = 0;  // bytes of messages that are not whole, of all sessions

  endpoint(const settings& s, message_handler& to, mem::object_pool<session> sessions) noexcept
      : settings_(s), to_(to), sessions_(std::move(sessions)) {}

 public:
  [[nodiscard]] static base::result<std::unique_ptr<endpoint>> make(const settings& s, message_handler& to);

  void on_request(http::exchange& x) noexcept override;
  void on_body(http::exchange& x) noexcept override;
  void on_body_end(http::exchange& x, std::span<const http::field>) noexcept override;
  void on_writable(http::exchange& x) noexcept override;
  void on_end(http::exchange& x, http::exchange_end) noexcept override;

  [[nodiscard]] const counters& count() const noexcept { return count_; }
  [[nodiscard]] std::uint32_t open_sessions() const noexcept { return sessions_.in_use(); }
  // Bytes of messages that are not whole yet, of all sessions.
  [[nodiscard]] std::uint64_t gathered_bytes() const noexcept { return gathered_; }
  [[nodiscard]] bool is_whole() noexcept { return sessions_.is_whole(); }

 private:
  friend class session;
  void refuse(http::exchange& x, http::wire::status_code status, event why) noexcept;
};

}  // namespace millrace::ws
