// quic/recovery/persistence.hpp - whether the packets just lost span a time so long that the path must have changed.
//
// Shape    on_lost() for each packet of one detection, ascending. Two ack-eliciting packets count with all between
//          them, if nothing between was acknowledged: that shows as a step in their sequence.
// Source   RFC 9002 7.6. One packet number space at a time, as 7.6.2 permits. Tests
//          test/quic/recovery/persistence_test.cpp
#pragma once

#include "quic/recovery/sent_packets.hpp"

namespace millrace::quic::recovery {

class persistence {
  std::uint64_t since_ns_;   // when the first RTT sample was taken: what left before does not count
  std::uint64_t length_ns_;  // what is persistent
  std::uint64_t first_ns_ = never_ns;
  std::uint64_t last_sequence_ = 0;
  bool found_ = false;

 public:
  persistence(std::uint64_t first_sample_ns, std::uint64_t length_ns) noexcept
      : since_ns_(first_sample_ns), length_ns_(length_ns) {}

  void on_lost(const sent_report& r) noexcept {
    if (first_ns_ != never_ns && r.sequence != last_sequence_ + 1) first_ns_ = never_ns;  // one between got through
    last_sequence_ = r.sequence;
    if (!r.packet.eliciting || r.packet.path_probe || r.packet.sent_ns <= since_ns_) return;
    if (first_ns_ == never_ns) first_ns_ = r.packet.sent_ns;
    if (r.packet.sent_ns - first_ns_ >= length_ns_) found_ = true;
  }
  [[nodiscard]] bool is_persistent() const noexcept { return found_; }
};

}  // namespace millrace::quic::recovery
