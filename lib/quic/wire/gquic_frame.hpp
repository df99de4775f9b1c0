// quic/wire/gquic_frame.hpp - the frames inside Initial and Handshake packets of T050, T051 and Q050.
//
// Shape    these versions wear the IETF long header and, inside, still gQUIC's frames: CRYPTO is 0x08, PING 0x07, and
//          an ACK is any first byte 0b01xxxxxx. walk_google_frames() shows what means the same as an IETF frame as
//          that frame (frame_walker.hpp), and an ACK as the little that inspection asks of it.
// Owner    frames view the payload.
// Errors   as walk_frames; of gQUIC's other frames none may stand in these packets: unknown_type.
// Source   the gQUIC wire specification, frame types and ACK frame; QUIC crypto frame of Q048 and later.
// Tests    test/quic/wire/gquic_frame_test.cpp
#pragma once

#include "quic/wire/frame_walker.hpp"

namespace millrace::quic::wire {

struct google_ack_frame {
  std::uint64_t largest = 0;
  unsigned blocks = 0;  // behind the first
};

struct google_frame_visitor : frame_visitor {
  using frame_visitor::on;
  bool on(const google_ack_frame&) noexcept { return true; }
};

// True for the versions whose frames these are.
[[nodiscard]] constexpr bool has_google_frames(version_family family) noexcept {
  return family == version_family::google_tls || family == version_family::google_q050;
}

namespace detail {

inline constexpr std::uint8_t google_padding = 0x00;
inline constexpr std::uint8_t google_connection_close = 0x02;
inline constexpr std::uint8_t google_ping = 0x07;
inline constexpr std::uint8_t google_crypto = 0x08;
inline constexpr std::uint8_t google_ack_mask = 0xC0;
inline constexpr std::uint8_t google_ack_bits = 0x40;

// `in` stands behind the type byte; both answer false when the payload ends inside the frame.
[[nodiscard]] bool read_google_ack(base::byte_reader& in, std::uint8_t type, google_ack_frame& out) noexcept;
[[nodiscard]] bool read_google_close(base::byte_reader& in, connection_close_frame& out) noexcept;

template <class Visitor>
[[nodiscard]] bool visit_google_frame(base::byte_reader& in, std::uint8_t type, Visitor& visitor,
                                      base::parse_status& status, bool& known) noexcept {
  const auto cut = [&] { status = {base::parse_errc::truncated, in.offset()}; };
  known = true;
  if ((type & google_ack_mask) == google_ack_bits) {
    google_ack_frame f;
    if (read_google_ack(in, type, f)) return visitor.on(f);
    cut();
    return false;
  }
  switch (type) {
    case google_padding: {
      padding_frame f;
      parse(in, f);
      return visitor.on(f);
    }
    case google_ping:
      return visitor.on(ping_frame{});
    case google_crypto: {
      crypto_frame f;
      status = parse(in, f);
      return status && visitor.on(f);
    }
    case google_connection_close: {
      connection_close_frame f;
      if (read_google_close(in, f)) return visitor.on(f);
      cut();
      return false;
    }
    default:
      known = false;
      return false;
  }
}

}  // namespace detail

template <class Visitor>
walk_result walk_google_frames(base::byte_view payload, Visitor&& visitor) noexcept {
  walk_result result;
  base::byte_reader in(payload);
  const auto fail = [&](frame_fault fault, base::parse_errc code, std::uint32_t at) {
    result.fault = fault;
    result.status = {code, at};
    return result;
  };
  if (in.empty()) return fail(frame_fault::no_frames, base::parse_errc::truncated, 0);
  std::uint8_t type = 0;
  while (in.u8(type)) {
    const std::uint32_t start = in.offset() - 1;
    base::parse_status status;
    bool known = false;
    result.type = type;
    const bool go_on = detail::visit_google_frame(in, type, visitor, status, known);
    if (!known) return fail(frame_fault::unknown_type, base::parse_errc::unsupported, start);
    if (!status) return fail(frame_fault::malformed, status.code, status.at);
    ++result.frames;
    result.ack_eliciting |= type == detail::google_ping || type == detail::google_crypto;
    if (!go_on) return fail(frame_fault::stopped, base::parse_errc::ok, in.offset());
  }
  return result;
}

}  // namespace millrace::quic::wire
