// quic/recovery/ack_policy.hpp - when the packets of one number space are acknowledged.
//
// Shape    on_packet() for each packet processed; after a receive burst (or at deadline_ns()) should_send() says
//          whether an ACK is due, so that a burst is answered by one ACK and not by sixteen. An ACK that leaves earlier
//          with other frames counts the same: on_sent(). At once: in the Initial and Handshake spaces, out of order,
//          after a gap, with a CE mark. Else after `every` ack-eliciting packets, or when max_ack_delay is over. Fast
//          streams: once `careful` packets came (the sender's slow start wants ACKs), the second packet does not make
//          an ACK due yet but sets a short deadline, an eighth of a round trip and at most `most_quick_ns`; so there
//          are about 8 to 16 ACKs a round trip however many packets that are, never fewer than one in `most` packets.
// Units    ns; packets.
// Source   RFC 9000 13.2.1, 13.2.2, 13.2.4. Tests  test/quic/recovery/ack_policy_test.cpp
#pragma once

#include <algorithm>

#include "quic/recovery/types.hpp"
#include "quic/wire/packet_number.hpp"

namespace millrace::quic::recovery {

struct ack_policy_config {
  std::uint64_t max_delay_ns = 25 * ms - 1 * ms;  // what we declared, less what our timers are late by
  std::uint64_t most_quick_ns = 1 * ms;
  std::uint32_t every = 2;
  std::uint32_t most = 32;        // one in so many, at least: a receive burst
  std::uint32_t careful = 100;    // packets after which a stream may count as fast
  std::uint32_t ping_after = 20;  // ACK-only packets after which one is to elicit an ACK, so that ranges can be dropped
  bool at_once = false;           // Initial and Handshake
};

class ack_policy {
  ack_policy_config config_;
  std::uint64_t largest_ = wire::no_packet_number;  // of all packets
  std::uint64_t deadline_ns_ = never_ns;
  std::uint64_t first_ns_ = 0;    // when the first packet came that waits for its ACK
  std::uint64_t largest_ns_ = 0;  // when the largest came
  std::uint64_t quick_ns_ = 0;    // 0: no round trip known
  std::uint64_t seen_ = 0;        // ack-eliciting, ever
  std::uint32_t waiting_ = 0;     // ack-eliciting, since the last ACK
  std::uint32_t silent_ = 0;      // ACK-only packets sent since one that elicits an ACK
  bool due_ = false;
  bool unsent_ = false;

 public:
  explicit ack_policy(const ack_policy_config& config = {}) noexcept : config_(config) {}

  struct arrival {
    std::uint64_t number = 0;
    std::uint64_t now_ns = 0;
    bool eliciting = false;
    bool ce = false;
  };
  // Each packet once; duplicates are the caller's to drop.
  void on_packet(const arrival& a) noexcept {
    const bool first = largest_ == wire::no_packet_number;
    const bool in_order = first ? a.number == 0 : a.number == largest_ + 1;
    if (first || a.number > largest_) {
      largest_ = a.number;
      largest_ns_ = a.now_ns;
    }
    unsent_ = true;
    if (!a.eliciting) return;  // RFC 9000 13.2.1: no ACK for those alone
    ++seen_;
    if (waiting_++ == 0) {
      first_ns_ = a.now_ns;
      deadline_ns_ = later(a.now_ns, config_.max_delay_ns);
    }
    // RFC 9000 13.2.1: out of order, a gap, or congestion: the sender must know.
    if (config_.at_once || !in_order || a.ce || waiting_ >= config_.most) {
      due_ = true;
    } else if (waiting_ >= config_.every) {
      if (seen_ <= config_.careful || quick_ns_ == 0)
        due_ = true;  // RFC 9000 13.2.2
      else
        deadline_ns_ = std::min(deadline_ns_, later(first_ns_, quick_ns_));
    }
  }
  // Of the path, when it changes much or now and then.
  void set_rtt(std::uint64_t smoothed_ns) noexcept { quick_ns_ = std::min(smoothed_ns / 8, config_.most_quick_ns); }

  // After a burst: a packet with an ACK is to leave even if nothing else does.
  [[nodiscard]] bool should_send(std::uint64_t now_ns) const noexcept { return due_ || deadline_ns_ <= now_ns; }
  // never_ns: nothing waits. 0: it is due.
  [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return due_ ? 0 : deadline_ns_; }
  // Something came since the last ACK: a packet that leaves anyway takes one along (RFC 9000 13.2.1).
  [[nodiscard]] bool has_unsent() const noexcept { return unsent_; }
  // RFC 9000 13.2.5: how long the largest one has waited, for the ACK's delay field.
  [[nodiscard]] std::uint64_t delay_ns(std::uint64_t now_ns) const noexcept {
    return now_ns > largest_ns_ ? now_ns - largest_ns_ : 0;
  }
  // RFC 9000 13.2.4: the next ACK packet is to carry a PING.
  [[nodiscard]] bool wants_ping() const noexcept { return silent_ >= config_.ping_after; }
  // An ACK left, in a packet that elicits one itself or not.
  void on_sent(bool eliciting) noexcept {
    due_ = unsent_ = false;
    waiting_ = 0;
    deadline_ns_ = never_ns;
    silent_ = eliciting ? 0 : silent_ + 1;
  }
};

}  // namespace millrace::quic::recovery
