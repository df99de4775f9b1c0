// quic/recovery/types.hpp - words that all parts of loss recovery share.
//
// Units    time is nanoseconds of one monotonic clock that the caller reads; never_ns is "no such time".
// Source   RFC 9002 2, A.2.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::quic::recovery {

enum class packet_space : std::uint8_t { initial, handshake, application };  // RFC 9000 12.3
inline constexpr std::size_t packet_spaces = 3;

inline constexpr std::uint64_t never_ns = UINT64_MAX;
inline constexpr std::uint64_t us = 1000;
inline constexpr std::uint64_t ms = 1000 * us;
inline constexpr std::uint64_t second = 1000 * ms;

// `a` + `b`, or never_ns when that does not fit.
[[nodiscard]] constexpr std::uint64_t later(std::uint64_t a, std::uint64_t b) noexcept {
  return a > never_ns - b ? never_ns : a + b;
}

// a * b / c, rounded down; the largest value when that does not fit. `c` is not 0.
[[nodiscard]] constexpr std::uint64_t multiply_divide(std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept {
  std::uint64_t narrow = 0;
  if (!__builtin_mul_overflow(a, b, &narrow)) return narrow / c;  // nearly always, and much faster
  __extension__ using wide = unsigned __int128;
  const wide result = static_cast<wide>(a) * b / c;
  return result > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(result);
}

// An ACK frame's delay in ns: `field` times 2^exponent microseconds, with the exponent that the peer declared (RFC 9000
// 18.2, at most 20). never_ns when that does not fit: it is a peer's number, and far beyond what anyone believes.
[[nodiscard]] constexpr std::uint64_t ack_delay_ns(std::uint64_t field, unsigned exponent) noexcept {
  return field > never_ns / us >> exponent ? never_ns : (field << exponent) * us;
}

// What one frame of a sent packet needs to be repeated, or to be forgotten. The connection writes and reads it;
// recovery keeps it and hands it back once, as acknowledged or as lost.
struct sent_token {
  std::uint8_t kind = 0;     // which frame
  std::uint8_t flags = 0;    // FIN and the like
  std::uint16_t length = 0;  // bytes of data
  std::uint32_t slot = 0;    // which stream, connection ID ...
  std::uint64_t value = 0;   // offset, limit, largest acknowledged ...
  friend constexpr bool operator==(const sent_token&, const sent_token&) = default;
};
static_assert(sizeof(sent_token) == 16, "four to a cache line: a full packet carries one or two");

}  // namespace millrace::quic::recovery
