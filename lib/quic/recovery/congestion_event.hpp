// quic/recovery/congestion_event.hpp - what a congestion controller is told: once an ACK, never once a packet.
//
// Units    bytes count whole packets in flight; time is ns.
// Source   RFC 9002 7, B.
#pragma once

#include "quic/recovery/delivery.hpp"

namespace millrace::quic::recovery {

struct congestion_config {
  std::uint64_t datagram_bytes = 1200;  // RFC 9002 B.1: max_datagram_size, what the path carries without fragments
  std::uint64_t initial_window = 0;     // 0: the RFC's, RFC 9002 7.2
  std::uint64_t seed = 0;               // where BBR begins its cycle
};

// RFC 9002 7.2: ten datagrams, at most the larger of 14720 bytes and two datagrams.
[[nodiscard]] constexpr std::uint64_t initial_window_bytes(const congestion_config& c) noexcept {
  if (c.initial_window != 0) return c.initial_window;
  const std::uint64_t most = 2 * c.datagram_bytes > 14720 ? 2 * c.datagram_bytes : 14720;
  return 10 * c.datagram_bytes < most ? 10 * c.datagram_bytes : most;
}
[[nodiscard]] constexpr std::uint64_t minimum_window_bytes(const congestion_config& c) noexcept {
  return 2 * c.datagram_bytes;  // RFC 9002 7.2
}

struct ack_event {
  std::uint64_t now_ns = 0;
  std::uint64_t acked_bytes = 0;      // newly acknowledged, in flight until now
  std::uint64_t growth_bytes = 0;     // of those: sent after recovery began, and not while the application was idle
  std::uint64_t prior_in_flight = 0;  // before this ACK
  std::uint64_t in_flight = 0;        // after it, and after what it showed lost
  std::uint64_t lost_bytes = 0;       // shown lost by this ACK
  std::uint64_t delivered_bytes = 0;  // on this path, ever
  std::uint64_t largest_acked = 0;    // packet number
  std::uint64_t largest_sent = 0;     // packet number
  std::uint64_t latest_rtt_ns = 0;    // 0: this ACK gave no sample
  std::uint64_t smoothed_rtt_ns = 0;
  std::uint64_t min_rtt_ns = 0;
  rate_sample rate;
};

struct loss_event {
  std::uint64_t now_ns = 0;
  std::uint64_t lost_bytes = 0;
  std::uint64_t largest_lost_sent_ns = 0;  // of the last packet lost
  std::uint64_t in_flight = 0;             // without the lost ones
  bool persistent = false;                 // RFC 9002 7.6
};

struct ce_event {
  std::uint64_t now_ns = 0;
  std::uint64_t sent_ns = 0;  // of the largest packet that the ACK with the marks newly acknowledged
  std::uint64_t in_flight = 0;
};

}  // namespace millrace::quic::recovery
