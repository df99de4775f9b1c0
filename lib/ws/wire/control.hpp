// ws/wire/control.hpp - what Close, Ping and Pong carry, and what is answered to them.
//
// Shape    parse_close() reads a Close frame's payload; emit_control() writes a whole control frame. The answers to a
//          ping and to a close are control frames: the ping's payload in a pong, the close's code in a close.
// Units    bytes. Room of max_control_frame always suffices.
// Owner    nothing; a reason is a view into the payload.
// Errors   close_errc; emit_control() and emit_close() answer 0, and write nothing, when a rule would be broken.
// Source   RFC 6455 5.5, 7.1.5, 7.4     Tests  test/ws/wire/close_test.cpp (vectors W5-W8)
#pragma once

#include "ws/wire/frame_header.hpp"

namespace millrace::ws::wire {

inline constexpr std::size_t max_control_frame = 2 + 4 + max_control_payload;
inline constexpr std::size_t max_close_reason = max_control_payload - 2;

enum class close_errc : std::uint8_t {
  ok,
  one_byte,          // RFC 6455 5.5.1: a body begins with two bytes of code
  code_not_on_wire,  // RFC 6455 7.4: reserved, or outside every range
  reason_not_utf8,   // RFC 6455 5.5.1
};

// 1007 for the reason, 1002 for the others.
[[nodiscard]] constexpr close_code close_code_of(close_errc code) noexcept {
  return code == close_errc::reason_not_utf8 ? close_code::invalid_payload : close_code::protocol_error;
}

struct close_body {
  std::uint16_t code = 0;  // 0 when the peer gave none; RFC 6455 7.1.5 reports that as 1005, which is never sent
  base::byte_view reason;
};

// `payload` is unmasked. `out` is written when ok.
[[nodiscard]] close_errc parse_close(base::byte_view payload, close_body& out) noexcept;

// A whole control frame. A client gives the key, a server none.
struct control_mask {
  bool is_masked = false;
  std::uint32_t key = 0;
};
[[nodiscard]] std::size_t emit_control(base::byte_span out, opcode op, base::byte_view payload,
                                       control_mask mask = {}) noexcept;

// A Close frame; code 0 is one without a body, which then has no reason either. Refused: a code that is not for the
// wire, a reason that is too long or not UTF-8.
[[nodiscard]] std::size_t emit_close(base::byte_span out, std::uint16_t code, base::byte_view reason,
                                     control_mask mask = {}) noexcept;

}  // namespace millrace::ws::wire
