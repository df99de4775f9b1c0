// quic/recovery/hystart.hpp - HyStart++: leaves slow start when round trips grow, before packets are lost.
//
//   slow start --a round's minimum exceeds the last's--> conservative slow start --5 rounds--> done
//        ^------------ a round's minimum falls below that --------/
//
// Shape    on_ack() once an ACK while in slow start: by how much the window may grow, and whether slow start is over.
// Units    ns, packet numbers. Source RFC 9406 4. Tests test/quic/recovery/hystart_test.cpp
#pragma once

#include "quic/recovery/congestion_event.hpp"

namespace millrace::quic::recovery {

class hystart {
  static constexpr std::uint64_t min_threshold_ns = 4 * ms;   // RFC 9406 4.3
  static constexpr std::uint64_t max_threshold_ns = 16 * ms;  // RFC 9406 4.3
  static constexpr std::uint64_t threshold_divisor = 8;       // RFC 9406 4.3
  static constexpr std::uint32_t samples_wanted = 8;          // RFC 9406 4.3
  static constexpr std::uint64_t growth_divisor = 4;          // RFC 9406 4.3
  static constexpr std::uint32_t conservative_rounds = 5;     // RFC 9406 4.3

  std::uint64_t round_end_ = 0;  // the packet whose acknowledgement ends the round
  std::uint64_t last_min_ns_ = never_ns;
  std::uint64_t this_min_ns_ = never_ns;
  std::uint64_t baseline_ns_ = never_ns;  // never_ns: not conservative
  std::uint32_t samples_ = 0;
  std::uint32_t rounds_left_ = 0;
  bool started_ = false;
  bool done_ = false;

 public:
  // Answers how many of the ACK's growth_bytes the window gains.
  [[nodiscard]] std::uint64_t on_ack(const ack_event& e) noexcept;
  // Slow start ends: the threshold becomes the window. Also after a loss: HyStart++ serves the first slow start only.
  [[nodiscard]] bool is_done() const noexcept { return done_; }
  void end() noexcept { done_ = true; }
  [[nodiscard]] bool is_conservative() const noexcept { return baseline_ns_ != never_ns; }

 private:
  void begin_round(const ack_event& e) noexcept;
};

}  // namespace millrace::quic::recovery
