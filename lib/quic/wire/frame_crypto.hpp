// quic/wire/frame_crypto.hpp - CRYPTO frames: a piece of the handshake stream of one encryption level.
//
// Shape    parse() gives the piece in place. Order, overlap and holes are the stream's business.
// Units    offset and sizes are bytes of the handshake stream.
// Owner    `data` dies with the payload (parsed) or is the caller's (emitted).
// Errors   truncated; bad_value: a piece that would end beyond 2^62 - 1.
// Source   RFC 9000 19.6. Tests  test/quic/wire/frame_crypto_test.cpp
#pragma once

#include "quic/wire/frame_fields.hpp"

namespace millrace::quic::wire {

struct crypto_frame {
  std::uint64_t offset = 0;
  base::byte_view data{};
};

// What stands in front of the data.
struct crypto_header {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// `in` stands behind the type, and `beyond` bytes of the packet follow that are not in `in` (a payload in segments).
// Answers ok only when all the data is there; `in` stands in front of it then.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, std::size_t beyond, crypto_header& out) noexcept {
  const std::uint32_t start = in.offset();
  crypto_header h;
  if (!in.varint(h.offset) || !in.varint(h.size)) return {base::parse_errc::truncated, in.offset()};
  if (h.size > base::varint_max - h.offset) return {base::parse_errc::bad_value, start};  // RFC 9000 19.6
  if (h.size > in.remaining() + beyond) return {base::parse_errc::truncated, in.offset()};
  out = h;
  return {};
}

// `in` stands behind the type.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, crypto_frame& out) noexcept {
  crypto_header h;
  const base::parse_status status = parse(in, 0, h);
  if (!status) return status;
  base::byte_view data;
  if (!in.bytes(h.size, data)) return {base::parse_errc::truncated, in.offset()};  // never: it was counted
  out = {h.offset, data};
  return {};
}

// Type, offset and length in front of the data.
[[nodiscard]] constexpr std::size_t crypto_overhead(std::uint64_t offset, std::size_t data_size) noexcept {
  return 1 + base::varint_size(offset) + base::varint_size(data_size);
}
[[nodiscard]] inline std::size_t encoded_size(const crypto_frame& f) noexcept {
  return crypto_overhead(f.offset, f.data.size()) + f.data.size();
}

// The most data that a frame at `offset` can carry in `room` bytes; 0 when not even one byte fits.
[[nodiscard]] constexpr std::size_t crypto_capacity(std::size_t room, std::uint64_t offset) noexcept {
  const std::size_t fixed = 1 + base::varint_size(offset);
  return room <= fixed ? 0 : counted_capacity(room - fixed);
}

// Writes what stands in front of the data. False when there is no room for that, or the piece would end beyond 2^62 -
// 1; nothing is written then.
[[nodiscard]] inline bool emit(base::byte_writer& out, const crypto_header& h) noexcept {
  return h.offset <= base::varint_max && h.size <= base::varint_max - h.offset &&
         write_fields(out, frame_crypto, h.offset, h.size);
}

// The data is copied. False when there is no room; nothing is written then.
[[nodiscard]] inline bool emit(base::byte_writer& out, const crypto_frame& f) noexcept {
  return out.room() >= encoded_size(f) && emit(out, crypto_header{f.offset, f.data.size()}) && out.bytes(f.data);
}

}  // namespace millrace::quic::wire
