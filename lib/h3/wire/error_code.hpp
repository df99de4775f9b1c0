// h3/wire/error_code.hpp - the codes of HTTP/3 and QPACK, for CONNECTION_CLOSE, RESET_STREAM and STOP_SENDING.
//
// Source   RFC 9114 8.1, RFC 9204 6, RFC 9297 5.2. Tests  test/h3/wire/frame_test.cpp
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::h3::wire {

enum class error : std::uint64_t {
  datagram_error = 0x33,
  no_error = 0x100,
  general_protocol_error = 0x101,
  internal_error = 0x102,
  stream_creation_error = 0x103,
  closed_critical_stream = 0x104,
  frame_unexpected = 0x105,
  frame_error = 0x106,
  excessive_load = 0x107,
  id_error = 0x108,
  settings_error = 0x109,
  missing_settings = 0x10a,
  request_rejected = 0x10b,
  request_cancelled = 0x10c,
  request_incomplete = 0x10d,
  message_error = 0x10e,
  connect_error = 0x10f,
  version_fallback = 0x110,
  qpack_decompression_failed = 0x200,
  qpack_encoder_stream_error = 0x201,
  qpack_decoder_stream_error = 0x202,
};

[[nodiscard]] constexpr std::uint64_t number(error e) noexcept { return static_cast<std::uint64_t>(e); }

// The RFC's name; empty for a number that is no code of ours.
[[nodiscard]] constexpr std::string_view to_string(error e) noexcept {
  switch (e) {
    case error::datagram_error:
      return "H3_DATAGRAM_ERROR";
    case error::no_error:
      return "H3_NO_ERROR";
    case error::general_protocol_error:
      return "H3_GENERAL_PROTOCOL_ERROR";
    case error::internal_error:
      return "H3_INTERNAL_ERROR";
    case error::stream_creation_error:
      return "H3_STREAM_CREATION_ERROR";
    case error::closed_critical_stream:
      return "H3_CLOSED_CRITICAL_STREAM";
    case error::frame_unexpected:
      return "H3_FRAME_UNEXPECTED";
    case error::frame_error:
      return "H3_FRAME_ERROR";
    case error::excessive_load:
      return "H3_EXCESSIVE_LOAD";
    case error::id_error:
      return "H3_ID_ERROR";
    case error::settings_error:
      return "H3_SETTINGS_ERROR";
    case error::missing_settings:
      return "H3_MISSING_SETTINGS";
    case error::request_rejected:
      return "H3_REQUEST_REJECTED";
    case error::request_cancelled:
      return "H3_REQUEST_CANCELLED";
    case error::request_incomplete:
      return "H3_REQUEST_INCOMPLETE";
    case error::message_error:
      return "H3_MESSAGE_ERROR";
    case error::connect_error:
      return "H3_CONNECT_ERROR";
    case error::version_fallback:
      return "H3_VERSION_FALLBACK";
    case error::qpack_decompression_failed:
      return "QPACK_DECOMPRESSION_FAILED";
    case error::qpack_encoder_stream_error:
      return "QPACK_ENCODER_STREAM_ERROR";
    case error::qpack_decoder_stream_error:
      return "QPACK_DECODER_STREAM_ERROR";
  }
  return {};
}

}  // namespace millrace::h3::wire
