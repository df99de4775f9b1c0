// quic/recovery/bbr.hpp - BBR, version 1, with a bound where a path loses much: it models the path instead of filling
// it.
//
//   startup --rate grows no more for 3 rounds--> drain --in flight <= BDP--> probe_bw <--every 10 s, 200 ms-->
//   probe_rtt
//
// Shape    bandwidth is the largest delivery rate of 10 rounds, the round trip the smallest of 10 s; the window is
//          twice their product, the pacing rate the bandwidth times the gain of the phase. Single losses change
//          nothing, which is why 1 % of random loss does not slow it.
// Ours     version 1 ignores losses that it causes itself. Here a round that loses more than 2 %, or in which the path
//          reports ECN-CE, ends startup and bounds what is in flight to one BDP; the bound is lifted by a sixteenth a
//          round without. Persistent congestion takes the window to its minimum. There is no packet conservation
//          in recovery: the pacer does that work.
// Units    bytes, ns, bytes per second.
// Source   draft-cardwell-iccrg-bbr-congestion-control-00, RFC 9002 7. Tests  test/quic/recovery/bbr_test.cpp
#pragma once

#include "quic/recovery/congestion_event.hpp"
#include "quic/recovery/max_filter.hpp"

namespace millrace::quic::recovery {

enum class bbr_state : std::uint8_t { startup, drain, probe_bw, probe_rtt };

class bbr {
  static constexpr std::uint64_t filter_rounds = 10;
  static constexpr std::uint64_t min_rtt_window_ns = 10 * second;
  static constexpr std::uint64_t probe_rtt_ns = 200 * ms;
  static constexpr std::uint64_t no_bound = UINT64_MAX;

  congestion_config config_;
  std::uint64_t window_;
  max_filter bandwidth_{filter_rounds};  // bytes per second
  std::uint64_t min_rtt_ns_ = never_ns;
  std::uint64_t min_rtt_seen_ns_ = 0;  // when
  std::uint64_t pacing_rate_ = 0;      // 0: not known yet
  std::uint64_t round_ = 0;
  std::uint64_t round_ends_ = 0;  // a count of delivered bytes
  std::uint64_t round_began_ = 0;
  std::uint64_t round_lost_ = 0;
  std::uint64_t full_bandwidth_ = 0;
  std::uint64_t bound_ = no_bound;
  std::uint64_t cycle_since_ns_ = 0;
  std::uint64_t probe_rtt_until_ns_ = never_ns;  // never_ns: the window has not been reached yet
  std::uint64_t window_before_ = 0;              // probe_rtt
  std::uint32_t full_rounds_ = 0;
  std::uint32_t cycle_ = 0;
  std::uint32_t pacing_gain_;  // of 1024
  std::uint32_t window_gain_;  // of 1024
  bbr_state state_ = bbr_state::startup;
  bool filled_ = false;
  bool round_marked_ = false;
  bool probe_round_done_ = false;

 public:
  explicit bbr(const congestion_config& c) noexcept;

  void on_ack(const ack_event& e) noexcept;
  void on_loss(const loss_event& e) noexcept;
  void on_ce(const ce_event& e) noexcept;
  void set_datagram_bytes(std::uint64_t bytes) noexcept { config_.datagram_bytes = bytes; }

  [[nodiscard]] std::uint64_t window_bytes() const noexcept { return window_; }
  [[nodiscard]] std::uint64_t pacing_rate() const noexcept { return pacing_rate_; }  // bytes a second, 0: not known
  [[nodiscard]] std::uint64_t bandwidth() const noexcept { return bandwidth_.get(); }
  [[nodiscard]] std::uint64_t min_rtt_ns() const noexcept { return min_rtt_ns_; }
  [[nodiscard]] bbr_state state() const noexcept { return state_; }
  [[nodiscard]] bool is_slow_start() const noexcept { return state_ == bbr_state::startup; }

 private:
  [[nodiscard]] std::uint64_t product(std::uint64_t gain) const noexcept;
  void begin_round(const ack_event& e) noexcept;
  void check_full(const ack_event& e) noexcept;
  void check_phase(const ack_event& e) noexcept;
  void check_min_rtt(const ack_event& e) noexcept;
  void set_window(const ack_event& e) noexcept;
  void enter_probe_bw(std::uint64_t now_ns) noexcept;
  void limit(std::uint64_t in_flight) noexcept;
};

}  // namespace millrace::quic::recovery
