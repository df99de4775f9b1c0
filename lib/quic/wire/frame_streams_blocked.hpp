// quic/wire/frame_streams_blocked.hpp - STREAMS_BLOCKED frames: no stream of a kind may be opened any more.
//
// Shape    0x16 is for streams of both directions, 0x17 for those of one.
// Units    `limit` is the number of streams at which the sender stopped.
// Errors   truncated; bad_value: more than 2^60. Nor is a larger one written.
// Source   RFC 9000 19.14. Tests  test/quic/wire/frame_limits_test.cpp
#pragma once

#include "quic/wire/frame_fields.hpp"
#include "quic/wire/frame_max_streams.hpp"

namespace millrace::quic::wire {

struct streams_blocked_frame {
  bool unidirectional = false;
  std::uint64_t limit = 0;
};

// `type` is frame_streams_blocked_bidi or frame_streams_blocked_uni, read before; `in` stands behind it.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, frame_type type,
                                              streams_blocked_frame& out) noexcept {
  const std::uint32_t start = in.offset();
  streams_blocked_frame f{.unidirectional = type == frame_streams_blocked_uni};
  const base::parse_status status = read_fields(in, f.limit);
  if (!status) return status;
  if (f.limit > max_stream_count) return {base::parse_errc::bad_value, start};  // RFC 9000 19.14
  out = f;
  return {};
}

[[nodiscard]] constexpr std::size_t encoded_size(const streams_blocked_frame& f) noexcept {
  return fields_size(f.limit);
}
[[nodiscard]] inline bool emit(base::byte_writer& out, const streams_blocked_frame& f) noexcept {
  return f.limit <= max_stream_count &&
         write_fields(out, f.unidirectional ? frame_streams_blocked_uni : frame_streams_blocked_bidi, f.limit);
}

}  // namespace millrace::quic::wire
