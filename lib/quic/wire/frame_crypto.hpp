// quic/wire/frame_crypto.hpp - CRYPTO frames: a piece of the handshake stream of one encryption level.
//
// Shape    parse() gives the piece in place. Order, overlap and holes are the stream's business.
// Units    offset and sizes are bytes of the handshake stream.
// Owner    `data` dies with the payload (parsed) or is the caller's (emitted).
// Errors   truncated; bad_value: a piece that would end beyond 2^62 - 1.
// Source   RFC 9000 19.6. Tests  test/quic/wire/frame_crypto_test.cpp
#pragma once

#include "base/byte_reader.hpp"
#include "base/byte_writer.hpp"
#include "base/parse_status.hpp"
#include "quic/wire/frame_type.hpp"

namespace millrace::quic::wire {

struct crypto_frame {
  std::uint64_t offset = 0;
  base::byte_view data{};
};

// `in` stands behind the type.
[[nodiscard]] inline base::parse_status parse(base::byte_reader& in, crypto_frame& out) noexcept {
  crypto_frame f;
  const std::uint32_t start = in.offset();
  std::uint64_t size = 0;
  if (!in.varint(f.offset) || !in.varint(size)) return {base::parse_errc::truncated, in.offset()};
  if (size > base::varint_max - f.offset) return {base::parse_errc::bad_value, start};  // RFC 9000 19.6
  if (!in.bytes(size, f.data)) return {base::parse_errc::truncated, in.offset()};
  out = f;
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
  if (room <= fixed + 1) return 0;
  const std::size_t left = room - fixed;  // for the length and the data
  std::size_t size = left - 1;
  while (size != 0 && base::varint_size(size) + size > left) --size;  // at most 8 steps: a length is 8 bytes or less
  return size;
}

// False when there is no room; nothing is written then.
[[nodiscard]] inline bool emit(base::byte_writer& out, const crypto_frame& f) noexcept {
  base::byte_span room;
  if (!out.reserve(encoded_size(f), room)) return false;
  std::uint8_t* at = room.data();
  *at++ = static_cast<std::uint8_t>(frame_crypto);
  at += base::encode_varint(at, f.offset);
  at += base::encode_varint(at, f.data.size());
  if (!f.data.empty()) std::memcpy(at, f.data.data(), f.data.size());
  return true;
}

}  // namespace millrace::quic::wire
