// quic/recovery/delivery.hpp - how fast a path delivers, measured by each acknowledgement.
//
// Shape    on_sent() stamps a packet with what had been delivered when it left; on_acked() counts it, and of an ACK's
//          packets the one sent last gives the sample: bytes delivered since its stamp, over the longer of the time
//          they took to be sent and the time they took to be acknowledged. So neither a burst of data nor a burst of
//          ACKs looks like capacity. When the application leaves the window open, what is in flight is marked until it
//          is acknowledged: such samples are a lower bound only, and such packets do not grow a window (RFC 9002 7.8).
// Source   draft-cheng-iccrg-delivery-rate-estimation 3, RFC 9002 7.8. Tests  test/quic/recovery/delivery_test.cpp
#pragma once

#include <algorithm>

#include "quic/recovery/sent_pool.hpp"

namespace millrace::quic::recovery {

struct rate_sample {
  std::uint64_t delivered_bytes = 0;  // since the stamp of the packet; 0: no sample
  std::uint64_t interval_ns = 0;
  std::uint64_t prior_bytes = 0;  // the path's count in that stamp
  bool app_limited = false;
  [[nodiscard]] bool is_valid() const noexcept { return interval_ns != 0 && delivered_bytes != 0; }
  [[nodiscard]] std::uint64_t bytes_per_second() const noexcept {
    return is_valid() ? multiply_divide(delivered_bytes, second, interval_ns) : 0;
  }
};

class delivery {
  std::uint64_t delivered_bytes_ = 0;
  std::uint64_t delivered_ns_ = 0;
  std::uint64_t first_sent_ns_ = 0;
  std::uint64_t app_limited_until_ = 0;  // a count of delivered bytes; 0: not limited

  // Of the packets of the ACK at hand, the one sent last.
  std::uint64_t prior_bytes_ = 0;
  std::uint64_t prior_ns_ = 0;
  std::uint64_t sent_ns_ = 0;
  std::uint64_t send_elapsed_ns_ = 0;
  bool sample_limited_ = false;
  bool has_packet_ = false;

 public:
  void on_sent(sent_packet& packet, std::uint64_t in_flight_bytes) noexcept {
    if (in_flight_bytes == 0) first_sent_ns_ = delivered_ns_ = packet.sent_ns;
    packet.first_sent_ns = first_sent_ns_;
    packet.delivered_ns = delivered_ns_;
    packet.delivered_bytes = delivered_bytes_;
    packet.app_limited = app_limited_until_ != 0;
  }
  // The application has nothing more to send although the window has room.
  void on_app_limited(std::uint64_t in_flight_bytes) noexcept {
    app_limited_until_ = std::max<std::uint64_t>(delivered_bytes_ + in_flight_bytes, 1);
  }
  void on_acked(const sent_packet& packet, std::uint64_t now_ns) noexcept {
    delivered_bytes_ += packet.bytes;
    delivered_ns_ = now_ns;
    if (has_packet_ && packet.delivered_bytes < prior_bytes_) return;
    if (has_packet_ && packet.delivered_bytes == prior_bytes_ && packet.sent_ns < sent_ns_) return;
    has_packet_ = true;
    prior_bytes_ = packet.delivered_bytes;
    prior_ns_ = packet.delivered_ns;
    sent_ns_ = packet.sent_ns;
    send_elapsed_ns_ = packet.sent_ns - packet.first_sent_ns;
    sample_limited_ = packet.app_limited;
  }
  // At the end of an ACK. A sample shorter than the path's minimum round trip is none: its ACKs came compressed.
  [[nodiscard]] rate_sample take_sample(std::uint64_t min_rtt_ns) noexcept {
    if (app_limited_until_ != 0 && delivered_bytes_ > app_limited_until_) app_limited_until_ = 0;
    rate_sample s;
    if (!has_packet_) return s;
    has_packet_ = false;
    first_sent_ns_ = sent_ns_;
    s.prior_bytes = prior_bytes_;
    s.app_limited = sample_limited_;
    const std::uint64_t interval_ns = std::max(send_elapsed_ns_, delivered_ns_ - prior_ns_);
    if (interval_ns < min_rtt_ns) return s;
    s.delivered_bytes = delivered_bytes_ - prior_bytes_;
    s.interval_ns = interval_ns;
    return s;
  }
  [[nodiscard]] std::uint64_t delivered_bytes() const noexcept { return delivered_bytes_; }
  [[nodiscard]] bool is_app_limited() const noexcept { return app_limited_until_ != 0; }
};

}  // namespace millrace::quic::recovery
