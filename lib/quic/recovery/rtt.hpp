// quic/recovery/rtt.hpp - round-trip time of one path, from acknowledgements.
//
// Shape    fields as RFC 9002 5 names them. on_sample() takes what one ACK measured.
// Units    ns throughout, so that paths far below a millisecond are smoothed as well as long ones.
// Errors   none: a peer's delay is used only where it keeps the sample at or above the minimum.
// Source   RFC 9002 5, A.7. Tests  test/quic/recovery/rtt_test.cpp
#pragma once

#include "quic/recovery/types.hpp"

namespace millrace::quic::recovery {

inline constexpr std::uint64_t initial_rtt_ns = 333 * ms;  // RFC 9002 6.2.2
inline constexpr std::uint64_t granularity_ns = 1 * ms;    // RFC 9002 6.1.2

class rtt {
  std::uint64_t latest_ns_ = 0;
  std::uint64_t smoothed_ns_ = initial_rtt_ns;
  std::uint64_t variation_ns_ = initial_rtt_ns / 2;
  std::uint64_t min_ns_ = 0;
  std::uint64_t first_sample_ns_ = never_ns;
  std::uint64_t max_ack_delay_ns_ = 25 * ms;

 public:
  // Of a path like another: a resumed connection's, say. Only before the first sample.
  void set_initial(std::uint64_t rtt_ns) noexcept;
  // The peer's transport parameter.
  void set_max_ack_delay(std::uint64_t delay_ns) noexcept { max_ack_delay_ns_ = delay_ns; }

  struct sample {
    std::uint64_t rtt_ns = 0;        // now less when the largest newly acknowledged packet was sent
    std::uint64_t ack_delay_ns = 0;  // as the peer says
    std::uint64_t now_ns = 0;
    packet_space space = packet_space::application;
    bool confirmed = true;  // the handshake is
  };
  void on_sample(const sample& s) noexcept;
  // RFC 9002 5.2: the path changed, or stayed congested long enough to doubt the minimum: the latest stands for it.
  void forget_min() noexcept { min_ns_ = latest_ns_; }

  [[nodiscard]] bool has_sample() const noexcept { return first_sample_ns_ != never_ns; }
  [[nodiscard]] std::uint64_t first_sample_ns() const noexcept { return first_sample_ns_; }  // when; never_ns before
  [[nodiscard]] std::uint64_t latest_ns() const noexcept { return latest_ns_; }              // 0 before the first
  [[nodiscard]] std::uint64_t min_ns() const noexcept { return min_ns_; }                    // 0 before the first
  [[nodiscard]] std::uint64_t smoothed_ns() const noexcept { return smoothed_ns_; }
  [[nodiscard]] std::uint64_t variation_ns() const noexcept { return variation_ns_; }
  [[nodiscard]] std::uint64_t max_ack_delay_ns() const noexcept { return max_ack_delay_ns_; }

  // RFC 9002 6.2.1, without the peer's delay and without backoff.
  [[nodiscard]] std::uint64_t pto_ns() const noexcept {
    const std::uint64_t spread = 4 * variation_ns_;
    return smoothed_ns_ + (spread > granularity_ns ? spread : granularity_ns);
  }
  // RFC 9002 6.1.2: 9/8 of a round trip, at least the granularity.
  [[nodiscard]] std::uint64_t loss_delay_ns() const noexcept {
    const std::uint64_t larger = smoothed_ns_ > latest_ns_ ? smoothed_ns_ : latest_ns_;
    const std::uint64_t delay = larger + larger / 8;
    return delay > granularity_ns ? delay : granularity_ns;
  }
  // RFC 9002 7.6.1: packets lost over a longer time than this are persistent congestion.
  [[nodiscard]] std::uint64_t persistent_ns() const noexcept { return 3 * (pto_ns() + max_ack_delay_ns_); }
};

}  // namespace millrace::quic::recovery
