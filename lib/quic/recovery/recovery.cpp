// The order in which an ACK is worked on is that of RFC 9002 A.7: what it acknowledges, the RTT, ECN, what it shows
// lost, the congestion controller, the probe count. Losses come before growth, so that an ACK that brings both is
// answered by the reduced window.
#include "quic/recovery/recovery.hpp"

namespace millrace::quic::recovery {

namespace {

// SplitMix64. Holes need to be hard to guess within a few round trips, from the little that their distances tell.
std::uint64_t next_random(std::uint64_t& state) noexcept {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

constexpr std::uint32_t most_backoff = 16;  // 2^16 PTOs are a day; the idle timeout comes long before

std::uint64_t backed_off(std::uint64_t ns, std::uint32_t count) noexcept { return ns << std::min(count, most_backoff); }

}  // namespace

loss_recovery::loss_recovery(const recovery_config& config, sent_pool& pool) noexcept
    : application_(pool, config.most_blocks),
      congestion_(config.kind, config.congestion),
      ecn_(config.use_ecn),
      next_skip_(0),
      skip_state_(config.skip_seed),
      peer_validated_(config.is_server) {
  if (config.skip_seed != 0) next_skip_ = skipped_numbers::distance(0, next_random(skip_state_));
}

// RFC 9000 21.4: a receiver that acknowledges what it did not get cannot know which numbers were never used.
void loss_recovery::skip() noexcept {
  sent_packets& s = at(packet_space::application);
  s.on_skipped(s.largest_sent() + 1);
  next_skip_ =
      skipped_numbers::distance(congestion_.window_bytes() / congestion_.datagram_bytes(), next_random(skip_state_));
}

void loss_recovery::on_path_changed(std::uint64_t now_ns, bool same_host) noexcept {
  sent_packets& s = at(packet_space::application);
  path_first_ = s.largest_sent() + 1;
  in_flight_ = 0;
  pto_count_ = 0;
  anti_deadlock_ns_ = now_ns;
  ecn_.restart();
  if (same_host) return;  // RFC 9000 9.4: a NAT that gave another port did not change the path
  const std::uint64_t max_ack_delay_ns = rtt_.max_ack_delay_ns();
  rtt_ = rtt{};
  rtt_.set_max_ack_delay(max_ack_delay_ns);
  congestion_.restart();
  pacer_ = pacer{};
  delivery_ = delivery{};
  threshold_ = least_packet_threshold;
  event_lost_ = event_spurious_ = 0;
}

void loss_recovery::end_early(std::uint64_t now_ns) noexcept {
  for (const packet_space space : {packet_space::initial, packet_space::handshake})
    if (has(space) && !at(space).is_idle()) discard(space, now_ns);
  early_ = nullptr;
}

void loss_recovery::discard(packet_space space, std::uint64_t now_ns) noexcept {
  if (!has(space)) return;
  in_flight_ -= std::min(at(space).discard(), in_flight_);
  pto_count_ = 0;  // RFC 9002 6.2.2: the timer starts again
  anti_deadlock_ns_ = now_ns;
  if (space == packet_space::initial) has_handshake_keys_ = true;
}

void loss_recovery::before_losses(packet_space space, ack_tally& tally, std::uint64_t ack_delay_ns,
                                  const wire::ecn_counts* counts) noexcept {
  // RFC 9002 5.1: the largest is newly acknowledged, and something that had to be acknowledged is.
  if (tally.largest_sent_ns != never_ns && tally.eliciting && is_current(space, tally.largest)) {
    tally.rtt_ns = std::max<std::uint64_t>(tally.now_ns - tally.largest_sent_ns, 1);
    rtt_.on_sample({.rtt_ns = tally.rtt_ns,
                    .ack_delay_ns = ack_delay_ns,
                    .now_ns = tally.now_ns,
                    .space = space,
                    .confirmed = confirmed_});
  }
  tally.congested = ecn_.on_ack({space, tally.advances, tally.marked, tally.marked_here, counts});
}

void loss_recovery::after_losses(packet_space space, const ack_tally& tally, const loss_tally& lost) noexcept {
  on_losses(tally.now_ns, lost);
  if (tally.congested) {
    const std::uint64_t before = congestion_.recovery_start_ns();
    congestion_.on_ce({tally.now_ns, tally.newest_sent_ns, in_flight_});  // RFC 9002 7.1
    // A mark is no guess: losses that turn out to be none do not undo what was reduced for it.
    if (congestion_.recovery_start_ns() != before) event_lost_ = event_spurious_ = 0;
  }
  if (tally.acked_bytes != 0 || lost.bytes != 0) {
    congestion_.on_ack({
        .now_ns = tally.now_ns,
        .acked_bytes = tally.acked_bytes,
        // A reduction just made began a recovery period that nothing in this ACK was sent after.
        .growth_bytes = lost.persistent || congestion_.recovery_start_ns() == tally.now_ns ? 0 : tally.growth_bytes,
        .prior_in_flight = tally.prior_in_flight,
        .in_flight = in_flight_,
        .lost_bytes = lost.bytes,
        .delivered_bytes = delivery_.delivered_bytes(),
        .largest_acked = tally.largest,
        .largest_sent = at(space).largest_sent(),
        .latest_rtt_ns = tally.rtt_ns,
        .smoothed_rtt_ns = rtt_.smoothed_ns(),
        .min_rtt_ns = rtt_.min_ns(),
        .rate = delivery_.take_sample(rtt_.min_ns()),
    });
  }
  if (rtt_.has_sample()) pacer_.set_rate(congestion_.pacing_rate(rtt_.smoothed_ns()), congestion_.datagram_bytes());
  // RFC 9002 A.6, A.7: a Handshake packet acknowledged shows that the peer took our address for real.
  if (space == packet_space::handshake) peer_validated_ = true;
  if (peer_validated_) pto_count_ = 0;
  anti_deadlock_ns_ = tally.now_ns;
}

void loss_recovery::on_losses(std::uint64_t now_ns, const loss_tally& lost) noexcept {
  if (lost.marked != 0) ecn_.on_lost(lost.marked);
  if (lost.packets == 0) return;
  const std::uint64_t before = congestion_.recovery_start_ns();
  congestion_.on_loss({now_ns, lost.bytes, lost.newest_sent_ns, in_flight_, lost.persistent});
  if (congestion_.recovery_start_ns() != before) event_lost_ = event_spurious_ = 0;
  event_lost_ += lost.packets;
  if (lost.persistent) {
    rtt_.forget_min();  // RFC 9002 5.2
    event_lost_ = 0;
  }
}

void loss_recovery::on_spurious(packet_space space, const sent_report& r) noexcept {
  ++spurious_;
  if (!is_current(space, r.number)) return;
  // RFC 9002 6.1.1: reordering this wide is not loss on this path.
  const std::uint64_t distance = at(space).largest_acked() - r.number;
  threshold_ = std::clamp(distance + 1, threshold_, most_packet_threshold);
  if (event_lost_ != 0 && ++event_spurious_ == event_lost_) {
    event_lost_ = event_spurious_ = 0;
    congestion_.on_spurious();  // RFC 9438 4.9
  }
}

recovery_timer loss_recovery::timer(bool amplification_limited) const noexcept {
  recovery_timer next;
  const std::size_t first = early_ == nullptr ? packet_spaces - 1 : 0;
  for (std::size_t i = first; i < packet_spaces; ++i) {  // RFC 9002 A.8: losses by time come first
    const std::uint64_t loss_ns = this->space(static_cast<packet_space>(i)).loss_ns();
    if (loss_ns < next.at_ns) next = {loss_ns, timer_kind::loss, static_cast<packet_space>(i)};
  }
  if (next.kind == timer_kind::loss || amplification_limited) return next;

  const std::uint64_t wait_ns = backed_off(rtt_.pto_ns(), pto_count_);
  bool eliciting = false;
  for (std::size_t i = first; i < packet_spaces; ++i) {
    const auto space = static_cast<packet_space>(i);
    const sent_packets& sent = this->space(space);
    if (!sent.has_eliciting()) continue;
    eliciting = true;
    std::uint64_t at_ns = later(sent.last_eliciting_ns(), wait_ns);
    if (space == packet_space::application) {
      if (!confirmed_) continue;  // RFC 9002 6.2.1: the peer may be unable to read it yet
      at_ns = later(at_ns, backed_off(rtt_.max_ack_delay_ns(), pto_count_));
    }
    if (at_ns < next.at_ns) next = {at_ns, timer_kind::pto, space};
  }
  // RFC 9002 6.2.2.1: a client goes on until the server may send; what it sends proves its address.
  if (!peer_validated_ && next.kind == timer_kind::none && (!eliciting || !confirmed_))
    next = {later(anti_deadlock_ns_, wait_ns), timer_kind::pto,
            has_handshake_keys_ ? packet_space::handshake : packet_space::initial};
  return next;
}

// RFC 9002 6.2.4: one packet must be sent, two make up for one of them being lost. Nothing is lost by this alone, and
// the window stays (RFC 9002 6.2).
loss_recovery::probe loss_recovery::on_pto(packet_space space, std::uint64_t now_ns) noexcept {
  ++pto_count_;
  anti_deadlock_ns_ = now_ns;
  const bool outstanding = this->space(space).has_eliciting();
  return {space, outstanding ? 2u : 1u};
}

}  // namespace millrace::quic::recovery
