// quic/wire/frame_fields.hpp - what frames have in common that are a type and integers, and nothing else.
//
// Shape    read_fields() reads them in the order named; fields_size() and write_fields() are its mirror. The header of
//          each frame names its fields once for each direction and adds its bounds.
// Errors   read: truncated, and the fields behind the cut are as they were. write: false when there is no room, or a
//          field is above 2^62 - 1; nothing is written then.
// Source   RFC 9000 12.4 16 19. Tests  test/quic/wire/frame_limits_test.cpp, frame_stream_control_test.cpp
#pragma once

#include "base/byte_reader.hpp"
#include "base/byte_writer.hpp"
#include "base/parse_status.hpp"
#include "quic/wire/frame_type.hpp"

namespace millrace::quic::wire {

template <class... Fields>
[[nodiscard]] base::parse_status read_fields(base::byte_reader& in, Fields&... fields) noexcept {
  if ((in.varint(fields) && ...)) return {};
  return {base::parse_errc::truncated, in.offset()};
}

// Type included; every type of RFC 9000 takes one byte.
template <class... Fields>
[[nodiscard]] constexpr std::size_t fields_size(Fields... fields) noexcept {
  return 1 + (base::varint_size(fields) + ... + 0);
}

template <class... Fields>
[[nodiscard]] bool write_fields(base::byte_writer& out, frame_type type, Fields... fields) noexcept {
  base::byte_span room;
  if (!((fields <= base::varint_max) && ...) || !out.reserve(fields_size(fields...), room)) return false;
  std::uint8_t* at = room.data();
  *at++ = static_cast<std::uint8_t>(type);
  ((at += base::encode_varint(at, fields)), ...);
  return true;
}

// The most bytes that fit into `room` behind a varint that counts them; 0 when not even one does.
[[nodiscard]] constexpr std::size_t counted_capacity(std::size_t room) noexcept {
  if (room <= 1) return 0;
  std::size_t size = room - 1;
  while (size != 0 && base::varint_size(size) + size > room) --size;  // at most 7 steps: a length is 8 bytes or less
  return size;
}

}  // namespace millrace::quic::wire
