// quic/wire/packet_number.hpp - packet numbers cut to 1 to 4 bytes on the wire, and made whole again.
//
// Shape    pure functions. The sender cuts by what the peer has acknowledged, the receiver completes by the largest
//          number it has opened: both in the same number space.
// Units    sizes are bytes.
// Source   RFC 9000 17.1, A.2, A.3. Tests  test/quic/wire/packet_number_test.cpp (RFC vectors)
#pragma once

#include "base/bytes.hpp"

namespace millrace::quic::wire {

inline constexpr std::uint64_t no_packet_number = ~std::uint64_t{0};  // nothing acknowledged, nothing opened
inline constexpr std::uint64_t max_packet_number = (std::uint64_t{1} << 62) - 1;  // RFC 9000 12.3

// The fewest bytes from which a peer recovers `number` > `largest_acked` (no_packet_number: none), 0 when even 4 do
// not suffice: more than 2^31 packets in flight, and RFC 9000 17.1 then forbids to send.
[[nodiscard]] constexpr std::size_t packet_number_size(std::uint64_t number, std::uint64_t largest_acked) noexcept {
  // RFC 9000 A.2: twice the distance must fit. no_packet_number is -1, so the difference is right for it too.
  const std::uint64_t unacked = number - largest_acked;
  if (unacked <= std::uint64_t{1} << 7) return 1;
  if (unacked <= std::uint64_t{1} << 15) return 2;
  if (unacked <= std::uint64_t{1} << 23) return 3;
  return unacked <= std::uint64_t{1} << 31 ? 4 : 0;
}

// Of the numbers that end in the `size` bytes of `truncated`, the one closest to `largest` + 1 (RFC 9000 A.3).
// `size` is 1 to 4 and `truncated` fits in it; `largest` is the largest opened so far or no_packet_number.
[[nodiscard]] constexpr std::uint64_t decode_packet_number(std::uint64_t largest, std::uint64_t truncated,
                                                           std::size_t size) noexcept {
  const std::uint64_t expected = largest + 1;
  const std::uint64_t window = std::uint64_t{1} << (8 * size);
  const std::uint64_t half = window / 2;
  const std::uint64_t candidate = (expected & ~(window - 1)) | truncated;
  // Sums instead of the RFC's differences: those would go below zero near the first packet.
  if (candidate + half <= expected && candidate < max_packet_number + 1 - window) return candidate + window;
  if (candidate > expected + half && candidate >= window) return candidate - window;
  return candidate;
}

// Writes the low bytes of `number` into all of `out`, which has packet_number_size() of them (RFC 9000 17.1).
inline void put_packet_number(base::byte_span out, std::uint64_t number) noexcept {
  for (std::size_t i = out.size(); i != 0; number >>= 8) out[--i] = static_cast<std::uint8_t>(number);
}

// The bytes of a packet number as they are, for decode_packet_number(). At most 4.
[[nodiscard]] inline std::uint64_t read_packet_number(base::byte_view in) noexcept {
  std::uint64_t truncated = 0;
  for (const std::uint8_t byte : in) truncated = truncated << 8 | byte;
  return truncated;
}

}  // namespace millrace::quic::wire
