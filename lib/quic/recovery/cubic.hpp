// quic/recovery/cubic.hpp - CUBIC with HyStart++: the default congestion controller.
//
//   W_cubic(t) = C (t - K)^3 + W_max        K = cbrt((W_max - cwnd_epoch) / C)        C = 0.4, beta = 0.7
//
// Shape    slow start as HyStart++ has it; then, for each ACK, the larger of the curve's pace and of what Reno would
//          have (W_est). t is time in congestion avoidance: what the application left unused does not count.
// Units    the window in bytes; the curve in datagrams and seconds, as the RFC has it, in floating point: a cube root a
//          loss, a cube an ACK.
// Source   RFC 9438 4, RFC 9406, RFC 9002 7. Tests  test/quic/recovery/cubic_test.cpp, simulated in
//          congestion_sim_test.cpp
#pragma once

#include "quic/recovery/hystart.hpp"

namespace millrace::quic::recovery {

class cubic {
  congestion_config config_;
  std::uint64_t window_;
  std::uint64_t threshold_ = UINT64_MAX;
  std::uint64_t recovery_start_ns_ = 0;
  hystart hystart_;

  // Of the epoch: the stretch of congestion avoidance since the last reduction. In datagrams and seconds.
  double w_max_ = 0;
  double k_ = 0;
  double cwnd_prior_ = 0;              // the window before the last reduction
  double w_est_ = 0;                   // Reno's
  double credit_ = 0;                  // growth that did not make up a byte yet
  std::uint64_t epoch_ns_ = never_ns;  // when it began, moved on by pauses; never_ns: with the next growth
  std::uint64_t last_ack_ns_ = 0;

  // RFC 9438 4.9.1: what to go back to when the losses turn out to be none; window 0: nothing.
  struct {
    std::uint64_t window = 0;
    std::uint64_t threshold = 0;
    double w_max = 0;
    double cwnd_prior = 0;
  } before_;

 public:
  static constexpr double c = 0.4;                              // RFC 9438 5.1
  static constexpr double beta = 0.7;                           // RFC 9438 4.6
  static constexpr double alpha = 3 * (1 - beta) / (1 + beta);  // RFC 9438 4.3

  explicit cubic(const congestion_config& config) noexcept : config_(config), window_(initial_window_bytes(config)) {}

  void on_ack(const ack_event& e) noexcept;
  void on_loss(const loss_event& e) noexcept;
  void on_ce(const ce_event& e) noexcept { reduce(e.now_ns, e.sent_ns); }
  // All packets that the last reduction was made for were acknowledged after all.
  void on_spurious() noexcept;
  void set_datagram_bytes(std::uint64_t bytes) noexcept;

  [[nodiscard]] std::uint64_t window_bytes() const noexcept { return window_; }
  [[nodiscard]] std::uint64_t threshold_bytes() const noexcept { return threshold_; }
  [[nodiscard]] std::uint64_t recovery_start_ns() const noexcept { return recovery_start_ns_; }
  [[nodiscard]] bool is_slow_start() const noexcept { return window_ < threshold_; }
  [[nodiscard]] double w_max() const noexcept { return w_max_; }
  [[nodiscard]] double k() const noexcept { return k_; }

 private:
  void reduce(std::uint64_t now_ns, std::uint64_t sent_ns) noexcept;
  void begin_epoch(std::uint64_t now_ns) noexcept;
  void avoid_congestion(const ack_event& e) noexcept;
};

}  // namespace millrace::quic::recovery
