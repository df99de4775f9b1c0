// h3/wire/priority.hpp - how urgent a response is, as its client says: the Priority field and PRIORITY_UPDATE.
//
// Shape    parse_priority() reads the field's value, a dictionary of structured fields, in one pass; of it only `u` and
//          `i` mean anything to us.
// Errors   a value that is no dictionary, and members whose values cannot be, say nothing: the defaults stand (RFC 9218
//          4). Nothing here ends a connection.
// Source   RFC 9218 4 5 7, RFC 8941 3.2 4.2. Tests  test/h3/wire/priority_test.cpp
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::h3::wire {

struct priority {
  std::uint8_t urgency = 3;  // 0 first, 7 last (RFC 9218 4.1)
  bool incremental = false;  // RFC 9218 4.2
  friend bool operator==(const priority&, const priority&) = default;
};

[[nodiscard]] priority parse_priority(std::string_view value) noexcept;

}  // namespace millrace::h3::wire
