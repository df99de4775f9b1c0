#include "quic/conn/idle_timer.hpp"

namespace millrace::quic::conn {
namespace {

[[nodiscard]] std::uint64_t timeout_of(std::uint64_t ms) noexcept {
  return ms == 0 ? recovery::never_ns : recovery::multiply_divide(ms, recovery::ms, 1);
}

}  // namespace

idle_timer::idle_timer(std::uint64_t now_ns, const idle_config& config) noexcept
    : config_(config), timeout_ns_(timeout_of(config.timeout_ms)), since_ns_(now_ns) {}

// RFC 9000 10.1: the smaller of both that is not 0.
void idle_timer::set_peer_timeout(std::uint64_t timeout_ms) noexcept {
  timeout_ns_ = std::min(timeout_of(config_.timeout_ms), timeout_of(timeout_ms));
}

void idle_timer::on_received(std::uint64_t now_ns) noexcept {
  since_ns_ = now_ns;
  sent_since_ = false;
}

void idle_timer::on_sent_eliciting(std::uint64_t now_ns) noexcept {
  if (sent_since_) return;
  since_ns_ = now_ns;
  sent_since_ = true;
}

std::uint64_t idle_timer::deadline_ns(std::uint64_t pto_ns) const noexcept {
  if (timeout_ns_ == recovery::never_ns) return recovery::never_ns;
  return recovery::later(since_ns_, std::max(timeout_ns_, recovery::multiply_divide(pto_ns, 3, 1)));
}

std::uint64_t idle_timer::keep_alive_ns() const noexcept {
  if (config_.keep_alive_ns == 0 || sent_since_) return recovery::never_ns;
  return recovery::later(since_ns_, std::min(config_.keep_alive_ns, timeout_ns_ / 2));
}

}  // namespace millrace::quic::conn
