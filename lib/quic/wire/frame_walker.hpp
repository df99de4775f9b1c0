// quic/wire/frame_walker.hpp - the frames of one opened packet, in order, each handed to a visitor.
//
// Shape    walk_frames(payload, packet, visitor) calls visitor.on(frame) for every frame. A visitor derives from
//          frame_visitor, whose on() takes each frame and goes on, and overrides (after `using frame_visitor::on;`)
//          those it wants. Calls are static: what is not overridden costs nothing.
//          A new frame is its own file with parse and emit, one on() below and one case in walk_frames.
// Owner    frames view the payload; nothing outlives it.
// Errors   the walk stops at the first fault; frames in front of it were handed out already, so whoever must not act
//          on half a packet (an endpoint) walks once with a plain frame_visitor first.
// Limits   one pass, bounded by the payload; a run of PADDING is one call.
//          Initial and Handshake packets: the frames of 0-RTT and 1-RTT have no parsers yet, and a walk over such a
//          packet is refused whole (not_allowed, `unsupported`).
// Source   RFC 9000 12.4 12.5 19. Tests  test/quic/wire/frame_walker_test.cpp
#pragma once

#include "quic/wire/error_code.hpp"
#include "quic/wire/frame_ack.hpp"
#include "quic/wire/frame_connection_close.hpp"
#include "quic/wire/frame_crypto.hpp"
#include "quic/wire/frame_padding.hpp"

namespace millrace::quic::wire {

// on() answers whether the walk goes on.
struct frame_visitor {
  bool on(const padding_frame&) noexcept { return true; }
  bool on(const ping_frame&) noexcept { return true; }
  bool on(const ack_frame&) noexcept { return true; }
  bool on(const crypto_frame&) noexcept { return true; }
  bool on(const connection_close_frame&) noexcept { return true; }
};

struct walk_result {
  frame_fault fault = frame_fault::none;
  base::parse_status status;   // where: an offset into the payload
  frame_type type = 0;         // of the frame at fault, or of the last one
  std::uint32_t frames = 0;    // handed out; a run of PADDING counts once
  bool ack_eliciting = false;  // RFC 9002 2: one of them wants an acknowledgement
  [[nodiscard]] explicit operator bool() const noexcept { return fault == frame_fault::none; }
};

namespace detail {

// The type in front of every frame. RFC 9000 12.4 wants the shortest form, and lets a receiver insist: we do, so that
// one frame has one spelling.
[[nodiscard]] inline frame_fault read_frame_type(base::byte_reader& in, packet_type packet, frame_type& type,
                                                 base::parse_errc& code) noexcept {
  const std::uint32_t start = in.offset();
  code = base::parse_errc::truncated;
  if (!in.varint(type)) return frame_fault::malformed;
  code = base::parse_errc::bad_value;
  if (in.offset() - start != base::varint_size(type)) return frame_fault::not_minimal;
  if (is_allowed(type, packet)) {
    code = base::parse_errc::ok;
    return frame_fault::none;
  }
  if (is_known_frame(type)) return frame_fault::not_allowed;
  code = base::parse_errc::unsupported;
  return frame_fault::unknown_type;
}

// Reads one frame behind its type and shows it. False ends the walk: `status` tells whether the bytes or the visitor.
template <class Visitor>
[[nodiscard]] bool visit_frame(base::byte_reader& in, frame_type type, Visitor& visitor,
                               base::parse_status& status) noexcept {
  switch (type) {
    case frame_padding: {
      padding_frame f;
      parse(in, f);
      return visitor.on(f);
    }
    case frame_ping:
      return visitor.on(ping_frame{});
    case frame_ack:
    case frame_ack_ecn: {
      ack_frame f;
      status = parse(in, type, f);
      return status && visitor.on(f);
    }
    case frame_crypto: {
      crypto_frame f;
      status = parse(in, f);
      return status && visitor.on(f);
    }
    case frame_connection_close: {
      connection_close_frame f;
      status = parse(in, type, f);
      return status && visitor.on(f);
    }
    default:
      status = {base::parse_errc::unsupported, in.offset()};
      return false;
  }
}

}  // namespace detail

template <class Visitor>
walk_result walk_frames(base::byte_view payload, packet_type packet, Visitor&& visitor) noexcept {
  walk_result result;
  base::byte_reader in(payload);
  const auto fail = [&](frame_fault fault, base::parse_errc code, std::uint32_t at) {
    result.fault = fault;
    result.status = {code, at};
    return result;
  };
  if (packet != packet_type::initial && packet != packet_type::handshake)
    return fail(frame_fault::not_allowed, base::parse_errc::unsupported, 0);
  if (in.empty()) return fail(frame_fault::no_frames, base::parse_errc::truncated, 0);  // RFC 9000 12.4
  while (!in.empty()) {
    const std::uint32_t start = in.offset();
    base::parse_errc code = base::parse_errc::ok;
    const frame_fault fault = detail::read_frame_type(in, packet, result.type, code);
    if (fault != frame_fault::none) return fail(fault, code, start);
    base::parse_status status;
    const bool go_on = detail::visit_frame(in, result.type, visitor, status);
    if (!status) return fail(frame_fault::malformed, status.code, status.at);
    ++result.frames;
    result.ack_eliciting |= is_ack_eliciting(result.type);
    if (!go_on) return fail(frame_fault::stopped, base::parse_errc::ok, in.offset());
  }
  return result;
}

}  // namespace millrace::quic::wire
