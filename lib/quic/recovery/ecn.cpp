#include "quic/recovery/ecn.hpp"

namespace millrace::quic::recovery {

void ecn::on_sent(packet_space space, std::uint64_t now_ns, std::uint64_t pto_ns) noexcept {
  ++sent_;
  ++sent_in_[static_cast<std::size_t>(space)];
  if (state_ != ecn_state::testing) return;
  if (testing_since_ns_ == never_ns) testing_since_ns_ = now_ns;
  // RFC 9000 A.4: after ten packets, or three PTOs, marks wait until the path has proved itself.
  if (sent_ >= test_packets || now_ns - testing_since_ns_ >= 3 * pto_ns) state_ = ecn_state::unknown;
}

void ecn::on_lost(std::uint64_t marked) noexcept {
  marked_lost_ += marked;
  // RFC 9000 A.4: a path that loses all marked packets drops them because of the mark.
  if (state_ == ecn_state::unknown && marked_acked_ == 0 && marked_lost_ >= sent_) state_ = ecn_state::failed;
}

bool ecn::on_ack(const ack& a) noexcept {
  if (state_ == ecn_state::off || state_ == ecn_state::failed) return false;
  marked_acked_ += a.marked_here;
  // RFC 9000 13.4.2.1: an old ACK that comes late must not fail the path, neither by its counts nor for want of them.
  if (!a.advances) return false;
  const auto fail = [this] {
    state_ = ecn_state::failed;
    return false;
  };
  // RFC 9000 13.4.2.1: counts missing from an ACK of marked packets: somebody removes marks, or the peer ignores them.
  if (a.counts == nullptr) return a.marked != 0 ? fail() : false;
  const auto space = static_cast<std::size_t>(a.space);
  wire::ecn_counts& seen = seen_[space];
  const wire::ecn_counts& now = *a.counts;
  if (now.ect0 < seen.ect0 || now.ect1 < seen.ect1 || now.ce < seen.ce) return fail();
  const std::uint64_t more_ect0 = now.ect0 - seen.ect0;
  const std::uint64_t more_ce = now.ce - seen.ce;
  // RFC 9000 13.4.2.1: every newly acknowledged packet that was marked shows, as ECT(0) or as CE. Sums are safe: counts
  // are below 2^62.
  if (more_ect0 + more_ce < a.marked) return fail();
  // RFC 9000 13.4.2.1: no more than was sent, and nothing of a mark that is never sent.
  if (now.ect0 + now.ce > sent_in_[space] || now.ect1 != 0) return fail();
  seen = now;
  // RFC 9000 A.4
  if (a.marked_here != 0 && (state_ == ecn_state::unknown || state_ == ecn_state::testing)) state_ = ecn_state::capable;
  return more_ce != 0;
}

}  // namespace millrace::quic::recovery
