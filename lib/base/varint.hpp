// base/varint.hpp - variable-length integers of RFC 9000 section 16 (QUIC, HTTP/3).
//
// Shape    two bits of length, big-endian value; 1, 2, 4 or 8 bytes, 0 .. 2^62-1. Non-minimal forms are legal.
// Errors   decode: 0 bytes used when the input is short. encode: the caller checks room with varint_size.
// Source   RFC 9000 16, A.1. Tests  test/base/varint_test.cpp
#pragma once

#include "base/bytes.hpp"
#include "base/endian.hpp"

namespace millrace::base {

inline constexpr std::uint64_t varint_max = (std::uint64_t{1} << 62) - 1;  // RFC 9000 16
inline constexpr std::size_t max_varint_size = 8;

// Bytes of the shortest encoding; `v` must not exceed varint_max.
[[nodiscard]] constexpr std::size_t varint_size(std::uint64_t v) noexcept {
  return v < 0x40 ? 1 : v < 0x4000 ? 2 : v < 0x4000'0000 ? 4 : 8;
}

// Writes the shortest encoding of `v` <= varint_max at `p`, where varint_size(v) bytes are free; answers that size.
inline std::size_t encode_varint(std::uint8_t* p, std::uint64_t v) noexcept {
  if (v < 0x40) {
    p[0] = static_cast<std::uint8_t>(v);
    return 1;
  }
  if (v < 0x4000) {
    store_be16(p, static_cast<std::uint16_t>(v | 0x4000));
    return 2;
  }
  if (v < 0x4000'0000) {
    store_be32(p, static_cast<std::uint32_t>(v | 0x8000'0000));
    return 4;
  }
  store_be64(p, v | 0xC000'0000'0000'0000);
  return 8;
}

// Reads one integer from the front of `in`. Answers the bytes used, or 0 (and `out` untouched) when `in` is short.
[[nodiscard]] inline std::size_t decode_varint(byte_view in, std::uint64_t& out) noexcept {
  if (in.empty()) return 0;
  const std::uint8_t* p = in.data();
  // Each size has a branch and a constant of its own: where the next integer begins then waits for no load, as long as
  // sizes are what they mostly are. Computed from the first byte, a frame of integers costs one load after another.
  if (p[0] < 0x40) {
    out = p[0];
    return 1;
  }
  if (p[0] < 0x80) {
    if (in.size() < 2) return 0;
    out = load_be16(p) & 0x3FFF;
    return 2;
  }
  if (p[0] < 0xC0) {
    if (in.size() < 4) return 0;
    out = load_be32(p) & 0x3FFF'FFFF;
    return 4;
  }
  if (in.size() < 8) return 0;
  out = load_be64(p) & varint_max;
  return 8;
}

}  // namespace millrace::base
