// quic/protect/packet_number.hpp - packet numbers as they travel: the low 1 to 4 bytes of 62 bits.
//
// Shape    decode_packet_number() finds the number nearest to what is expected next; packet_number_size() answers how
//          many bytes a sender must write so that the receiver can do so.
// Errors   none: any input has an answer; whether it is the right one is for the AEAD to say.
// Source   RFC 9000 17.1 A.2 A.3. Tests  test/quic/protect/packet_number_test.cpp
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace millrace::quic::protect {

inline constexpr std::uint64_t packet_number_max = (std::uint64_t{1} << 62) - 1;  // RFC 9000 12.3
inline constexpr std::uint64_t no_packet_number = ~std::uint64_t{0};  // "none seen yet", "none acknowledged"
inline constexpr unsigned packet_number_size_max = 4;

// RFC 9000 A.3. `largest`: the largest number opened in the space, or no_packet_number; `truncated`: `size` bytes.
[[nodiscard]] constexpr std::uint64_t decode_packet_number(std::uint64_t largest, std::uint64_t truncated,
                                                           unsigned size) noexcept {
  const std::uint64_t expected = largest + 1;  // no_packet_number wraps to 0, which is the first number there is
  const std::uint64_t window = std::uint64_t{1} << (8 * size);
  const std::uint64_t half = window / 2;
  const std::uint64_t candidate = (expected & ~(window - 1)) | truncated;
  // Both comparisons add on the left, so that small numbers cannot wrap below zero.
  if (candidate + half <= expected && candidate <= packet_number_max - window) return candidate + window;
  // The RFC's text lets a number beyond the last one stand when the last one has been seen; there is none beyond.
  if ((candidate > expected + half || candidate > packet_number_max) && candidate >= window) return candidate - window;
  return candidate;
}

// RFC 9000 A.2: bytes for `number` when the peer has acknowledged `largest_acked` (or no_packet_number): the distance
// must be under half of what the bytes can tell apart. Answers 1 to 4; distances beyond 2^31 are for the sender to
// prevent.
[[nodiscard]] constexpr unsigned packet_number_size(std::uint64_t number, std::uint64_t largest_acked) noexcept {
  const std::uint64_t unacknowledged = number - largest_acked;  // no_packet_number makes it number + 1
  const auto bits = static_cast<unsigned>(std::bit_width(unacknowledged)) + 1;
  const unsigned size = (bits + 7) / 8;
  return size < packet_number_size_max ? size : packet_number_size_max;
}

}  // namespace millrace::quic::protect
