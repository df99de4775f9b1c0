// quic/recovery/new_reno.hpp - the congestion controller of RFC 9002 7.
//
//   slow start --loss, CE--> recovery --something sent after it began is acknowledged--> congestion avoidance
//
// Units    bytes. Source RFC 9002 7, B. Tests test/quic/recovery/new_reno_test.cpp
#pragma once

#include "quic/recovery/congestion_event.hpp"

namespace millrace::quic::recovery {

class new_reno {
  congestion_config config_;
  std::uint64_t window_;
  std::uint64_t threshold_ = UINT64_MAX;  // slow start below it
  std::uint64_t recovery_start_ns_ = 0;   // packets sent at or before it belong to the loss that began it
  std::uint64_t credit_ = 0;              // bytes acknowledged that did not make up a datagram's growth yet

 public:
  explicit new_reno(const congestion_config& c) noexcept : config_(c), window_(initial_window_bytes(c)) {}

  void on_ack(const ack_event& e) noexcept;
  void on_loss(const loss_event& e) noexcept;
  void on_ce(const ce_event& e) noexcept { reduce(e.now_ns, e.sent_ns); }
  void set_datagram_bytes(std::uint64_t bytes) noexcept;

  [[nodiscard]] std::uint64_t window_bytes() const noexcept { return window_; }
  [[nodiscard]] std::uint64_t threshold_bytes() const noexcept { return threshold_; }
  [[nodiscard]] std::uint64_t recovery_start_ns() const noexcept { return recovery_start_ns_; }
  [[nodiscard]] bool is_slow_start() const noexcept { return window_ < threshold_; }

 private:
  void reduce(std::uint64_t now_ns, std::uint64_t sent_ns) noexcept;
};

}  // namespace millrace::quic::recovery
