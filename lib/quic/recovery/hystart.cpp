#include "quic/recovery/hystart.hpp"

#include <algorithm>

namespace millrace::quic::recovery {

void hystart::begin_round(const ack_event& e) noexcept {
  round_end_ = e.largest_sent;
  last_min_ns_ = this_min_ns_;
  this_min_ns_ = never_ns;
  samples_ = 0;
}

std::uint64_t hystart::on_ack(const ack_event& e) noexcept {
  if (done_) return e.growth_bytes;
  if (!started_) {
    started_ = true;
    begin_round(e);
  }
  if (e.latest_rtt_ns != 0) {
    this_min_ns_ = std::min(this_min_ns_, e.latest_rtt_ns);
    ++samples_;
  }
  // RFC 9406 4.2: paced, so all that was acknowledged counts (L is infinite).
  const std::uint64_t growth = is_conservative() ? e.growth_bytes / growth_divisor : e.growth_bytes;
  if (samples_ >= samples_wanted && this_min_ns_ != never_ns && last_min_ns_ != never_ns) {
    if (!is_conservative()) {
      const std::uint64_t threshold = std::clamp(last_min_ns_ / threshold_divisor, min_threshold_ns, max_threshold_ns);
      if (this_min_ns_ >= last_min_ns_ + threshold) {
        baseline_ns_ = this_min_ns_;
        rounds_left_ = conservative_rounds;
      }
    } else if (this_min_ns_ < baseline_ns_) {
      baseline_ns_ = never_ns;  // RFC 9406 4.2: the growth was a passing one
    }
  }
  if (e.largest_acked >= round_end_) {
    if (is_conservative() && --rounds_left_ == 0) done_ = true;  // RFC 9406 4.2
    begin_round(e);
  }
  return growth;
}

}  // namespace millrace::quic::recovery
