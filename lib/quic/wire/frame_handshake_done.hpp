// quic/wire/frame_handshake_done.hpp - HANDSHAKE_DONE frames: the server confirms the handshake; its type and nothing
// else.
//
// Shape    a server's frame: is_allowed_from() of frame_type.hpp refuses a client's.
// Source   RFC 9000 19.20. Tests  test/quic/wire/frame_connection_test.cpp
#pragma once

#include "base/byte_writer.hpp"
#include "quic/wire/frame_type.hpp"

namespace millrace::quic::wire {

struct handshake_done_frame {};

[[nodiscard]] constexpr std::size_t encoded_size(const handshake_done_frame&) noexcept { return 1; }

// False when there is no room; nothing is written then.
[[nodiscard]] inline bool emit(base::byte_writer& out, const handshake_done_frame&) noexcept {
  return out.u8(static_cast<std::uint8_t>(frame_handshake_done));
}

}  // namespace millrace::quic::wire
