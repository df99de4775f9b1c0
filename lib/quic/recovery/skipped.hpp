// quic/recovery/skipped.hpp - packet numbers left out on purpose, so that a peer that acknowledges what it never got
// is found out.
//
// Shape    the connection asks distance() for how far ahead the next hole is; the numbers left out last are kept, and
//          every acknowledged range is held against them. The distance grows with the window, so that a receiver that
//          guesses meets a hole every few windows, and acknowledging them costs honest peers next to nothing.
// Limits   the last 4 holes of a packet number space; an older one is behind everything that is in flight.
// Source   RFC 9000 21.4. Tests  test/quic/recovery/sent_packets_test.cpp
#pragma once

#include <array>

#include "quic/wire/frame_ack.hpp"
#include "quic/wire/packet_number.hpp"

namespace millrace::quic::recovery {

class skipped_numbers {
  static constexpr unsigned kept = 4;
  std::array<std::uint64_t, kept> numbers_{wire::no_packet_number, wire::no_packet_number, wire::no_packet_number,
                                           wire::no_packet_number};
  std::uint32_t next_ = 0;

 public:
  void add(std::uint64_t number) noexcept { numbers_[next_++ % kept] = number; }
  [[nodiscard]] bool is_in(const wire::packet_range& range) const noexcept {
    for (const std::uint64_t n : numbers_)
      if (n >= range.smallest && n <= range.largest) return true;  // no_packet_number is above every range
    return false;
  }

  // How many numbers from the last hole (or the start) to the next one: between 1 and 3 windows of packets, at least
  // 64. `random` is uniform over 64 bits and nobody else knows it.
  [[nodiscard]] static constexpr std::uint64_t distance(std::uint64_t window_pkts, std::uint64_t random) noexcept {
    const std::uint64_t base = window_pkts < 64 ? 64 : window_pkts;
    return base + random % (2 * base);
  }
};

}  // namespace millrace::quic::recovery
