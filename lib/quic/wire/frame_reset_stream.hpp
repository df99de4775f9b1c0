// quic/wire/frame_reset_stream.hpp - RESET_STREAM frames: a sender gives up a stream, and says how long it was.
//
// Units    final_size is bytes of the stream: what flow control counts, whether or not it was sent.
// Errors   truncated. Whether the stream exists, and whether its final size agrees with what came, is the stream's
//          business.
// Source   RFC 9000 19.4. Tests  test/quic/wire/frame_stream_control_test.cpp
#pragma once

#include "quic/wire/frame_fields.hpp"

namespace millrace::quic::wire {

struct reset_stream_frame {
  std::uint64_t stream_id = 0;
  std::uint64_t error_code = 0;  // the application's
  std::uint64_t final_size = 0;
};

// `in` stands behind the type.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, reset_stream_frame& out) noexcept {
  reset_stream_frame f;
  const base::parse_status status = read_fields(in, f.stream_id, f.error_code, f.final_size);
  if (status) out = f;
  return status;
}

[[nodiscard]] constexpr std::size_t encoded_size(const reset_stream_frame& f) noexcept {
  return fields_size(f.stream_id, f.error_code, f.final_size);
}
[[nodiscard]] inline bool emit(base::byte_writer& out, const reset_stream_frame& f) noexcept {
  return write_fields(out, frame_reset_stream, f.stream_id, f.error_code, f.final_size);
}

}  // namespace millrace::quic::wire
