// srmp/wire/opening.hpp - one port, three protocols: what the first bytes of a TCP connection are.
//
// Shape    feed the stream's bytes in order until the answer is not `undecided`; it then stays what it is, whatever
//          arrives later. Nothing is consumed: the chosen protocol reads from the first byte.
// Rules    a method token of RFC 9110 9 (or the preface of HTTP/2) and a blank: HTTP. A GET is watched to the end of
//          its head: with an "Upgrade" field that names websocket and a "Sec-WebSocket-Key" it is WebSocket. All else:
//          SRMP.
// Why      no frame of SRMP is lost to this: a token read as a header is a one-way message of more than 8,000 bytes,
//          which no known peer opens with; and no proper prefix of a token is a whole frame.
// Limits   a GET whose head is longer than max_opening_head is HTTP, whose own limits then apply. No byte is kept or
//          seen twice; the work is linear.
// Owner    nothing. Errors  none: any bytes are one of the three.
// Tests    test/srmp/wire/opening_test.cpp (vector S22, R1, R18), test/fuzz/srmp_stream_fuzz.cpp
#pragma once

#include "base/bytes.hpp"

namespace millrace::srmp::wire {

enum class opening_kind : std::uint8_t { undecided, srmp, http, websocket };

[[nodiscard]] constexpr std::string_view to_string(opening_kind kind) noexcept {
  switch (kind) {
    case opening_kind::undecided:
      return "undecided";
    case opening_kind::srmp:
      return "srmp";
    case opening_kind::http:
      return "http";
    case opening_kind::websocket:
      return "websocket";
  }
  return "unknown";
}

inline constexpr std::size_t max_opening_head = 8192;  // bytes of a GET looked at for an upgrade
inline constexpr std::size_t longest_method = 8;       // with its blank: "OPTIONS ", "CONNECT "

class opening {
  enum class where : std::uint8_t { method, request_line, line_start, name, value, skip_line, value_other };

  opening_kind kind_ = opening_kind::undecided;
  where where_ = where::method;
  bool has_upgrade_ = false;
  bool has_key_ = false;
  bool is_upgrade_field_ = false;
  std::uint8_t matched_ = 0;  // bytes of the field name, or of the word "websocket", matched so far
  std::uint8_t names_ = 0;    // bit set of the field names still possible
  std::uint8_t size_ = 0;     // bytes in start_
  std::uint16_t seen_ = 0;
  std::uint8_t start_[longest_method] = {};

  void on_method_byte(std::uint8_t byte) noexcept;
  void on_head_byte(std::uint8_t byte) noexcept;
  void on_name_byte(std::uint8_t byte) noexcept;
  void on_value_byte(std::uint8_t byte) noexcept;

 public:
  // The next bytes of the stream. Answers kind().
  opening_kind on_bytes(base::byte_view in) noexcept;
  // No more bytes will come: what is undecided is then SRMP if no method was read, else HTTP.
  opening_kind on_end() noexcept;
  [[nodiscard]] opening_kind kind() const noexcept { return kind_; }
};

}  // namespace millrace::srmp::wire
