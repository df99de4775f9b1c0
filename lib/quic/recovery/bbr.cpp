// Two estimates steer everything: how fast the path delivers, and how long it takes when nothing queues. They cannot be
// measured at once, so phases take turns: above the bandwidth for a round trip to see whether there is more, below it
// to drain what that queued, and every ten seconds a pause to see the round trip without any queue.
//
// What could go wrong: samples that the application limited would lower the bandwidth, so they count only when they
// raise it; a round that never ends would freeze the filters, so rounds are counted by delivered bytes and not by time.
#include "quic/recovery/bbr.hpp"

#include <algorithm>
#include <array>

namespace millrace::quic::recovery {

namespace {

constexpr std::uint32_t unit = 1024;
constexpr std::uint32_t high_gain = 2955;  // 2 / ln 2: doubles the rate each round
constexpr std::uint32_t drain_gain = unit * unit / high_gain;
constexpr std::uint32_t steady_window_gain = 2 * unit;
constexpr std::array<std::uint32_t, 8> cycle_gains = {unit * 5 / 4, unit * 3 / 4, unit, unit, unit, unit, unit, unit};
constexpr std::uint64_t min_pipe_datagrams = 4;
constexpr std::uint64_t loss_percent = 2;    // of a round; more is congestion and not chance
constexpr std::uint64_t loss_datagrams = 8;  // and at least so many, or a short round would end by one

}  // namespace

bbr::bbr(const congestion_config& c) noexcept
    : config_(c), window_(initial_window_bytes(c)), pacing_gain_(high_gain), window_gain_(high_gain) {}

// gain / 1024 of bandwidth times round trip; the window while one of them is unknown.
std::uint64_t bbr::product(std::uint64_t gain) const noexcept {
  if (bandwidth_.get() == 0 || min_rtt_ns_ == never_ns) return window_;
  const std::uint64_t bytes = multiply_divide(multiply_divide(bandwidth_.get(), min_rtt_ns_, second), gain, unit);
  return std::min<std::uint64_t>(bytes, UINT32_MAX);  // 4 GiB in flight is beyond any path
}

void bbr::on_ack(const ack_event& e) noexcept {
  round_lost_ += e.lost_bytes;
  const bool round_starts = e.rate.is_valid() && e.rate.prior_bytes >= round_ends_;
  if (round_starts) begin_round(e);
  if (e.rate.is_valid()) {
    const std::uint64_t rate = e.rate.bytes_per_second();
    if (!e.rate.app_limited || rate >= bandwidth_.get()) bandwidth_.add(rate, round_);
  }
  if (round_starts) check_full(e);
  check_phase(e);
  check_min_rtt(e);
  // A margin of 1 % below what was measured lets queues drain.
  const std::uint64_t rate = bandwidth_.get() * 99 / 100 * pacing_gain_ / unit;
  if (rate != 0 && (filled_ || rate > pacing_rate_)) pacing_rate_ = rate;
  set_window(e);
}

void bbr::begin_round(const ack_event& e) noexcept {
  const std::uint64_t delivered = e.delivered_bytes - round_began_;
  const bool lossy = round_lost_ >= loss_datagrams * config_.datagram_bytes &&
                     round_lost_ * 100 > (delivered + round_lost_) * loss_percent;
  if (lossy)
    limit(e.prior_in_flight);
  else if (bound_ != no_bound && !round_marked_)
    bound_ = bound_ + bound_ / 16 > product(2 * unit) ? no_bound : bound_ + bound_ / 16;
  ++round_;
  round_began_ = round_ends_ = e.delivered_bytes;
  round_lost_ = 0;
  round_marked_ = false;
  probe_round_done_ = true;
}

// Whatever was in flight was too much: one BDP is what the path holds without a queue.
void bbr::limit(std::uint64_t in_flight) noexcept {
  bound_ = std::max({product(unit), std::min(in_flight, bound_) * 7 / 10, min_pipe_datagrams * config_.datagram_bytes});
  if (state_ == bbr_state::startup) filled_ = true;
}

void bbr::check_full(const ack_event& e) noexcept {
  if (filled_ || e.rate.app_limited) return;
  if (bandwidth_.get() >= full_bandwidth_ + full_bandwidth_ / 4) {
    full_bandwidth_ = bandwidth_.get();
    full_rounds_ = 0;
  } else if (++full_rounds_ >= 3) {
    filled_ = true;
  }
}

void bbr::enter_probe_bw(std::uint64_t now_ns) noexcept {
  state_ = bbr_state::probe_bw;
  window_gain_ = steady_window_gain;
  // Any phase but the one that drains, so that flows that begin together do not probe together.
  cycle_ = static_cast<std::uint32_t>((config_.seed + round_) % 7);
  cycle_ = cycle_ == 1 ? 7 : cycle_;
  pacing_gain_ = cycle_gains[cycle_];
  cycle_since_ns_ = now_ns;
}

void bbr::check_phase(const ack_event& e) noexcept {
  if (state_ == bbr_state::startup && filled_) {
    state_ = bbr_state::drain;
    pacing_gain_ = drain_gain;
    window_gain_ = high_gain;
  }
  if (state_ == bbr_state::drain && e.in_flight <= product(unit)) enter_probe_bw(e.now_ns);
  if (state_ != bbr_state::probe_bw || min_rtt_ns_ == never_ns) return;
  bool next = e.now_ns - cycle_since_ns_ > min_rtt_ns_;
  // Up: until the pipe holds that much, or losses show that it cannot. Down: until the queue is gone.
  if (pacing_gain_ > unit) next = next && (e.lost_bytes != 0 || e.prior_in_flight >= product(pacing_gain_));
  if (pacing_gain_ < unit) next = next || e.in_flight <= product(unit);
  if (!next) return;
  cycle_ = (cycle_ + 1) % cycle_gains.size();
  pacing_gain_ = cycle_gains[cycle_];
  cycle_since_ns_ = e.now_ns;
}

void bbr::check_min_rtt(const ack_event& e) noexcept {
  const bool expired = min_rtt_seen_ns_ != 0 && e.now_ns - min_rtt_seen_ns_ > min_rtt_window_ns;
  if (e.latest_rtt_ns != 0 && (e.latest_rtt_ns <= min_rtt_ns_ || expired)) {
    min_rtt_ns_ = e.latest_rtt_ns;
    min_rtt_seen_ns_ = e.now_ns;
  }
  if (expired && state_ != bbr_state::probe_rtt) {
    window_before_ = std::max(window_, product(unit));
    state_ = bbr_state::probe_rtt;
    pacing_gain_ = unit;
    probe_rtt_until_ns_ = never_ns;
  }
  if (state_ != bbr_state::probe_rtt) return;
  if (probe_rtt_until_ns_ == never_ns) {
    if (e.in_flight > min_pipe_datagrams * config_.datagram_bytes) return;
    probe_rtt_until_ns_ = e.now_ns + probe_rtt_ns;
    probe_round_done_ = false;
    round_ends_ = e.delivered_bytes;
  } else if (probe_round_done_ && e.now_ns >= probe_rtt_until_ns_) {
    min_rtt_seen_ns_ = e.now_ns;
    window_ = std::max(window_, window_before_);
    if (filled_) {
      enter_probe_bw(e.now_ns);
    } else {
      state_ = bbr_state::startup;
      pacing_gain_ = window_gain_ = high_gain;
    }
  }
}

void bbr::set_window(const ack_event& e) noexcept {
  const std::uint64_t datagram = config_.datagram_bytes;
  // What a burst of packets, and of ACKs for them, needs on top: a millisecond's worth, 2 datagrams to 64 KiB.
  const std::uint64_t quantum =
      std::clamp<std::uint64_t>(pacing_rate_ / 1000, 2 * datagram, std::max<std::uint64_t>(2 * datagram, 65536));
  const std::uint64_t target = product(window_gain_) + 3 * quantum;
  if (filled_)
    window_ = std::min(window_ + e.acked_bytes, target);
  else if (window_ < target || e.delivered_bytes < initial_window_bytes(config_))
    window_ += e.acked_bytes;
  if (bound_ != no_bound) window_ = std::min(window_, bound_ + 3 * quantum);
  window_ = std::max(window_, min_pipe_datagrams * datagram);
  if (state_ == bbr_state::probe_rtt) window_ = std::min(window_, min_pipe_datagrams * datagram);
}

void bbr::on_loss(const loss_event& e) noexcept {
  if (e.persistent) window_ = minimum_window_bytes(config_);  // RFC 9002 7.6.2
}

void bbr::on_ce(const ce_event& e) noexcept {
  if (round_marked_) return;  // RFC 9002 7.1: congestion; once a round
  round_marked_ = true;
  limit(e.in_flight);
}

}  // namespace millrace::quic::recovery
