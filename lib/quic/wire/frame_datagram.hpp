// quic/wire/frame_datagram.hpp - DATAGRAM frames: a message that is sent once and never again.
//
// Shape    0x31 carries its length; 0x30 reaches to the end of the packet, so nothing, not even PADDING, may follow.
//          datagram_header is what stands in front of the data, for senders whose data stays where it lies.
//          A message is whole or nothing. Where a payload lies in segments and a message crosses from one to the next,
//          it is visited in pieces, and `more` says how much of it is still to come.
// Owner    `data` is a slice of the payload and dies with it (parsed), or the caller's (emitted).
// Errors   truncated. Whether DATAGRAM was negotiated, and how large one may be: frame_rules of frame_walker.hpp.
// Source   RFC 9221 4 5. Tests  test/quic/wire/frame_datagram_test.cpp
#pragma once

#include "quic/wire/frame_fields.hpp"

namespace millrace::quic::wire {

struct datagram_header {
  std::uint64_t size = 0;  // of the data that follows
  bool has_length = true;  // false: the data fills the rest of the packet
};

struct datagram_frame {
  base::byte_view data{};
  bool has_length = true;
  std::size_t more = 0;  // bytes of this message that the next visits bring; 0 in a payload of one piece. Not emitted.
};

// `type` is frame_datagram or frame_datagram_length, read before; `in` stands behind it and `beyond` bytes of the
// packet follow that are not in `in`. Answers ok only when all the data is there; `in` stands in front of it then.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, frame_type type, std::size_t beyond,
                                              datagram_header& out) noexcept {
  datagram_header h{.has_length = type == frame_datagram_length};
  if (h.has_length && !in.varint(h.size)) return {base::parse_errc::truncated, in.offset()};
  const std::size_t left = in.remaining() + beyond;
  if (!h.has_length) h.size = left;
  if (h.size > left) return {base::parse_errc::truncated, in.offset()};
  out = h;
  return {};
}

// `in` holds the packet to its end.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, frame_type type, datagram_frame& out) noexcept {
  datagram_header h;
  const base::parse_status status = parse(in, type, 0, h);
  if (!status) return status;
  base::byte_view data;
  if (!in.bytes(h.size, data)) return {base::parse_errc::truncated, in.offset()};  // never: it was counted
  out = {data, h.has_length, 0};
  return {};
}

// Without the data.
[[nodiscard]] constexpr std::size_t encoded_size(const datagram_header& h) noexcept {
  return 1 + (h.has_length ? base::varint_size(h.size) : 0);
}
[[nodiscard]] inline std::size_t encoded_size(const datagram_frame& f) noexcept {
  return encoded_size(datagram_header{f.data.size(), f.has_length}) + f.data.size();
}

// The largest message that a frame of at most `frame_size` bytes carries, with or without its length: what
// max_datagram_frame_size and the room in a packet leave to an application.
[[nodiscard]] constexpr std::size_t datagram_capacity(std::size_t frame_size, bool has_length) noexcept {
  if (frame_size == 0) return 0;
  return has_length ? counted_capacity(frame_size - 1) : frame_size - 1;
}

// Writes what stands in front of the data. False when there is no room for that, or the size is no varint; nothing is
// written then.
[[nodiscard]] inline bool emit(base::byte_writer& out, const datagram_header& h) noexcept {
  base::byte_span room;
  if (h.size > base::varint_max || !out.reserve(encoded_size(h), room)) return false;
  room[0] = static_cast<std::uint8_t>(h.has_length ? frame_datagram_length : frame_datagram);
  if (h.has_length) base::encode_varint(room.data() + 1, h.size);
  return true;
}

// The data is copied. False when there is no room; nothing is written then.
[[nodiscard]] inline bool emit(base::byte_writer& out, const datagram_frame& f) noexcept {
  const datagram_header h{f.data.size(), f.has_length};
  return out.room() >= encoded_size(h) + f.data.size() && emit(out, h) && out.bytes(f.data);
}

}  // namespace millrace::quic::wire
