// The window follows a cubic of the time since the last reduction: steep far below the window that lost packets, flat
// around it, steep again beyond. Time that the application did not use is taken out by moving the epoch's begin, else
// the curve would run ahead of a sender that was silent and hand it a window nobody has tested.
#include "quic/recovery/cubic.hpp"

#include <algorithm>
#include <cmath>

namespace millrace::quic::recovery {

void cubic::on_ack(const ack_event& e) noexcept {
  if (e.growth_bytes == 0) {
    // RFC 9438 5.8: neither a limited application nor recovery lets the curve go on.
    if (epoch_ns_ != never_ns && last_ack_ns_ != 0) epoch_ns_ += e.now_ns - std::max(last_ack_ns_, epoch_ns_);
    last_ack_ns_ = e.now_ns;
    return;
  }
  if (is_slow_start()) {
    window_ += hystart_.on_ack(e);
    if (hystart_.is_done() && threshold_ == UINT64_MAX) threshold_ = window_;
  } else {
    avoid_congestion(e);
  }
  last_ack_ns_ = e.now_ns;
}

void cubic::begin_epoch(std::uint64_t now_ns) noexcept {
  epoch_ns_ = now_ns;
  const double cwnd = static_cast<double>(window_) / static_cast<double>(config_.datagram_bytes);
  if (w_max_ < cwnd) w_max_ = cwnd;  // RFC 9438 4.8: out of slow start without a loss, K is 0
  k_ = std::cbrt((w_max_ - cwnd) / c);
  w_est_ = cwnd;  // RFC 9438 4.3
  credit_ = 0;
}

void cubic::avoid_congestion(const ack_event& e) noexcept {
  const double datagram = static_cast<double>(config_.datagram_bytes);
  if (epoch_ns_ == never_ns) begin_epoch(e.now_ns);
  const double cwnd = static_cast<double>(window_) / datagram;
  const double acked = static_cast<double>(e.growth_bytes) / datagram;
  const double t = static_cast<double>(e.now_ns - epoch_ns_) * 1e-9;
  const double rtt = static_cast<double>(e.smoothed_rtt_ns) * 1e-9;
  const auto curve = [this](double at) { return c * (at - k_) * (at - k_) * (at - k_) + w_max_; };

  // RFC 9438 4.3: Reno's pace, and from the old window on exactly Reno's.
  w_est_ += (w_est_ >= cwnd_prior_ ? 1.0 : alpha) * acked / cwnd;
  double grown = cwnd;
  if (curve(t) < w_est_) {
    grown = std::max(cwnd, w_est_);
  } else {
    // RFC 9438 4.2: where the curve is one round trip from now, at most half a window ahead.
    const double target = std::clamp(curve(t + rtt), cwnd, 1.5 * cwnd);
    grown += (target - cwnd) / cwnd * acked;
  }
  credit_ += (grown - cwnd) * datagram;
  const double whole = std::floor(credit_);
  credit_ -= whole;
  window_ += static_cast<std::uint64_t>(whole);
}

void cubic::on_loss(const loss_event& e) noexcept {
  reduce(e.now_ns, e.largest_lost_sent_ns);
  if (!e.persistent) return;
  window_ = minimum_window_bytes(config_);  // RFC 9002 7.6.2; the threshold stays, as after a timeout (RFC 9438 4.8)
  recovery_start_ns_ = 0;
  before_.window = 0;
}

void cubic::reduce(std::uint64_t now_ns, std::uint64_t sent_ns) noexcept {
  if (recovery_start_ns_ != 0 && sent_ns <= recovery_start_ns_) return;  // RFC 9002 7.3.2
  recovery_start_ns_ = std::max<std::uint64_t>(now_ns, 1);
  before_ = {window_, threshold_, w_max_, cwnd_prior_};
  const double cwnd = static_cast<double>(window_) / static_cast<double>(config_.datagram_bytes);
  // RFC 9438 4.7: who loses below the old maximum leaves room for others.
  w_max_ = cwnd < w_max_ ? cwnd * (1 + beta) / 2 : cwnd;
  cwnd_prior_ = cwnd;
  // RFC 9438 4.6: of the window instead of what is in flight, because a limited application does not grow it.
  const auto reduced = static_cast<std::uint64_t>(static_cast<double>(window_) * beta);
  threshold_ = window_ = std::max(reduced, minimum_window_bytes(config_));
  epoch_ns_ = never_ns;
  hystart_.end();
}

void cubic::on_spurious() noexcept {
  if (before_.window <= window_) return;  // RFC 9438 4.9.2
  window_ = before_.window;
  threshold_ = before_.threshold;
  w_max_ = before_.w_max;
  cwnd_prior_ = before_.cwnd_prior;
  before_.window = 0;
  recovery_start_ns_ = 0;
  epoch_ns_ = never_ns;
}

void cubic::set_datagram_bytes(std::uint64_t bytes) noexcept {
  const double scale = static_cast<double>(config_.datagram_bytes) / static_cast<double>(bytes);
  w_max_ *= scale;  // windows in datagrams keep their bytes
  cwnd_prior_ *= scale;
  w_est_ *= scale;
  config_.datagram_bytes = bytes;
  window_ = std::max(window_, minimum_window_bytes(config_));
  epoch_ns_ = never_ns;
}

}  // namespace millrace::quic::recovery
