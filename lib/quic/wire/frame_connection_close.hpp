// quic/wire/frame_connection_close.hpp - CONNECTION_CLOSE frames: why a peer gives up the connection.
//
// Shape    type 0x1c speaks for the transport and names the frame at fault; 0x1d for the application, which has codes
//          of its own.
// Owner    `reason` dies with the payload (parsed) or is the caller's (emitted). It should be UTF-8, and whoever
//          prints it must not rely on that.
// Errors   truncated.
// Source   RFC 9000 19.19. Tests  test/quic/wire/frame_connection_close_test.cpp
#pragma once

#include "base/byte_reader.hpp"
#include "base/byte_writer.hpp"
#include "base/parse_status.hpp"
#include "quic/wire/frame_type.hpp"

namespace millrace::quic::wire {

struct connection_close_frame {
  bool from_application = false;
  std::uint64_t error_code = 0;   // a transport_error, or the application's own
  frame_type offending_type = 0;  // the frame at fault; 0 (which is PADDING) says nothing. Not from an application.
  base::byte_view reason{};
};

// `type` is frame_connection_close or frame_connection_close_app, read before; `in` stands behind it.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, frame_type type,
                                              connection_close_frame& out) noexcept {
  connection_close_frame f;
  f.from_application = type == frame_connection_close_app;
  std::uint64_t size = 0;
  if (!in.varint(f.error_code) || (!f.from_application && !in.varint(f.offending_type)) || !in.varint(size) ||
      !in.bytes(size, f.reason))
    return {base::parse_errc::truncated, in.offset()};
  out = f;
  return {};
}

[[nodiscard]] inline std::size_t encoded_size(const connection_close_frame& f) noexcept {
  return 1 + base::varint_size(f.error_code) + (f.from_application ? 0 : base::varint_size(f.offending_type)) +
         base::varint_size(f.reason.size()) + f.reason.size();
}

// False when there is no room; nothing is written then.
[[nodiscard]] inline bool emit(base::byte_writer& out, const connection_close_frame& f) noexcept {
  base::byte_span room;
  if (!out.reserve(encoded_size(f), room)) return false;
  std::uint8_t* at = room.data();
  *at++ = static_cast<std::uint8_t>(f.from_application ? frame_connection_close_app : frame_connection_close);
  at += base::encode_varint(at, f.error_code);
  if (!f.from_application) at += base::encode_varint(at, f.offending_type);
  at += base::encode_varint(at, f.reason.size());
  if (!f.reason.empty()) std::memcpy(at, f.reason.data(), f.reason.size());
  return true;
}

}  // namespace millrace::quic::wire
