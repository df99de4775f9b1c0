// h3/qpack/error.hpp - why QPACK ends a connection: the codes of RFC 9204 and how each part answers them.
//
// Shape    `error::none` is success; every other value is the HTTP/3 error code to close the connection with.
// Source   RFC 9204 6.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::h3::qpack {

enum class [[nodiscard]] error : std::uint16_t {
  none = 0,
  decompression_failed = 0x0200,  // QPACK_DECOMPRESSION_FAILED: a field section that cannot be understood
  encoder_stream = 0x0201,        // QPACK_ENCODER_STREAM_ERROR: an instruction to our decoder's table
  decoder_stream = 0x0202,        // QPACK_DECODER_STREAM_ERROR: an instruction to our encoder
};

[[nodiscard]] constexpr std::string_view to_string(error code) noexcept {
  switch (code) {
    case error::none:
      return "none";
    case error::decompression_failed:
      return "QPACK_DECOMPRESSION_FAILED";
    case error::encoder_stream:
      return "QPACK_ENCODER_STREAM_ERROR";
    case error::decoder_stream:
      return "QPACK_DECODER_STREAM_ERROR";
  }
  return "unknown";
}

}  // namespace millrace::h3::qpack
