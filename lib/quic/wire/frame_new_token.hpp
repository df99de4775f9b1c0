// quic/wire/frame_new_token.hpp - NEW_TOKEN frames: what a client may show a server when it comes again.
//
// Shape    a server's frame: is_allowed_from() of frame_type.hpp refuses a client's.
// Owner    `token` dies with the payload (parsed) or is the caller's (emitted).
// Errors   truncated; bad_value: a token of nothing.
// Source   RFC 9000 19.7. Tests  test/quic/wire/frame_connection_test.cpp
#pragma once

#include "quic/wire/frame_fields.hpp"

namespace millrace::quic::wire {

struct new_token_frame {
  base::byte_view token{};
};

// `in` stands behind the type.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, new_token_frame& out) noexcept {
  const std::uint32_t start = in.offset();
  std::uint64_t size = 0;
  base::byte_view token;
  if (!in.varint(size)) return {base::parse_errc::truncated, in.offset()};
  if (size == 0) return {base::parse_errc::bad_value, start};  // RFC 9000 19.7
  if (!in.bytes(size, token)) return {base::parse_errc::truncated, in.offset()};
  out.token = token;
  return {};
}

[[nodiscard]] inline std::size_t encoded_size(const new_token_frame& f) noexcept {
  return fields_size(f.token.size()) + f.token.size();
}

// False when there is no room, or no token; nothing is written then.
[[nodiscard]] inline bool emit(base::byte_writer& out, const new_token_frame& f) noexcept {
  base::byte_span room;
  if (f.token.empty() || !out.reserve(encoded_size(f), room)) return false;
  std::uint8_t* at = room.data();
  *at++ = static_cast<std::uint8_t>(frame_new_token);
  at += base::encode_varint(at, f.token.size());
  std::memcpy(at, f.token.data(), f.token.size());
  return true;
}

}  // namespace millrace::quic::wire
