// quic/recovery/ecn.hpp - whether a path carries ECN marks, and when it reports congestion by them.
//
//   testing --10 packets sent--> unknown --counts agree--> capable      any --counts disagree--> failed
//      \------ a count agrees --------------------------------^         unknown --all of them lost--> failed
//
// Shape    should_mark() before a packet leaves; on_sent(), on_ack() and on_lost() tell the machine what became of it.
// Units    packets. Limits  10 packets or 3 PTO of testing.
// Errors   a peer's counts that cannot be end in `failed`: marks are off for the path, nothing else happens.
// Source   RFC 9000 13.4.2, A.4. Tests  test/quic/recovery/ecn_test.cpp
#pragma once

#include "quic/recovery/types.hpp"
#include "quic/wire/frame_ack.hpp"

namespace millrace::quic::recovery {

enum class ecn_state : std::uint8_t { off, testing, unknown, capable, failed };

class ecn {
  static constexpr std::uint64_t test_packets = 10;  // RFC 9000 13.4.2
  ecn_state state_;
  std::uint64_t sent_ = 0;          // marked ECT(0) on this path
  std::uint64_t marked_acked_ = 0;  // of those acknowledged
  std::uint64_t marked_lost_ = 0;   // of those lost
  std::uint64_t testing_since_ns_ = never_ns;
  wire::ecn_counts seen_[packet_spaces];
  std::uint64_t sent_in_[packet_spaces] = {};  // marked, ever

 public:
  explicit ecn(bool use = true) noexcept : state_(use ? ecn_state::testing : ecn_state::off) {}

  [[nodiscard]] ecn_state state() const noexcept { return state_; }
  // RFC 9000 13.4.2: another path is tested anew; the counts of the connection go on.
  void restart() noexcept {
    if (state_ == ecn_state::off) return;
    state_ = ecn_state::testing;
    sent_ = marked_acked_ = marked_lost_ = 0;
    testing_since_ns_ = never_ns;
  }
  [[nodiscard]] bool should_mark() const noexcept {
    return state_ == ecn_state::testing || state_ == ecn_state::capable;
  }
  void on_sent(packet_space space, std::uint64_t now_ns, std::uint64_t pto_ns) noexcept;  // a marked packet
  void on_lost(std::uint64_t marked) noexcept;                                            // so many marked ones
  // A marked one that nobody waits for: it proves nothing, but the peer counts it.
  void on_sent_unkept(packet_space space) noexcept { ++sent_in_[static_cast<std::size_t>(space)]; }

  struct ack {
    packet_space space = packet_space::application;
    bool advances = false;                     // the largest acknowledged did: only then are counts in order
    std::uint64_t marked = 0;                  // newly acknowledged packets that were sent with ECT(0)
    std::uint64_t marked_here = 0;             // of those, the ones sent on this path: only they prove it
    const wire::ecn_counts* counts = nullptr;  // null: the ACK had none
  };
  // True when congestion was newly reported (RFC 9002 7.1).
  [[nodiscard]] bool on_ack(const ack& a) noexcept;
};

}  // namespace millrace::quic::recovery
