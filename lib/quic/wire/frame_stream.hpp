// quic/wire/frame_stream.hpp - STREAM frames: a piece of a stream, and perhaps its end.
//
// Shape    three bits of the type say whether an offset and a length are there, and whether the stream ends with the
//          piece (RFC 9000 19.8). Without a length the piece reaches to the end of the packet, so nothing, not even
//          PADDING, may follow.
//          stream_header is what stands in front of the data, for senders whose data stays where it lies until it is
//          sealed; stream_frame is both. fit_stream() tells a sender how much of its data a packet takes.
// Units    offset and sizes are bytes of the stream.
// Owner    `data` is a slice of the payload and dies with it (parsed), or the caller's (emitted).
// Errors   truncated; bad_value: a piece that would end beyond 2^62 - 1. Nor is such a piece written.
//          Order, overlap, credit, final sizes and whose streams they are: the stream's business.
// Source   RFC 9000 19.8. Tests  test/quic/wire/frame_stream_test.cpp
#pragma once

#include <algorithm>

#include "quic/wire/frame_fields.hpp"

namespace millrace::quic::wire {

// RFC 9000 19.8: the low bits of the type.
inline constexpr frame_type stream_fin_bit = 0x01;
inline constexpr frame_type stream_length_bit = 0x02;
inline constexpr frame_type stream_offset_bit = 0x04;

[[nodiscard]] constexpr bool is_stream_frame(frame_type type) noexcept {
  return type >= frame_stream_first && type <= frame_stream_last;
}

struct stream_header {
  std::uint64_t stream_id = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;   // of the data that follows
  bool fin = false;         // the stream ends behind the data
  bool has_length = true;   // false: the data fills the rest of the packet
  bool has_offset = false;  // emit writes an offset other than 0 in any case, and 0 when this says so
};

struct stream_frame {
  std::uint64_t stream_id = 0;
  std::uint64_t offset = 0;
  base::byte_view data{};
  bool fin = false;
  bool has_length = true;
  bool has_offset = false;
};

[[nodiscard]] constexpr frame_type type_of(const stream_header& h) noexcept {
  return frame_stream_first | (h.fin ? stream_fin_bit : 0) | (h.has_length ? stream_length_bit : 0) |
         (h.has_offset || h.offset != 0 ? stream_offset_bit : 0);
}
[[nodiscard]] inline stream_header header_of(const stream_frame& f) noexcept {
  return {f.stream_id, f.offset, f.data.size(), f.fin, f.has_length, f.has_offset};
}

// `type` was read before and `in` stands behind it; `beyond` bytes of the packet follow that are not in `in` (a payload
// in segments). Answers ok only when all the data is there; `in` stands in front of it then.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, frame_type type, std::size_t beyond,
                                              stream_header& out) noexcept {
  const std::uint32_t start = in.offset();
  stream_header h{.fin = (type & stream_fin_bit) != 0,
                  .has_length = (type & stream_length_bit) != 0,
                  .has_offset = (type & stream_offset_bit) != 0};
  if (!in.varint(h.stream_id) || (h.has_offset && !in.varint(h.offset)) || (h.has_length && !in.varint(h.size)))
    return {base::parse_errc::truncated, in.offset()};
  const std::size_t left = in.remaining() + beyond;
  if (!h.has_length) h.size = left;
  if (h.size > base::varint_max - h.offset) return {base::parse_errc::bad_value, start};  // RFC 9000 19.8
  if (h.size > left) return {base::parse_errc::truncated, in.offset()};
  out = h;
  return {};
}

// `in` holds the packet to its end.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, frame_type type, stream_frame& out) noexcept {
  stream_header h;
  const base::parse_status status = parse(in, type, 0, h);
  if (!status) return status;
  base::byte_view data;
  if (!in.bytes(h.size, data)) return {base::parse_errc::truncated, in.offset()};  // never: it was counted
  out = {h.stream_id, h.offset, data, h.fin, h.has_length, h.has_offset};
  return {};
}

// Without the data.
[[nodiscard]] constexpr std::size_t encoded_size(const stream_header& h) noexcept {
  return 1 + base::varint_size(h.stream_id) + (h.has_offset || h.offset != 0 ? base::varint_size(h.offset) : 0) +
         (h.has_length ? base::varint_size(h.size) : 0);
}
[[nodiscard]] inline std::size_t encoded_size(const stream_frame& f) noexcept {
  return encoded_size(header_of(f)) + f.data.size();
}

namespace detail {

[[nodiscard]] constexpr bool is_sound(const stream_header& h) noexcept {
  return h.stream_id <= base::varint_max && h.offset <= base::varint_max && h.size <= base::varint_max - h.offset;
}

// Room was reserved before; answers where the data goes.
inline std::uint8_t* put(std::uint8_t* at, const stream_header& h) noexcept {
  const frame_type type = type_of(h);
  *at++ = static_cast<std::uint8_t>(type);
  at += base::encode_varint(at, h.stream_id);
  if ((type & stream_offset_bit) != 0) at += base::encode_varint(at, h.offset);
  if (h.has_length) at += base::encode_varint(at, h.size);
  return at;
}

}  // namespace detail

// Writes what stands in front of the data. False when there is no room for that, or when a number is out of bounds;
// nothing is written then. That there is room for the data too is the caller's to know.
[[nodiscard]] inline bool emit(base::byte_writer& out, const stream_header& h) noexcept {
  base::byte_span room;
  if (!detail::is_sound(h) || !out.reserve(encoded_size(h), room)) return false;
  detail::put(room.data(), h);
  return true;
}

// The data is copied: for senders that seal in place.
[[nodiscard]] inline bool emit(base::byte_writer& out, const stream_frame& f) noexcept {
  const stream_header h = header_of(f);
  base::byte_span room;
  if (!detail::is_sound(h) || !out.reserve(encoded_size(h) + f.data.size(), room)) return false;
  std::uint8_t* at = detail::put(room.data(), h);
  if (!f.data.empty()) std::memcpy(at, f.data.data(), f.data.size());
  return true;
}

struct stream_fit {
  bool fits = false;       // false: not one byte (or, with nothing to send, not an empty frame)
  std::size_t size = 0;    // of data
  bool has_length = true;  // false: the frame has to be the packet's last, and padding stands in front of it
};

// How much of `available` bytes at `offset` goes into one frame of at most `room` bytes, header included. The length is
// left out where that makes a difference: when the data reaches the end of the room, or would not fit beside it.
// `available` 0 asks for an empty frame, which only a sender with a FIN wants.
[[nodiscard]] constexpr stream_fit fit_stream(std::size_t room, std::uint64_t stream_id, std::uint64_t offset,
                                              std::uint64_t available) noexcept {
  const std::size_t fixed = 1 + base::varint_size(stream_id) + (offset != 0 ? base::varint_size(offset) : 0);
  if (room < fixed) return {};
  const std::size_t left = room - fixed;  // for length and data
  const std::uint64_t wanted = std::min<std::uint64_t>(available, base::varint_max - offset);
  if (base::varint_size(wanted) + wanted <= left) return {true, static_cast<std::size_t>(wanted), true};
  const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, left));
  return {size != 0 || wanted == 0, size, false};
}

}  // namespace millrace::quic::wire
