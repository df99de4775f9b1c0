// quic/wire/frame_data_blocked.hpp - DATA_BLOCKED frames: the connection's credit is used up.
//
// Units    `limit` is the credit at which the sender stopped, in bytes.
// Errors   truncated.
// Source   RFC 9000 19.12. Tests  test/quic/wire/frame_limits_test.cpp
#pragma once

#include "quic/wire/frame_fields.hpp"

namespace millrace::quic::wire {

struct data_blocked_frame {
  std::uint64_t limit = 0;
};

// `in` stands behind the type.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, data_blocked_frame& out) noexcept {
  return read_fields(in, out.limit);
}

[[nodiscard]] constexpr std::size_t encoded_size(const data_blocked_frame& f) noexcept { return fields_size(f.limit); }
[[nodiscard]] inline bool emit(base::byte_writer& out, const data_blocked_frame& f) noexcept {
  return write_fields(out, frame_data_blocked, f.limit);
}

}  // namespace millrace::quic::wire
