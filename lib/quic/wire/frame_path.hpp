// quic/wire/frame_path.hpp - PATH_CHALLENGE and PATH_RESPONSE frames: is the peer at this address, and does it hear us?
//
// Shape    eight bytes that nobody can guess, sent back as they came: answer_of() makes the one from the other. They
//          are copied out: a response outlives the packet that asked for it.
// Errors   truncated.
// Source   RFC 9000 19.17 19.18. Tests  test/quic/wire/frame_connection_test.cpp
#pragma once

#include <algorithm>
#include <array>

#include "quic/wire/frame_fields.hpp"

namespace millrace::quic::wire {

using path_data = std::array<std::uint8_t, 8>;

struct path_challenge_frame {
  path_data data{};
};
struct path_response_frame {
  path_data data{};
};

// RFC 9000 19.17: the response carries what the challenge did.
[[nodiscard]] constexpr path_response_frame answer_of(const path_challenge_frame& f) noexcept { return {f.data}; }

namespace detail {

[[nodiscard]] inline base::parse_status read_path_data(base::byte_reader& in, path_data& out) noexcept {
  base::byte_view bytes;
  if (!in.bytes(out.size(), bytes)) return {base::parse_errc::truncated, in.offset()};
  std::copy_n(bytes.data(), out.size(), out.data());
  return {};
}

[[nodiscard]] inline bool write_path_data(base::byte_writer& out, frame_type type, const path_data& data) noexcept {
  base::byte_span room;
  if (!out.reserve(1 + data.size(), room)) return false;
  room[0] = static_cast<std::uint8_t>(type);
  std::copy_n(data.data(), data.size(), room.data() + 1);
  return true;
}

}  // namespace detail

// `in` stands behind the type.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, path_challenge_frame& out) noexcept {
  return detail::read_path_data(in, out.data);
}
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, path_response_frame& out) noexcept {
  return detail::read_path_data(in, out.data);
}

[[nodiscard]] constexpr std::size_t encoded_size(const path_challenge_frame& f) noexcept { return 1 + f.data.size(); }
[[nodiscard]] constexpr std::size_t encoded_size(const path_response_frame& f) noexcept { return 1 + f.data.size(); }

// False when there is no room; nothing is written then.
[[nodiscard]] inline bool emit(base::byte_writer& out, const path_challenge_frame& f) noexcept {
  return detail::write_path_data(out, frame_path_challenge, f.data);
}
[[nodiscard]] inline bool emit(base::byte_writer& out, const path_response_frame& f) noexcept {
  return detail::write_path_data(out, frame_path_response, f.data);
}

}  // namespace millrace::quic::wire
