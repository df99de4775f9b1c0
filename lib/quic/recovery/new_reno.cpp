#include "quic/recovery/new_reno.hpp"

#include <algorithm>

namespace millrace::quic::recovery {

void new_reno::on_ack(const ack_event& e) noexcept {
  if (is_slow_start()) {
    window_ += e.growth_bytes;  // RFC 9002 7.3.1
    return;
  }
  // RFC 9002 7.3.3, B.5: a datagram for each window acknowledged. Bytes are saved up, so that ACKs of few packets grow
  // a large window by what they are due and not by the zero their share rounds to.
  credit_ += e.growth_bytes;
  while (credit_ >= window_) {
    credit_ -= window_;
    window_ += config_.datagram_bytes;
  }
}

void new_reno::on_loss(const loss_event& e) noexcept {
  reduce(e.now_ns, e.largest_lost_sent_ns);
  if (!e.persistent) return;
  window_ = minimum_window_bytes(config_);  // RFC 9002 7.6.2
  recovery_start_ns_ = 0;
  credit_ = 0;
}

void new_reno::reduce(std::uint64_t now_ns, std::uint64_t sent_ns) noexcept {
  if (recovery_start_ns_ != 0 && sent_ns <= recovery_start_ns_) return;  // RFC 9002 7.3.2: once a round trip
  recovery_start_ns_ = std::max<std::uint64_t>(now_ns, 1);
  threshold_ = std::max(window_ / 2, minimum_window_bytes(config_));  // RFC 9002 7.3.2, B.2: one half
  window_ = threshold_;
  credit_ = 0;
}

void new_reno::set_datagram_bytes(std::uint64_t bytes) noexcept {
  config_.datagram_bytes = bytes;
  window_ = std::max(window_, minimum_window_bytes(config_));
}

}  // namespace millrace::quic::recovery
