// quic/wire/frame_max_data.hpp - MAX_DATA frames: how much a peer may send on all streams of the connection together.
//
// Units    bytes, counted from the connection's beginning.
// Errors   truncated. A limit lower than one heard before is no error (RFC 9000 4.1): the reader keeps the larger.
// Source   RFC 9000 19.9. Tests  test/quic/wire/frame_limits_test.cpp
#pragma once

#include "quic/wire/frame_fields.hpp"

namespace millrace::quic::wire {

struct max_data_frame {
  std::uint64_t maximum = 0;
};

// `in` stands behind the type.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, max_data_frame& out) noexcept {
  return read_fields(in, out.maximum);
}

[[nodiscard]] constexpr std::size_t encoded_size(const max_data_frame& f) noexcept { return fields_size(f.maximum); }
[[nodiscard]] inline bool emit(base::byte_writer& out, const max_data_frame& f) noexcept {
  return write_fields(out, frame_max_data, f.maximum);
}

}  // namespace millrace::quic::wire
