// quic/conn/close_state.hpp - the end of a connection: closing, draining, gone.
//
//              we close                peer's CONNECTION_CLOSE
//      open -------------> closing -----------------------------> draining
//       |                     |        stateless reset               |
//       |------ peer's CONNECTION_CLOSE, stateless reset ----------->|
//       |                     | 3 PTO                                | 3 PTO
//       `--- idle, discard ---'-----------------> closed <-----------'
//
// Shape    on_local_close() and so on move it; while closing, on_packet() says whether the CONNECTION_CLOSE is sent
//          again: for the 1st, 2nd, 4th, 8th ... packet that comes, so that two of a kind do not talk for ever (RFC
//          9000 10.2.1). Draining sends nothing at all. deadline_ns() is when the connection may be forgotten.
// Errors   events that a state does not know are ignored and leave the deadline as it was.
// Units    ns. Source  RFC 9000 10.2, 10.3. Tests  test/quic/conn/close_state_test.cpp
#pragma once

#include <optional>

#include "quic/recovery/types.hpp"

namespace millrace::quic::conn {

enum class close_phase : std::uint8_t { open, closing, draining, closed };
enum class close_event : std::uint8_t { local_close, peer_close, stateless_reset, timeout, discard };

// RFC 9000 10.2; nullopt: ignored. `timeout` is the end of the three PTOs; `discard` an idle timeout, or that nobody
// could be told (10.1, 9.3.2).
[[nodiscard]] constexpr std::optional<close_phase> next(close_phase phase, close_event event) noexcept {
  switch (phase) {
    case close_phase::open:
      switch (event) {
        case close_event::local_close:
          return close_phase::closing;
        case close_event::peer_close:
        case close_event::stateless_reset:
          return close_phase::draining;
        case close_event::discard:
          return close_phase::closed;
        case close_event::timeout:
          return std::nullopt;
      }
      break;
    case close_phase::closing:
      switch (event) {
        case close_event::peer_close:
        case close_event::stateless_reset:
          return close_phase::draining;
        case close_event::timeout:
        case close_event::discard:
          return close_phase::closed;
        case close_event::local_close:
          return std::nullopt;
      }
      break;
    case close_phase::draining:
      switch (event) {
        case close_event::timeout:
        case close_event::discard:
          return close_phase::closed;
        case close_event::local_close:
        case close_event::peer_close:
        case close_event::stateless_reset:
          return std::nullopt;
      }
      break;
    case close_phase::closed:
      break;
  }
  return std::nullopt;
}

class close_state {
  std::uint64_t deadline_ns_ = recovery::never_ns;
  std::uint64_t packets_ = 0;    // that came while closing
  std::uint64_t answer_at_ = 1;  // the count that is answered next
  std::uint64_t unanswered_ = 0;
  close_phase phase_ = close_phase::open;

 public:
  static constexpr std::uint64_t ptos = 3;  // RFC 9000 10.2

  // Each answers whether the phase changed. `pto_ns`: the current one, with the peer's max_ack_delay. After
  // on_local_close() answered true, one CONNECTION_CLOSE is sent at once.
  bool on_local_close(std::uint64_t now_ns, std::uint64_t pto_ns) noexcept;
  bool on_peer_close(std::uint64_t now_ns, std::uint64_t pto_ns) noexcept;
  bool on_stateless_reset(std::uint64_t now_ns, std::uint64_t pto_ns) noexcept;
  bool on_timeout(std::uint64_t now_ns) noexcept;  // nothing before deadline_ns()
  bool discard() noexcept;

  // A datagram for this connection came: is CONNECTION_CLOSE sent again? Only while closing.
  [[nodiscard]] bool on_packet() noexcept;

  [[nodiscard]] close_phase phase() const noexcept { return phase_; }
  [[nodiscard]] bool is_open() const noexcept { return phase_ == close_phase::open; }
  [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return deadline_ns_; }
  [[nodiscard]] std::uint64_t unanswered() const noexcept { return unanswered_; }  // packets that got no answer

 private:
  bool enter(close_event event, std::uint64_t now_ns, std::uint64_t pto_ns) noexcept;
};

}  // namespace millrace::quic::conn
