// quic/stream/recv_state.hpp - the receiving part of a stream, as a table.
//
//   recv --FIN--> size_known --all data--> data_recvd --read--> data_read
//     |               |                        :
//     +--- reset -----+------ reset -----------+--> reset_recvd --read--> reset_read
//
// Choice   RFC 9000 3.2 lets a reset that comes in data_recvd be ignored: all of the data is there, and it is
//          delivered.
// Source   RFC 9000 3.2. Tests  test/quic/stream/state_test.cpp: every pair, and the graph in docs/rfc/recv_state.dot
#pragma once

#include <cstdint>
#include <optional>

namespace millrace::quic::stream {

enum class recv_state : std::uint8_t { recv, size_known, data_recvd, data_read, reset_recvd, reset_read };
enum class recv_event : std::uint8_t {
  fin,         // the final size is known from a STREAM frame
  all_data,    // and every byte below it is there
  read_all,    // the application has taken them all
  reset,       // RESET_STREAM came
  read_reset,  // the application was told
};
inline constexpr unsigned recv_states = 6;
inline constexpr unsigned recv_events = 5;

// nullopt: no transition; events that come again (a FIN, a reset) are ignored by the caller.
[[nodiscard]] constexpr std::optional<recv_state> next(recv_state s, recv_event e) noexcept {
  switch (s) {
    case recv_state::recv:
      switch (e) {
        case recv_event::fin:
          return recv_state::size_known;
        case recv_event::reset:
          return recv_state::reset_recvd;
        case recv_event::all_data:
        case recv_event::read_all:
        case recv_event::read_reset:
          return std::nullopt;
      }
      break;
    case recv_state::size_known:
      switch (e) {
        case recv_event::all_data:
          return recv_state::data_recvd;
        case recv_event::reset:
          return recv_state::reset_recvd;
        case recv_event::fin:
        case recv_event::read_all:
        case recv_event::read_reset:
          return std::nullopt;
      }
      break;
    case recv_state::data_recvd:
      switch (e) {
        case recv_event::read_all:
          return recv_state::data_read;
        case recv_event::fin:
        case recv_event::all_data:
        case recv_event::reset:
        case recv_event::read_reset:
          return std::nullopt;
      }
      break;
    case recv_state::reset_recvd:
      switch (e) {
        case recv_event::read_reset:
          return recv_state::reset_read;
        case recv_event::fin:
        case recv_event::all_data:
        case recv_event::read_all:
        case recv_event::reset:
          return std::nullopt;
      }
      break;
    case recv_state::data_read:
    case recv_state::reset_read:
      return std::nullopt;  // final
  }
  return std::nullopt;
}

[[nodiscard]] constexpr bool is_final(recv_state s) noexcept {
  return s == recv_state::data_read || s == recv_state::reset_read;
}

}  // namespace millrace::quic::stream
