#include "quic/path/path_challenge.hpp"

#include "crypto/constant_time.hpp"

namespace millrace::quic::path {

void path_challenge::start(std::uint64_t now_ns, std::uint64_t pto_ns) noexcept {
  for (sent& s : sent_) s.open = false;
  pto_ns_ = pto_ns;
  next_ns_ = now_ns;
  fails_ns_ = recovery::later(now_ns, recovery::multiply_divide(pto_ns, ptos, 1));  // RFC 9000 8.2.4
  challenges_ = 0;
  state_ = validation_state::validating;
}

void path_challenge::stop() noexcept {
  for (sent& s : sent_) s.open = false;
  next_ns_ = recovery::never_ns;
  fails_ns_ = recovery::never_ns;
  state_ = validation_state::idle;
}

void path_challenge::on_sent(const wire::path_data& data, bool padded, std::uint64_t now_ns) noexcept {
  if (!is_running()) return;
  sent_[next_slot_] = {data, padded, true};
  next_slot_ = static_cast<std::uint8_t>((next_slot_ + 1) % remembered);
  ++challenges_;
  next_ns_ = recovery::later(now_ns, pto_ns_);  // RFC 9000 8.2.1: no more often than one would an Initial
}

path_challenge::answer path_challenge::on_response(const wire::path_data& data, std::uint64_t now_ns) noexcept {
  sent* match = nullptr;
  for (sent& s : sent_)
    if (s.open && crypto::equal_secret(s.data, data)) match = &s;
  if (match == nullptr || !is_running()) {
    ++unknown_;
    return answer::unknown;
  }
  match->open = false;
  if (!match->padded) {
    if (state_ == validation_state::address_only) return answer::address_only;
    // RFC 9000 8.2.1: the address is proven; whether the path carries 1200 bytes is asked at once, and given as long.
    state_ = validation_state::address_only;
    next_ns_ = now_ns;
    fails_ns_ = recovery::later(now_ns, recovery::multiply_divide(pto_ns_, ptos, 1));
    return answer::address_only;
  }
  stop();
  state_ = validation_state::validated;
  return answer::validated;
}

bool path_challenge::on_timeout(std::uint64_t now_ns) noexcept {
  if (!is_running() || now_ns < fails_ns_) return false;
  stop();
  state_ = validation_state::failed;
  return true;
}

}  // namespace millrace::quic::path
