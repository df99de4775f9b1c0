// quic/wire/frame_type.hpp - every frame type we know, and in which packets it may stand.
//
// Shape    a frame type is a varint of up to 62 bits and is kept whole: 0x10001 is not 0x01.
//          The table is RFC 9000 12.4, table 3, as data: one row a type.
// Source   RFC 9000 9.1 12.4 12.5 19, RFC 9002 2, RFC 9221 4. Tests  test/quic/wire/frame_type_test.cpp
#pragma once

#include <cstdint>
#include <string_view>

#include "quic/wire/header.hpp"
#include "quic/wire/sender.hpp"

namespace millrace::quic::wire {

using frame_type = std::uint64_t;

inline constexpr frame_type frame_padding = 0x00;
inline constexpr frame_type frame_ping = 0x01;
inline constexpr frame_type frame_ack = 0x02;
inline constexpr frame_type frame_ack_ecn = 0x03;
inline constexpr frame_type frame_reset_stream = 0x04;
inline constexpr frame_type frame_stop_sending = 0x05;
inline constexpr frame_type frame_crypto = 0x06;
inline constexpr frame_type frame_new_token = 0x07;
inline constexpr frame_type frame_stream_first = 0x08;  // three flag bits follow
inline constexpr frame_type frame_stream_last = 0x0f;
inline constexpr frame_type frame_max_data = 0x10;
inline constexpr frame_type frame_max_stream_data = 0x11;
inline constexpr frame_type frame_max_streams_bidi = 0x12;
inline constexpr frame_type frame_max_streams_uni = 0x13;
inline constexpr frame_type frame_data_blocked = 0x14;
inline constexpr frame_type frame_stream_data_blocked = 0x15;
inline constexpr frame_type frame_streams_blocked_bidi = 0x16;
inline constexpr frame_type frame_streams_blocked_uni = 0x17;
inline constexpr frame_type frame_new_connection_id = 0x18;
inline constexpr frame_type frame_retire_connection_id = 0x19;
inline constexpr frame_type frame_path_challenge = 0x1a;
inline constexpr frame_type frame_path_response = 0x1b;
inline constexpr frame_type frame_connection_close = 0x1c;
inline constexpr frame_type frame_connection_close_app = 0x1d;
inline constexpr frame_type frame_handshake_done = 0x1e;
inline constexpr frame_type frame_datagram = 0x30;  // RFC 9221 4
inline constexpr frame_type frame_datagram_length = 0x31;

// True when a parser of ours, now or later, gives the type a meaning; anything else is an unknown extension.
[[nodiscard]] constexpr bool is_known_frame(frame_type type) noexcept {
  return type <= frame_handshake_done || type == frame_datagram || type == frame_datagram_length;
}

// The name of the frame in RFC 9000 or RFC 9221 in lower case, as keys of JSON and statistics have it; "extension" for
// every other type.
[[nodiscard]] constexpr std::string_view name_of(frame_type type) noexcept {
  constexpr std::string_view names[] = {"padding",
                                        "ping",
                                        "ack",
                                        "ack",
                                        "reset_stream",
                                        "stop_sending",
                                        "crypto",
                                        "new_token",
                                        "stream",
                                        "stream",
                                        "stream",
                                        "stream",
                                        "stream",
                                        "stream",
                                        "stream",
                                        "stream",
                                        "max_data",
                                        "max_stream_data",
                                        "max_streams",
                                        "max_streams",
                                        "data_blocked",
                                        "stream_data_blocked",
                                        "streams_blocked",
                                        "streams_blocked",
                                        "new_connection_id",
                                        "retire_connection_id",
                                        "path_challenge",
                                        "path_response",
                                        "connection_close",
                                        "connection_close",
                                        "handshake_done"};
  if (type <= frame_handshake_done) return names[type];
  return type == frame_datagram || type == frame_datagram_length ? "datagram" : "extension";
}

// RFC 9000 12.4, table 3. False for unknown types and for packets that carry no frames.
[[nodiscard]] constexpr bool is_allowed(frame_type type, packet_type packet) noexcept {
  if (!is_known_frame(type)) return false;
  switch (packet) {
    case packet_type::initial:
    case packet_type::handshake:
      return type <= frame_ack_ecn || type == frame_crypto || type == frame_connection_close;
    case packet_type::zero_rtt:
      // RFC 9000 12.5: what answers the server cannot come before it has said something.
      return type != frame_ack && type != frame_ack_ecn && type != frame_crypto && type != frame_new_token &&
             type != frame_retire_connection_id && type != frame_path_response && type != frame_handshake_done;
    case packet_type::one_rtt:
      return true;
    case packet_type::retry:
    case packet_type::version_negotiation:
    case packet_type::unknown_long:
      return false;
  }
  return false;
}

// RFC 9000 19.7, 19.20: two frames are a server's alone.
[[nodiscard]] constexpr bool is_allowed_from(frame_type type, sender from) noexcept {
  return from == sender::server || (type != frame_new_token && type != frame_handshake_done);
}

// RFC 9000 9.1: a packet of these frames alone only asks whether a path works.
[[nodiscard]] constexpr bool is_probing(frame_type type) noexcept {
  return type == frame_padding || type == frame_new_connection_id || type == frame_path_challenge ||
         type == frame_path_response;
}

// RFC 9002 2: everything but ACK, PADDING and CONNECTION_CLOSE wants an acknowledgement.
[[nodiscard]] constexpr bool is_ack_eliciting(frame_type type) noexcept {
  return type != frame_padding && type != frame_ack && type != frame_ack_ecn && type != frame_connection_close &&
         type != frame_connection_close_app;
}

}  // namespace millrace::quic::wire
