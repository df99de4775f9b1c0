#include "quic/conn/close_state.hpp"

namespace millrace::quic::conn {

bool close_state::enter(close_event event, std::uint64_t now_ns, std::uint64_t pto_ns) noexcept {
  const std::optional<close_phase> to = next(phase_, event);
  if (!to) return false;
  // RFC 9000 10.2: three PTOs. 10.2.2: draining begins a period of its own only when there was none before.
  if (*to == close_phase::closed)
    deadline_ns_ = recovery::never_ns;
  else if (phase_ == close_phase::open)
    deadline_ns_ = recovery::later(now_ns, recovery::multiply_divide(pto_ns, ptos, 1));
  phase_ = *to;
  return true;
}

bool close_state::on_local_close(std::uint64_t now_ns, std::uint64_t pto_ns) noexcept {
  return enter(close_event::local_close, now_ns, pto_ns);
}

bool close_state::on_peer_close(std::uint64_t now_ns, std::uint64_t pto_ns) noexcept {
  return enter(close_event::peer_close, now_ns, pto_ns);
}

bool close_state::on_stateless_reset(std::uint64_t now_ns, std::uint64_t pto_ns) noexcept {
  return enter(close_event::stateless_reset, now_ns, pto_ns);
}

bool close_state::on_timeout(std::uint64_t now_ns) noexcept {
  return now_ns >= deadline_ns_ && enter(close_event::timeout, now_ns, 0);
}

bool close_state::discard() noexcept { return enter(close_event::discard, 0, 0); }

// RFC 9000 10.2.1.
bool close_state::on_packet() noexcept {
  if (phase_ == close_phase::open) return false;
  ++packets_;
  if (phase_ == close_phase::closing && packets_ == answer_at_) {
    answer_at_ *= 2;
    return true;
  }
  ++unanswered_;
  return false;
}

}  // namespace millrace::quic::conn
