// ws/wire/close_code.hpp - why a WebSocket connection ends, as the number in a Close frame.
//
// Shape    the codes that this stack sends or names; may_be_sent() judges any number a peer sends.
// Owner    nothing. Errors  none.
// Source   RFC 6455 7.4.1, 7.4.2, 11.7 and the registry of its codes     Tests  test/ws/wire/close_test.cpp
#pragma once

#include <cstdint>

namespace millrace::ws::wire {

enum class close_code : std::uint16_t {
  none = 0,  // not on the wire: a Close frame without a code
  normal = 1000,
  going_away = 1001,
  protocol_error = 1002,
  unsupported_data = 1003,
  invalid_payload = 1007,  // text that is not UTF-8
  policy_violation = 1008,
  too_big = 1009,
  internal_error = 1011,
};

// RFC 6455 7.4.1: 1004 has no meaning; 1005, 1006 and 1015 are for reports and never on the wire. 1012 to 1014 came
// into the registry later. RFC 6455 7.4.2: 3000 to 4999 belong to libraries and applications; the rest is reserved.
[[nodiscard]] constexpr bool may_be_sent(std::uint16_t code) noexcept {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

}  // namespace millrace::ws::wire
