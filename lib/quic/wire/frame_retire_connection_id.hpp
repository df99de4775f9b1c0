// quic/wire/frame_retire_connection_id.hpp - RETIRE_CONNECTION_ID frames: an ID will not be used to reach us any more.
//
// Errors   truncated. That the number was issued, and is not that of the packet's own destination, is the
//          connection's business.
// Source   RFC 9000 19.16. Tests  test/quic/wire/frame_connection_test.cpp
#pragma once

#include "quic/wire/frame_fields.hpp"

namespace millrace::quic::wire {

struct retire_connection_id_frame {
  std::uint64_t sequence = 0;
};

// `in` stands behind the type.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, retire_connection_id_frame& out) noexcept {
  return read_fields(in, out.sequence);
}

[[nodiscard]] constexpr std::size_t encoded_size(const retire_connection_id_frame& f) noexcept {
  return fields_size(f.sequence);
}
[[nodiscard]] inline bool emit(base::byte_writer& out, const retire_connection_id_frame& f) noexcept {
  return write_fields(out, frame_retire_connection_id, f.sequence);
}

}  // namespace millrace::quic::wire
