// What a connection waits for, in one deadline: the endpoint keeps one timer a connection.
#include <algorithm>

#include "quic/conn/arrival.hpp"

namespace millrace::quic::conn {

using recovery::never_ns;
using recovery::packet_space;

std::uint64_t connection::deadline_ns(std::uint64_t now_ns) const noexcept {
  if (phase_ == phase::ended) return never_ns;
  if (is_closing()) return close_.deadline_ns();
  std::uint64_t at = recovery_.timer(is_amplification_limited()).at_ns;
  at = std::min(at, idle_.deadline_ns(recovery_.pto_ns()));
  at = std::min(at, idle_.keep_alive_ns());
  if (!confirmed_) at = std::min(at, recovery::later(began_ns_, t_.settings.handshake_timeout_ns));
  // What build() does at its time: when it was called since and did not, something else has to happen first (room in
  // the window, bytes from an unproven address), and no timer helps.
  const auto build_at = [&](std::uint64_t due_ns) {
    if (due_ns > built_ns_) at = std::min(at, due_ns);
  };
  build_at(retry_ns_);
  if (phase_ == phase::established) build_at(numbers_.acks.deadline_ns());
  if (handshake_ != nullptr) {
    if (handshake_->initial.can_write) build_at(handshake_->initial_numbers.acks.deadline_ns());
    if (handshake_->handshake.can_write) build_at(handshake_->handshake_numbers.acks.deadline_ns());
    if (!is_server_ && confirmed_ && t_.settings.keep_tickets_ns != 0)
      at = std::min(at, recovery::later(established_ns_, t_.settings.keep_tickets_ns));
  }
  at = std::min({at, previous_keys_until_ns_, open_again_ns_});
  build_at(mtu_.deadline_ns());
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const path_state& p = paths_[i];
    build_at(p.challenge.deadline_ns());
    at = std::min(at, p.challenge.failure_ns());
  }
  if (is_paced_) build_at(recovery_.next_send_ns());
  return std::max(at, now_ns);
}

// Not a byte of use can be sent (RFC 9002 A.6).
bool connection::is_amplification_limited() const noexcept {
  return is_server_ && active_path().amount.budget_bytes() < least_packet_bytes;
}

void connection::on_time(std::uint64_t now_ns) noexcept {
  now_ns_ = now_ns;
  if (phase_ == phase::ended) return;
  if (is_closing()) {
    if (close_.on_timeout(now_ns)) phase_ = phase::ended;
    return;
  }
  if (idle_.is_expired(now_ns, recovery_.pto_ns())) {
    t_.events.add(event::idle_timeout);
    end_with(end_reason::idle_timeout);
    return;
  }
  if (!confirmed_ && recovery::later(began_ns_, t_.settings.handshake_timeout_ns) <= now_ns) {
    t_.events.add(event::handshake_timeout);
    end_with(end_reason::handshake_timeout);
    return;
  }
  if (recovery_.timer(is_amplification_limited()).at_ns <= now_ns) {
    token_owner owner{*this};
    const recovery::loss_recovery::probe due = recovery_.on_timeout(now_ns, owner, is_amplification_limited());
    if (due.packets != 0) probes_[static_cast<std::size_t>(due.space)] = static_cast<std::uint8_t>(due.packets);
    follow_mtu();
    trace_metrics();
  }
  if (previous_keys_until_ns_ <= now_ns) {  // RFC 9001 6.5
    previous_keys_until_ns_ = never_ns;
    if (traffic_keys* const keys = keys_.if_awake()) keys->read->discard_previous();
  }
  if (idle_.keep_alive_ns() <= now_ns) pending_ |= pending_ping;
  if (open_again_ns_ <= now_ns) {  // open() had no memory
    streams_available_ |= t_.streams.has_room();
    open_again_ns_ = streams_available_ ? never_ns : recovery::later(now_ns, open_wait_ns);
  }
  check_paths(now_ns);
}

}  // namespace millrace::quic::conn
