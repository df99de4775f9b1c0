#include "quic/recovery/rtt.hpp"

#include <algorithm>

namespace millrace::quic::recovery {

void rtt::set_initial(std::uint64_t rtt_ns) noexcept {
  if (has_sample()) return;
  smoothed_ns_ = rtt_ns;
  variation_ns_ = rtt_ns / 2;  // RFC 9002 5.3
}

void rtt::on_sample(const sample& s) noexcept {
  latest_ns_ = s.rtt_ns;
  if (!has_sample()) {
    first_sample_ns_ = s.now_ns;
    min_ns_ = smoothed_ns_ = s.rtt_ns;
    variation_ns_ = s.rtt_ns / 2;  // RFC 9002 5.3
    return;
  }
  min_ns_ = std::min(min_ns_, s.rtt_ns);  // RFC 9002 5.2: the peer's delay does not count here

  // RFC 9002 5.3: Initials are acknowledged at once, so a delay there is not the peer's will. Once the handshake is
  // confirmed the peer keeps its promise; before, it may have waited for keys and the whole delay is real.
  std::uint64_t delay_ns = s.space == packet_space::initial ? 0 : s.ack_delay_ns;
  if (s.confirmed) delay_ns = std::min(delay_ns, max_ack_delay_ns_);
  // RFC 9002 5.3: a delay that would take the sample below the minimum is not believed. No sum, it could overflow.
  const std::uint64_t adjusted = s.rtt_ns - min_ns_ >= delay_ns ? s.rtt_ns - delay_ns : s.rtt_ns;

  const std::uint64_t off = smoothed_ns_ > adjusted ? smoothed_ns_ - adjusted : adjusted - smoothed_ns_;
  variation_ns_ = (3 * variation_ns_ + off) / 4;
  smoothed_ns_ = (7 * smoothed_ns_ + adjusted) / 8;
}

}  // namespace millrace::quic::recovery
