// quic/stream/send_state.hpp - the sending part of a stream, as a table.
//
//   ready --first byte, blocked--> send --FIN sent--> data_sent --all acknowledged--> data_recvd
//     |                              |                    |
//     +------------ reset -----------+------- reset ------+--> reset_sent --reset acknowledged--> reset_recvd
//
// Source   RFC 9000 3.1. Tests  test/quic/stream/state_test.cpp: every pair, and the graph in docs/rfc/send_state.dot
#pragma once

#include <cstdint>
#include <optional>

namespace millrace::quic::stream {

enum class send_state : std::uint8_t { ready, send, data_sent, data_recvd, reset_sent, reset_recvd };
enum class send_event : std::uint8_t {
  data,         // a STREAM or STREAM_DATA_BLOCKED frame leaves, without FIN
  fin,          // a STREAM frame with FIN leaves
  all_acked,    // every byte and the FIN are acknowledged
  reset,        // RESET_STREAM leaves: the application's wish, or the peer's STOP_SENDING
  reset_acked,  // that is acknowledged
};
inline constexpr unsigned send_states = 6;
inline constexpr unsigned send_events = 5;

// nullopt: not possible in this state; the caller ignores it or it is our own bug.
[[nodiscard]] constexpr std::optional<send_state> next(send_state s, send_event e) noexcept {
  switch (s) {
    case send_state::ready:
    case send_state::send:
      switch (e) {
        case send_event::data:
          return send_state::send;
        case send_event::fin:
          return send_state::data_sent;
        case send_event::reset:
          return send_state::reset_sent;
        case send_event::all_acked:
        case send_event::reset_acked:
          return std::nullopt;
      }
      break;
    case send_state::data_sent:
      switch (e) {
        case send_event::data:  // again, after a loss
        case send_event::fin:
          return send_state::data_sent;
        case send_event::all_acked:
          return send_state::data_recvd;
        case send_event::reset:
          return send_state::reset_sent;
        case send_event::reset_acked:
          return std::nullopt;
      }
      break;
    case send_state::reset_sent:
      switch (e) {
        case send_event::reset:
          return send_state::reset_sent;  // again, after a loss
        case send_event::reset_acked:
          return send_state::reset_recvd;
        case send_event::data:
        case send_event::fin:
        case send_event::all_acked:
          return std::nullopt;
      }
      break;
    case send_state::data_recvd:
    case send_state::reset_recvd:
      return std::nullopt;  // final
  }
  return std::nullopt;
}

[[nodiscard]] constexpr bool is_final(send_state s) noexcept {
  return s == send_state::data_recvd || s == send_state::reset_recvd;
}

}  // namespace millrace::quic::stream
