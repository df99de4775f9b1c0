// quic/wire/frame_stream_data_blocked.hpp - STREAM_DATA_BLOCKED frames: a stream's credit is used up.
//
// Units    `limit` is the credit at which the sender stopped, in bytes of the stream.
// Errors   truncated. Whether the stream could have been sent on is the stream's business.
// Source   RFC 9000 19.13. Tests  test/quic/wire/frame_limits_test.cpp
#pragma once

#include "quic/wire/frame_fields.hpp"

namespace millrace::quic::wire {

struct stream_data_blocked_frame {
  std::uint64_t stream_id = 0;
  std::uint64_t limit = 0;
};

// `in` stands behind the type.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, stream_data_blocked_frame& out) noexcept {
  stream_data_blocked_frame f;
  const base::parse_status status = read_fields(in, f.stream_id, f.limit);
  if (status) out = f;
  return status;
}

[[nodiscard]] constexpr std::size_t encoded_size(const stream_data_blocked_frame& f) noexcept {
  return fields_size(f.stream_id, f.limit);
}
[[nodiscard]] inline bool emit(base::byte_writer& out, const stream_data_blocked_frame& f) noexcept {
  return write_fields(out, frame_stream_data_blocked, f.stream_id, f.limit);
}

}  // namespace millrace::quic::wire
