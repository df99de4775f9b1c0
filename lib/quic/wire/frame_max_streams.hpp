// quic/wire/frame_max_streams.hpp - MAX_STREAMS frames: how many streams of a kind a peer may open.
//
// Shape    0x12 is for streams of both directions, 0x13 for those of one.
// Units    streams, counted from the connection's beginning.
// Errors   truncated; bad_value: more than 2^60, whose numbers no varint could hold. Nor is a larger one written.
// Source   RFC 9000 19.11. Tests  test/quic/wire/frame_limits_test.cpp
#pragma once

#include "quic/wire/frame_fields.hpp"

namespace millrace::quic::wire {

inline constexpr std::uint64_t max_stream_count = std::uint64_t{1} << 60;  // RFC 9000 4.6

struct max_streams_frame {
  bool unidirectional = false;
  std::uint64_t maximum = 0;
};

// `type` is frame_max_streams_bidi or frame_max_streams_uni, read before; `in` stands behind it.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, frame_type type, max_streams_frame& out) noexcept {
  const std::uint32_t start = in.offset();
  max_streams_frame f{.unidirectional = type == frame_max_streams_uni};
  const base::parse_status status = read_fields(in, f.maximum);
  if (!status) return status;
  if (f.maximum > max_stream_count) return {base::parse_errc::bad_value, start};  // RFC 9000 19.11
  out = f;
  return {};
}

[[nodiscard]] constexpr std::size_t encoded_size(const max_streams_frame& f) noexcept { return fields_size(f.maximum); }
[[nodiscard]] inline bool emit(base::byte_writer& out, const max_streams_frame& f) noexcept {
  return f.maximum <= max_stream_count &&
         write_fields(out, f.unidirectional ? frame_max_streams_uni : frame_max_streams_bidi, f.maximum);
}

}  // namespace millrace::quic::wire
