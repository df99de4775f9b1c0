// quic/wire/frame_walker.hpp - the frames of one opened packet, in order, each handed to a visitor.
//
// Shape    walk_frames(payload, rules, visitor) calls visitor.on(frame) for every frame (frame_visitor.hpp). The rules
//          say which frames may be there; a packet type alone will do where more is not known.
//          A new frame is its own file with parse and emit, an on() in frame_visitor and one case in visit_frame.
// Owner    frames view the payload; nothing outlives it.
// Errors   the walk stops at the first fault; frames in front of it were handed out already, so whoever must not act
//          on half a packet (an endpoint) walks once with a plain frame_visitor first.
//          transport_error_of() of error_code.hpp says what the peer is told.
// Limits   one pass, bounded by the payload; a run of PADDING is one call.
// Source   RFC 9000 12.4 12.5 19, RFC 9221 3 4. Tests  test/quic/wire/frame_walker_test.cpp
#pragma once

#include <optional>

#include "quic/wire/error_code.hpp"
#include "quic/wire/frame_visitor.hpp"

namespace millrace::quic::wire {

// Which frames may stand in a packet.
struct frame_rules {
  packet_type packet;
  // Unknown: NEW_TOKEN and HANDSHAKE_DONE, which only a server may send, are taken from anyone.
  std::optional<sender> from;
  // RFC 9221 3: what the receiver advertised; a DATAGRAM frame of more bytes, type and length included, is refused,
  // and with 0 every one.
  std::uint64_t max_datagram_frame_size = base::varint_max;

