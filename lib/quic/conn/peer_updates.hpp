// quic/conn/peer_updates.hpp - how often a peer may change the 1-RTT keys.
//
// Shape    on_ack_sent() with each 1-RTT packet of ours that acknowledges something; on_update() when a packet came
//          under the next keys and it was not the answer to an update of ours.
// Rules    an update needs an acknowledgement of ours under the keys before, or the peer could not know that we have
//          them (RFC 9001 6.2): one without is a fault. A peer should also wait three PTOs (RFC 9001 6.5); each update
//          derives keys, so those that come sooner have a budget, which the others fill up again.
// Limits   `most_hasty` sooner than three PTOs, in a row.
// Units    ns.
// Source   RFC 9001 6, 6.2, 6.5. Tests  test/quic/conn/peer_updates_test.cpp
#pragma once

#include <cstdint>

namespace millrace::quic::conn {

class peer_updates {
  std::uint64_t last_ns_ = 0;
  std::uint8_t hasty_ = 0;
  bool acked_;  // something under the keys of now
  bool any_ = false;

 public:
  // A server's peer may update when it has seen HANDSHAKE_DONE or an ACK: not before we sent something (on_ack_sent()
  // with the first 1-RTT packet, whatever it carries). A client's may when it has read Finished, which we cannot see.
  explicit peer_updates(bool is_server) noexcept : acked_(!is_server) {}

  static constexpr std::uint8_t most_hasty = 8;
  enum class verdict : std::uint8_t { fine, hasty, fault };

  void on_ack_sent() noexcept { acked_ = true; }
  [[nodiscard]] verdict on_update(std::uint64_t now_ns, std::uint64_t pto_ns) noexcept {
    if (!acked_) return verdict::fault;
    acked_ = false;
    const bool hasty = any_ && now_ns - last_ns_ < 3 * pto_ns;
    any_ = true;
    last_ns_ = now_ns;
    if (!hasty) {
      if (hasty_ != 0) --hasty_;
      return verdict::fine;
    }
    return ++hasty_ > most_hasty ? verdict::fault : verdict::hasty;
  }
  // The peer followed an update of ours: the keys of now are new as well.
  void on_answer() noexcept { acked_ = false; }
};

}  // namespace millrace::quic::conn
