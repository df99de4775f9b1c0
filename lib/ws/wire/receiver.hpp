// ws/wire/receiver.hpp - the receiving half of a WebSocket connection: bytes in, pieces of messages and control frames
// out.
//
// Shape    next() takes bytes off the front of `in` and answers one event; call it until it says need_more. Payloads
//          are unmasked in place and handed out as views of `in`: nothing is copied but headers and control payloads
//          that are cut, and control payloads always.
// Rules    the messages, control frames and the final failure are the same however the bytes are cut; only the number
//          of pieces of a message differs.
// Units    bytes.
// Limits   read_rules (one frame), max_message (one message), 125 bytes of control payload.
// Owner    the caller owns `in`, holds it alone while it is masked, and keeps it as long as it uses a piece. A control
//          payload's view lives until the next call.
// Errors   a failure is the last event and comes again on every call. What follows a Close frame is discarded
//          (RFC 6455 5.5.1).
// Source   RFC 6455 5, 7.1.7, 10.7     Tests  test/ws/wire/receiver_test.cpp, test/fuzz/ws_fuzz.cpp
#pragma once

#include "ws/wire/control.hpp"
#include "ws/wire/message.hpp"

namespace millrace::ws::wire {

enum class event_kind : std::uint8_t {
  need_more,  // `in` is used up
  data,       // a piece of a message, in order
  ping,       // bytes: what the pong has to carry
  pong,
  close,   // close: what the peer said
  failed,  // failure: the code to close with
};

struct event {
  event_kind kind = event_kind::need_more;
  opcode op = opcode::continuation;       // data: text or binary
  bool begins = false;                    // data: the first piece of its message
  bool ends = false;                      // data: the last piece; it may be empty
  base::byte_view bytes;                  // data, ping, pong
  close_body close;                       // close
  close_code failure = close_code::none;  // failed
};

struct receive_limits {
  read_rules frames;
  std::uint64_t max_message = default_max_message;
};

class receiver {
  enum class state : std::uint8_t { header, payload, closed, failed };

  read_rules rules_;
  message_rules messages_;
  frame_header header_;
  std::uint64_t left_ = 0;  // payload bytes still to come
  unsigned phase_ = 0;      // of the masking key
  state state_ = state::header;
  bool begins_ = false;    // the next piece is its message's first
  std::uint8_t size_ = 0;  // bytes in kept_
  close_code failure_ = close_code::none;
  std::uint8_t kept_[max_control_payload] = {};  // a header that is cut, or a control payload

  event fail(close_code why) noexcept;
  bool take_header(base::byte_span& in, event& out) noexcept;
  event take_control(base::byte_span& in) noexcept;
  event take_data(base::byte_span& in) noexcept;

 public:
  explicit receiver(const receive_limits& limits) noexcept : rules_(limits.frames), messages_(limits.max_message) {}

  [[nodiscard]] event next(base::byte_span& in) noexcept;
  // Between two messages, with no byte of another frame read: the end of the stream cuts nothing.
  [[nodiscard]] bool is_idle() const noexcept { return state_ == state::header && size_ == 0 && !messages_.is_open(); }
  [[nodiscard]] bool is_closed() const noexcept { return state_ == state::closed; }
};

}  // namespace millrace::ws::wire
