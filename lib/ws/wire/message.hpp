// ws/wire/message.hpp - which frame may follow which, and how they make up a message.
//
//             text/binary, not FIN                     continuation, not FIN
//   +------+ ----------------------> +-------------+ --------------------.
//   | idle |                         | in message  |                     |
//   +------+ <---------------------- +-------------+ <-------------------'
//     |  ^    continuation, FIN
//     '--'  text/binary, FIN         control frames leave the state as it is, wherever they come
//
// Shape    on_header() is asked about every frame in order; on_text() about each piece of its unmasked payload while
//          is_text(); on_frame_end() when the payload is all there.
// Units    bytes; size() counts the payload of the message so far, headers apart.
// Limits   a message longer than max_message is refused at the header that makes it so, before its payload comes.
// Owner    nothing. Errors  message_errc; after one of them the connection fails, and nothing more is asked.
// Source   RFC 6455 5.4, 5.6, 8.1, 10.4     Tests  test/ws/wire/message_test.cpp (vector W9)
#pragma once

#include "ws/wire/frame_header.hpp"
#include "ws/wire/utf8.hpp"

namespace millrace::ws::wire {

inline constexpr std::uint64_t default_max_message = 16u << 20;

enum class message_errc : std::uint8_t {
  ok,
  orphan_continuation,  // RFC 6455 5.4: a continuation of nothing
  interleaved_message,  // RFC 6455 5.4: a message begins inside another
  message_too_large,    // above max_message
  text_not_utf8,        // RFC 6455 8.1
};

[[nodiscard]] constexpr close_code close_code_of(message_errc code) noexcept {
  switch (code) {
    case message_errc::message_too_large:
      return close_code::too_big;
    case message_errc::text_not_utf8:
      return close_code::invalid_payload;
    case message_errc::ok:
    case message_errc::orphan_continuation:
    case message_errc::interleaved_message:
      break;
  }
  return close_code::protocol_error;
}

class message_rules {
  std::uint64_t max_message_ = default_max_message;
  std::uint64_t size_ = 0;
  utf8_validator text_;
  opcode op_ = opcode::continuation;  // of the message; continuation: none is open
  bool ends_ = false;                 // with the frame on the way

 public:
  message_rules() noexcept = default;
  explicit message_rules(std::uint64_t max_message) noexcept : max_message_(max_message) {}

  [[nodiscard]] message_errc on_header(const frame_header& header) noexcept {
    if (is_control(header.op)) return message_errc::ok;
    if (header.op == opcode::continuation) {
      if (op_ == opcode::continuation) return message_errc::orphan_continuation;
    } else {
      if (op_ != opcode::continuation) return message_errc::interleaved_message;
      op_ = header.op;
      size_ = 0;
      text_.reset();
    }
    if (header.payload_size > max_message_ - size_) return message_errc::message_too_large;
    size_ += header.payload_size;
    ends_ = header.fin;
    return message_errc::ok;
  }

  // A piece of a data frame's payload, unmasked. Only needed while is_text().
  [[nodiscard]] message_errc on_text(base::byte_view piece) noexcept {
    return text_.on_bytes(piece) ? message_errc::ok : message_errc::text_not_utf8;
  }

  // Behind the last byte of a data frame; `ended` says whether the message ended with it.
  [[nodiscard]] message_errc on_frame_end(bool& ended) noexcept {
    ended = ends_;
    if (!ends_) return message_errc::ok;
    const bool is_cut = is_text() && !text_.is_complete();
    op_ = opcode::continuation;
    return is_cut ? message_errc::text_not_utf8 : message_errc::ok;
  }

  [[nodiscard]] bool is_open() const noexcept { return op_ != opcode::continuation; }
  // Of the message that is open.
  [[nodiscard]] opcode op() const noexcept { return op_; }
  [[nodiscard]] bool is_text() const noexcept { return op_ == opcode::text; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
};

}  // namespace millrace::ws::wire