  constexpr frame_rules(packet_type p) noexcept : packet(p) {}  // implicit: the walk of who knows no more
  constexpr frame_rules(packet_type p, sender who, std::uint64_t max_datagram = base::varint_max) noexcept
      : packet(p), from(who), max_datagram_frame_size(max_datagram) {}
};

struct walk_result {
  frame_fault fault = frame_fault::none;
  base::parse_status status;   // where: an offset into the payload
  frame_type type = 0;         // of the frame at fault, or of the last one
  std::uint32_t frames = 0;    // handed out; a run of PADDING counts once
  bool ack_eliciting = false;  // RFC 9002 2: one of them wants an acknowledgement
  bool probing = true;         // RFC 9000 9.1: all of them only ask whether a path works
  [[nodiscard]] explicit operator bool() const noexcept { return fault == frame_fault::none; }
};

namespace detail {

// The type in front of every frame. RFC 9000 12.4 wants the shortest form, and lets a receiver insist: we do, so that
// one frame has one spelling.
[[nodiscard]] inline frame_fault read_frame_type(base::byte_reader& in, const frame_rules& rules, frame_type& type,
                                                 base::parse_errc& code) noexcept {
  const std::uint32_t start = in.offset();
  code = base::parse_errc::truncated;
  if (!in.varint(type)) return frame_fault::malformed;
  code = base::parse_errc::bad_value;
  if (in.offset() - start != base::varint_size(type)) return frame_fault::not_minimal;
  if (is_allowed(type, rules.packet) && (!rules.from || is_allowed_from(type, *rules.from))) {
    code = base::parse_errc::ok;
    return frame_fault::none;
  }
  if (is_known_frame(type)) return frame_fault::not_allowed;
  code = base::parse_errc::unsupported;
  return frame_fault::unknown_type;
}

// Reads one frame behind its type and shows it. False ends the walk: `status` tells whether the bytes or the visitor.
template <class Frame, class Visitor>
[[nodiscard]] bool show(base::byte_reader& in, Visitor& visitor, base::parse_status& status) noexcept {
  Frame f;
  status = parse(in, f);
  return status && visitor.on(f);
}
template <class Frame, class Visitor>
[[nodiscard]] bool show(base::byte_reader& in, frame_type type, Visitor& visitor, base::parse_status& status) noexcept {
  Frame f;
  status = parse(in, type, f);
  return status && visitor.on(f);
}
template <class Visitor>
[[nodiscard]] bool show_padding(base::byte_reader& in, Visitor& visitor) noexcept {
  padding_frame f;
  parse(in, f);
  return visitor.on(f);
}

template <class Visitor>
[[nodiscard]] bool visit_frame(base::byte_reader& in, frame_type type, Visitor& visitor,
                               base::parse_status& status) noexcept {
  if (is_stream_frame(type)) return show<stream_frame>(in, type, visitor, status);
  switch (type) {
    case frame_padding:
      return show_padding(in, visitor);
    case frame_ping:
      return visitor.on(ping_frame{});
    case frame_ack:
    case frame_ack_ecn:
      return show<ack_frame>(in, type, visitor, status);
    case frame_reset_stream:
      return show<reset_stream_frame>(in, visitor, status);
    case frame_stop_sending:
      return show<stop_sending_frame>(in, visitor, status);
    case frame_crypto:
      return show<crypto_frame>(in, visitor, status);
    case frame_new_token:
      return show<new_token_frame>(in, visitor, status);
    case frame_max_data:
      return show<max_data_frame>(in, visitor, status);
    case frame_max_stream_data:
      return show<max_stream_data_frame>(in, visitor, status);
    case frame_max_streams_bidi:
    case frame_max_streams_uni:
      return show<max_streams_frame>(in, type, visitor, status);
    case frame_data_blocked:
      return show<data_blocked_frame>(in, visitor, status);
    case frame_stream_data_blocked:
      return show<stream_data_blocked_frame>(in, visitor, status);
    case frame_streams_blocked_bidi:
    case frame_streams_blocked_uni:
      return show<streams_blocked_frame>(in, type, visitor, status);
    case frame_new_connection_id:
      return show<new_connection_id_frame>(in, visitor, status);
    case frame_retire_connection_id:
      return show<retire_connection_id_frame>(in, visitor, status);
    case frame_path_challenge:
      return show<path_challenge_frame>(in, visitor, status);
    case frame_path_response:
      return show<path_response_frame>(in, visitor, status);
    case frame_connection_close:
    case frame_connection_close_app:
      return show<connection_close_frame>(in, type, visitor, status);
    case frame_handshake_done:
      return visitor.on(handshake_done_frame{});
    case frame_datagram:
    case frame_datagram_length:
      return show<datagram_frame>(in, type, visitor, status);
    default:
      status = {base::parse_errc::unsupported, in.offset()};  // never: read_frame_type lets none through
      return false;
  }
}

[[nodiscard]] constexpr bool is_datagram(frame_type type) noexcept {
  return type == frame_datagram || type == frame_datagram_length;
}

// RFC 9221 3: is the DATAGRAM frame that `in` stands in, behind its type, more than was advertised? `beyond` as parse
// has it. A frame that is cut off is left to parse.
[[nodiscard]] inline bool is_too_large(base::byte_reader in, frame_type type, std::size_t beyond,
                                       const frame_rules& rules) noexcept {
  datagram_header h;
  if (rules.max_datagram_frame_size == 0) return true;
  const std::uint32_t behind_type = in.offset();
  return parse(in, type, beyond, h) && 1 + (in.offset() - behind_type) + h.size > rules.max_datagram_frame_size;
}

// Can a packet of this type hold frames at all?
[[nodiscard]] constexpr bool has_frames(packet_type packet) noexcept { return is_allowed(frame_padding, packet); }

inline void end_walk(walk_result& result, frame_fault fault, base::parse_errc code, std::uint32_t at) noexcept {
  result.fault = fault;
  result.status = {code, at};
}

// By value: a result that a walk handed out by reference on its way would lie in memory from the first frame on.
[[nodiscard]] inline walk_result ended(walk_result result, frame_fault fault, base::parse_errc code,
                                       std::uint32_t at) noexcept {
  end_walk(result, fault, code, at);
  return result;
}

inline void count_frame(walk_result& result) noexcept {
  ++result.frames;
  result.ack_eliciting |= is_ack_eliciting(result.type);
  result.probing &= is_probing(result.type);
}

}  // namespace detail

template <class Visitor>
walk_result walk_frames(base::byte_view payload, const frame_rules& rules, Visitor&& visitor) noexcept {
  walk_result result;
  base::byte_reader in(payload);
  if (!detail::has_frames(rules.packet))
    return detail::ended(result, frame_fault::not_allowed, base::parse_errc::unsupported, 0);
  if (in.empty())
    return detail::ended(result, frame_fault::no_frames, base::parse_errc::truncated, 0);  // RFC 9000 12.4
  while (!in.empty()) {
    const std::uint32_t start = in.offset();
    base::parse_errc code = base::parse_errc::ok;
    const frame_fault fault = detail::read_frame_type(in, rules, result.type, code);
    if (fault != frame_fault::none) return detail::ended(result, fault, code, start);
    if (detail::is_datagram(result.type) && detail::is_too_large(in, result.type, 0, rules))
      return detail::ended(result, frame_fault::not_allowed, base::parse_errc::too_long, start);
    base::parse_status status;
    const bool go_on = detail::visit_frame(in, result.type, visitor, status);
    if (!status) return detail::ended(result, frame_fault::malformed, status.code, status.at);
    detail::count_frame(result);
    if (!go_on) return detail::ended(result, frame_fault::stopped, base::parse_errc::ok, in.offset());
  }
  return result;
}

}  // namespace millrace::quic::wire
