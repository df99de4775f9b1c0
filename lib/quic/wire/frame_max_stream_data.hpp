// quic/wire/frame_max_stream_data.hpp - MAX_STREAM_DATA frames: how much a peer may send on one stream.
//
// Units    bytes, counted from the stream's beginning.
// Errors   truncated. Whether the stream may be given credit is the stream's business.
// Source   RFC 9000 19.10. Tests  test/quic/wire/frame_limits_test.cpp
#pragma once

#include "quic/wire/frame_fields.hpp"

namespace millrace::quic::wire {

struct max_stream_data_frame {
  std::uint64_t stream_id = 0;
  std::uint64_t maximum = 0;
};

// `in` stands behind the type.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, max_stream_data_frame& out) noexcept {
  max_stream_data_frame f;
  const base::parse_status status = read_fields(in, f.stream_id, f.maximum);
  if (status) out = f;
  return status;
}

[[nodiscard]] constexpr std::size_t encoded_size(const max_stream_data_frame& f) noexcept {
  return fields_size(f.stream_id, f.maximum);
}
[[nodiscard]] inline bool emit(base::byte_writer& out, const max_stream_data_frame& f) noexcept {
  return write_fields(out, frame_max_stream_data, f.stream_id, f.maximum);
}

}  // namespace millrace::quic::wire
