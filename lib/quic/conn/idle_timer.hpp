// quic/conn/idle_timer.hpp - when silence ends a connection, and what keeps it alive.
//
// Shape    the timeout is the smaller of what both sides declared (0: none), and never less than three PTOs. It begins
//          anew with each packet that was received and processed, and with the first ack-eliciting packet sent after
//          one (RFC 9000 10.1): what is sent into silence keeps nothing alive.
//          Keep-alive: a PING is due after `keep_alive_ns` without a packet in either direction, at most half the
//          timeout; a second follows only when the first was answered.
// Units    ns; the parameters are in ms, as on the wire. never_ns: no such time.
// Source   RFC 9000 10.1, 10.1.2. Tests  test/quic/conn/idle_timer_test.cpp
#pragma once

#include <algorithm>

#include "quic/recovery/types.hpp"

namespace millrace::quic::conn {

struct idle_config {
  std::uint64_t timeout_ms = 30'000;  // our max_idle_timeout; 0: none
  std::uint64_t keep_alive_ns = 0;    // 0: we do not keep connections alive
};

class idle_timer {
  idle_config config_;
  std::uint64_t timeout_ns_;  // of both; never_ns: none
  std::uint64_t since_ns_;    // when it began last
  bool sent_since_ = false;   // an ack-eliciting packet, since one was received

 public:
  explicit idle_timer(std::uint64_t now_ns, const idle_config& config = {}) noexcept;

  // The peer's max_idle_timeout; 0: it has none.
  void set_peer_timeout(std::uint64_t timeout_ms) noexcept;

  void on_received(std::uint64_t now_ns) noexcept;
  void on_sent_eliciting(std::uint64_t now_ns) noexcept;

  [[nodiscard]] std::uint64_t timeout_ns() const noexcept { return timeout_ns_; }
  // RFC 9000 10.1: three PTOs at least, so that several may be lost. `pto_ns`: the current one.
  [[nodiscard]] std::uint64_t deadline_ns(std::uint64_t pto_ns) const noexcept;
  // When a PING is due; never_ns while one is under way, or when there is no keep-alive.
  [[nodiscard]] std::uint64_t keep_alive_ns() const noexcept;
  [[nodiscard]] bool is_expired(std::uint64_t now_ns, std::uint64_t pto_ns) const noexcept {
    return deadline_ns(pto_ns) <= now_ns;
  }
};

}  // namespace millrace::quic::conn
