// quic/wire/frame_stop_sending.hpp - STOP_SENDING frames: a receiver asks a sender to give up a stream.
//
// Errors   truncated. Whether the stream may be asked is the stream's business.
// Source   RFC 9000 19.5. Tests  test/quic/wire/frame_stream_control_test.cpp
#pragma once

#include "quic/wire/frame_fields.hpp"

namespace millrace::quic::wire {

struct stop_sending_frame {
  std::uint64_t stream_id = 0;
  std::uint64_t error_code = 0;  // the application's
};

// `in` stands behind the type.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, stop_sending_frame& out) noexcept {
  stop_sending_frame f;
  const base::parse_status status = read_fields(in, f.stream_id, f.error_code);
  if (status) out = f;
  return status;
}

[[nodiscard]] constexpr std::size_t encoded_size(const stop_sending_frame& f) noexcept {
  return fields_size(f.stream_id, f.error_code);
}
[[nodiscard]] inline bool emit(base::byte_writer& out, const stop_sending_frame& f) noexcept {
  return write_fields(out, frame_stop_sending, f.stream_id, f.error_code);
}

}  // namespace millrace::quic::wire
