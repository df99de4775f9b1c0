// quic/wire/frame_new_connection_id.hpp - NEW_CONNECTION_ID frames: one more ID to be reached at, and which to forget.
//
// Shape    `retire_prior_to` is judged against `sequence` here; how many IDs may live at a time, and that one which
//          comes again is the same, is the connection's business. So is that nobody retires IDs one by one in a loop
//          over numbers: the difference may be 2^62.
// Owner    views die with the payload (parsed) or are the caller's (emitted).
// Errors   truncated; bad_value: an ID of no or more than 20 bytes, or retiring beyond its own number.
//          Nor is such a frame written.
// Source   RFC 9000 19.15. Tests  test/quic/wire/frame_connection_test.cpp
#pragma once

#include "quic/wire/frame_fields.hpp"
#include "quic/wire/stateless_reset.hpp"

namespace millrace::quic::wire {

struct new_connection_id_frame {
  std::uint64_t sequence = 0;
  std::uint64_t retire_prior_to = 0;        // IDs numbered below are to be retired; at most `sequence`
  base::byte_view cid{};                    // 1 to 20 bytes
  base::byte_view stateless_reset_token{};  // 16 bytes
};

// `in` stands behind the type.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, new_connection_id_frame& out) noexcept {
  const std::uint32_t start = in.offset();
  new_connection_id_frame f;
  const base::parse_status status = read_fields(in, f.sequence, f.retire_prior_to);
  if (!status) return status;
  if (f.retire_prior_to > f.sequence) return {base::parse_errc::bad_value, start};  // RFC 9000 19.15
  const std::uint32_t size_at = in.offset();
  std::uint8_t size = 0;
  if (!in.u8(size)) return {base::parse_errc::truncated, size_at};
  if (size == 0 || size > max_cid_size) return {base::parse_errc::bad_value, size_at};
  if (!in.bytes(size, f.cid) || !in.bytes(stateless_reset_token_size, f.stateless_reset_token))
    return {base::parse_errc::truncated, in.offset()};
  out = f;
  return {};
}

[[nodiscard]] inline std::size_t encoded_size(const new_connection_id_frame& f) noexcept {
  return fields_size(f.sequence, f.retire_prior_to) + 1 + f.cid.size() + stateless_reset_token_size;
}

// False when there is no room, or when parse() would refuse the frame; nothing is written then.
[[nodiscard]] inline bool emit(base::byte_writer& out, const new_connection_id_frame& f) noexcept {
  base::byte_span room;
  if (f.sequence > base::varint_max || f.retire_prior_to > f.sequence || f.cid.empty() || f.cid.size() > max_cid_size ||
      f.stateless_reset_token.size() != stateless_reset_token_size || !out.reserve(encoded_size(f), room))
    return false;
  std::uint8_t* at = room.data();
  *at++ = static_cast<std::uint8_t>(frame_new_connection_id);
  at += base::encode_varint(at, f.sequence);
  at += base::encode_varint(at, f.retire_prior_to);
  *at++ = static_cast<std::uint8_t>(f.cid.size());
  std::memcpy(at, f.cid.data(), f.cid.size());
  std::memcpy(at + f.cid.size(), f.stateless_reset_token.data(), stateless_reset_token_size);
  return true;
}

}  // namespace millrace::quic::wire
