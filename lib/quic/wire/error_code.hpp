// quic/wire/error_code.hpp - the transport error codes, and which of them answers which fault on the wire.
//
// Shape    the one place where a codec's local reason becomes the RFC's code: a codec says what is wrong with the
//          bytes, this says what the peer is told.
// Source   RFC 9000 7.4 12.4 20.1, RFC 9368 10.2.
// Tests    test/quic/wire/frame_walker_test.cpp, transport_parameters_test.cpp
#pragma once

#include "base/parse_status.hpp"

namespace millrace::quic::wire {

enum class transport_error : std::uint64_t {  // RFC 9000 20.1
  no_error = 0x00,
  internal_error = 0x01,
  connection_refused = 0x02,
  flow_control_error = 0x03,
  stream_limit_error = 0x04,
  stream_state_error = 0x05,
  final_size_error = 0x06,
  frame_encoding_error = 0x07,
  transport_parameter_error = 0x08,
  connection_id_limit_error = 0x09,
  protocol_violation = 0x0a,
  invalid_token = 0x0b,
  application_error = 0x0c,
  crypto_buffer_exceeded = 0x0d,
  key_update_error = 0x0e,
  aead_limit_reached = 0x0f,
  no_viable_path = 0x10,
  version_negotiation_error = 0x11,  // RFC 9368 10.2
};

// A TLS alert travels as 0x0100 + its number.
[[nodiscard]] constexpr transport_error crypto_error(std::uint8_t alert) noexcept {
  return static_cast<transport_error>(0x0100u + alert);
}
[[nodiscard]] constexpr bool is_crypto_error(std::uint64_t code) noexcept { return code >= 0x0100 && code <= 0x01FF; }

// What ended the walk over the frames of one packet.
enum class frame_fault : std::uint8_t {
  none,
  stopped,       // the visitor said so; not the peer's fault
  no_frames,     // RFC 9000 12.4: a packet without any frame
  malformed,     // a field cut off, or a value its frame forbids
  unknown_type,  // a frame type nobody negotiated
  not_minimal,   // a frame type in more bytes than it needs
  not_allowed,   // a frame that may not be in this type of packet
};

[[nodiscard]] constexpr transport_error transport_error_of(frame_fault fault) noexcept {
  switch (fault) {
    case frame_fault::none:
    case frame_fault::stopped:
      return transport_error::no_error;
    case frame_fault::malformed:
    case frame_fault::unknown_type:
      return transport_error::frame_encoding_error;  // RFC 9000 12.4, 19
    case frame_fault::no_frames:
    case frame_fault::not_minimal:
    case frame_fault::not_allowed:
      return transport_error::protocol_violation;  // RFC 9000 12.4
  }
  return transport_error::internal_error;
}

// What the peer is told about transport parameters that parse() refused: RFC 9000 7.4, 18.2, RFC 9221 3, RFC 9287 3 and
// RFC 9368 4 have one code for all of it. More of them than we look at (too_many) can only be meant badly.
[[nodiscard]] constexpr transport_error transport_parameter_error_of(base::parse_status status) noexcept {
  return status ? transport_error::no_error : transport_error::transport_parameter_error;
}

}  // namespace millrace::quic::wire
