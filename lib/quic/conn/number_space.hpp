// quic/conn/number_space.hpp - what is known of the packets received in one packet number space.
//
// Source   RFC 9000 12.3, 13.2. Tests  test/quic/sim/
#pragma once

#include "quic/recovery/ack_policy.hpp"
#include "quic/wire/ack_ranges.hpp"

namespace millrace::quic::conn {

template <std::size_t Ranges>
struct number_space {
  wire::ack_ranges<Ranges> received;
  recovery::ack_policy acks;
  std::uint64_t largest_opened = wire::no_packet_number;

  explicit number_space(const recovery::ack_policy_config& config) noexcept : acks(config) {}

  // RFC 9000 12.3: what came before, or may have come before, is not worked on again.
  [[nodiscard]] bool is_duplicate(std::uint64_t number) const noexcept {
    if (received.largest() == wire::no_packet_number || number > received.largest()) return number < received.floor();
    return number < received.floor() || received.contains(number);
  }
};

inline constexpr std::size_t application_ack_ranges = 32;
inline constexpr std::size_t handshake_ack_ranges = 8;
using application_space = number_space<application_ack_ranges>;
using handshake_space = number_space<handshake_ack_ranges>;

}  // namespace millrace::quic::conn
