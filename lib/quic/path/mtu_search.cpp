// One search narrows a window: mtu_ passes, too_large_ does not. Its first size is the top; when that is lost for good,
// the two sizes that Ethernet gives (1500 bytes less IPv4 or IPv6, and UDP), then the middle, until the window is
// narrower than a step. Each size gets three probes, one after the other.
//
// What could go wrong. A path may shrink: then everything above its new size vanishes, and only smaller packets (ACKs,
// probes of recovery) arrive. A burst of congestion looks the same for one round trip, so losses count once a round (of
// packets sent after the last such loss was noticed), and any large packet that arrives, sent since, clears the
// suspicion. An attacker may send ICMP: what it says only makes us look.
#include "quic/path/mtu_search.hpp"

#include <algorithm>
#include <array>

namespace millrace::quic::path {
namespace {

constexpr std::array<std::uint32_t, 2> ethernet = {1500 - 20 - 8, 1500 - 40 - 8};
constexpr std::uint32_t largest_payload = 65527;  // RFC 9000 18.2: of any UDP datagram

}  // namespace

mtu_search::mtu_search(const mtu_limits& limits) noexcept : limits_(limits) {}

void mtu_search::search(std::uint32_t top) noexcept {
  top_ = top;
  too_large_ = top + 1;
  probing_ = 0;
  lost_probes_ = 0;
  state_ = mtu_state::searching;
}

void mtu_search::forget_suspicion() noexcept {
  rounds_ = 0;
  hint_ = 0;
  suspect_since_ns_ = recovery::never_ns;
  last_loss_ns_ = 0;
}

void mtu_search::start(std::uint64_t peer_max_udp_payload) noexcept {
  const std::uint64_t most = std::min<std::uint64_t>({limits_.most, peer_max_udp_payload, largest_payload});
  ceiling_ = std::max(static_cast<std::uint32_t>(most), base_mtu);
  mtu_ = base_mtu;
  forget_suspicion();
  if (ceiling_ > base_mtu)
    search(ceiling_);
  else
    state_ = mtu_state::disabled;
}

// RFC 9000 9.4, 14.3: what another path carries is not known.
void mtu_search::restart() noexcept {
  ++epoch_;
  mtu_ = base_mtu;
  forget_suspicion();
  if (state_ != mtu_state::disabled) search(ceiling_);
}

// 0: the window is closed.
std::uint32_t mtu_search::next_size() const noexcept {
  if (too_large_ == top_ + 1) return top_ > mtu_ ? top_ : 0;
  if (mtu_ < ethernet.back())
    for (const std::uint32_t size : ethernet)
      if (size > mtu_ && size < too_large_) return size;
  const std::uint32_t window = too_large_ - mtu_;
  return window > std::max(limits_.step, 1u) ? mtu_ + window / 2 : 0;
}

void mtu_search::complete_when_done(std::uint64_t now_ns) noexcept {
  if (next_size() != 0) return;
  state_ = mtu_state::complete;
  again_ns_ = mtu_ < ceiling_ ? recovery::later(now_ns, limits_.raise_ns) : recovery::never_ns;
}

std::uint32_t mtu_search::probe_size(std::uint64_t now_ns) noexcept {
  if (state_ == mtu_state::complete && now_ns >= again_ns_ && again_ns_ != recovery::never_ns) search(ceiling_);
  return state_ == mtu_state::searching && probing_ == 0 ? next_size() : 0;
}

void mtu_search::on_probe_sent(std::uint32_t size) noexcept {
  if (state_ != mtu_state::searching) return;
  probing_ = size;
  ++counters_.probes_sent;
}

bool mtu_search::on_probe_acked(std::uint32_t size, std::uint64_t now_ns) noexcept {
  if (probing_ == 0 || size != probing_) return false;
  probing_ = 0;
  lost_probes_ = 0;
  ++counters_.probes_acked;
  const bool grew = size > mtu_;
  if (grew) {
    mtu_ = size;
    forget_suspicion();
  }
  complete_when_done(now_ns);
  return grew;
}

void mtu_search::on_probe_lost(std::uint32_t size, std::uint64_t now_ns) noexcept {
  if (probing_ == 0 || size != probing_) return;
  probing_ = 0;
  ++counters_.probes_lost;
  if (++lost_probes_ < limits_.probes) return;
  lost_probes_ = 0;
  too_large_ = std::min(too_large_, size);
  complete_when_done(now_ns);
}

void mtu_search::on_acked(std::uint32_t size, std::uint64_t sent_ns) noexcept {
  if (size > base_mtu && rounds_ != 0 && sent_ns >= suspect_since_ns_) forget_suspicion();
}

// RFC 8899 4.3.
bool mtu_search::on_lost(std::uint32_t size, std::uint64_t sent_ns, std::uint64_t now_ns) noexcept {
  if (size <= base_mtu || mtu_ == base_mtu) return false;
  if (rounds_ != 0 && sent_ns <= last_loss_ns_) return false;
  if (rounds_ == 0) suspect_since_ns_ = sent_ns;
  last_loss_ns_ = now_ns;
  if (++rounds_ < limits_.black_hole_rounds) return false;
  ++counters_.black_holes;
  const std::uint32_t hint = hint_;
  mtu_ = base_mtu;
  forget_suspicion();
  if (hint > base_mtu) {
    search(hint);
  } else {
    probing_ = 0;
    state_ = mtu_state::complete;
    again_ns_ = recovery::later(now_ns, limits_.after_hole_ns);
  }
  return true;
}

void mtu_search::on_too_big(std::uint32_t size, std::uint64_t now_ns) noexcept {
  const std::uint32_t sent = std::max(probing_, mtu_);
  if (size < base_mtu || size >= sent || state_ == mtu_state::disabled) {  // RFC 9000 14.2.1
    ++counters_.hints_ignored;
    return;
  }
  ++counters_.hints_taken;
  if (size >= mtu_) {  // about the probe
    search(size);
    complete_when_done(now_ns);
    return;
  }
  hint_ = size;
  if (rounds_ == 0) suspect_since_ns_ = now_ns;
  rounds_ = std::max(rounds_, limits_.black_hole_rounds - std::min(limits_.black_hole_rounds, 1u));
}

}  // namespace millrace::quic::path
