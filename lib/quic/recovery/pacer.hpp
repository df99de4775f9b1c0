// quic/recovery/pacer.hpp - spreads packets over the round trip, in bursts a NIC takes at once.
//
// Shape    a bucket that fills with time: a burst may leave while it is not empty, and next_ns() says when the next one
//          may. The bucket holds what a millisecond sends, between 10 datagrams and a transmit burst of 32: a slow path
//          gets short bursts, a fast one full ones. set_rate(0) turns pacing off.
// Units    bytes, ns, bytes per second. Cost: a multiplication a packet; divisions when the rate changes.
// Source   RFC 9002 7.7. Tests  test/quic/recovery/pacer_test.cpp
#pragma once

#include <algorithm>

#include "quic/recovery/types.hpp"

namespace millrace::quic::recovery {

inline constexpr std::uint64_t burst_datagrams = 32;        // a transmit burst
inline constexpr std::uint64_t least_burst_datagrams = 10;  // RFC 9002 7.7: as much as the initial window

class pacer {
  static constexpr unsigned shift = 16;
  std::uint64_t cost_ = 0;      // ns a byte, times 2^16; 0: not paced
  std::uint64_t burst_ns_ = 0;  // what a full bucket lasts
  std::uint64_t empty_ns_ = 0;  // when the bucket would be empty if it leaked at the rate: full at empty_ns_ <= now

 public:
  void set_rate(std::uint64_t bytes_per_second, std::uint64_t datagram_bytes) noexcept {
    if (bytes_per_second == 0) {
      cost_ = 0;
      return;
    }
    cost_ = std::max<std::uint64_t>((second << shift) / std::max<std::uint64_t>(bytes_per_second, 16), 1);
    const std::uint64_t burst =
        std::clamp(bytes_per_second / 1000, least_burst_datagrams * datagram_bytes, burst_datagrams * datagram_bytes);
    burst_ns_ = time_of(burst);
  }
  void on_sent(std::uint64_t now_ns, std::uint64_t bytes) noexcept {
    empty_ns_ = std::max(empty_ns_, now_ns) + ((bytes * cost_) >> shift);
  }
  // When `bytes` (at most 10 datagrams) may leave at once; a time that has passed when they may now.
  [[nodiscard]] std::uint64_t next_ns(std::uint64_t bytes) const noexcept {
    const std::uint64_t until_ns = empty_ns_ + time_of(bytes);
    return cost_ == 0 || until_ns < burst_ns_ ? 0 : until_ns - burst_ns_;
  }
  [[nodiscard]] bool may_send(std::uint64_t now_ns, std::uint64_t bytes) const noexcept {
    return next_ns(bytes) <= now_ns;
  }
  // How many bytes may leave at `now` at once; everything when not paced. At next_ns(n) it is n or more.
  [[nodiscard]] std::uint64_t burst_bytes(std::uint64_t now_ns) const noexcept {
    if (cost_ == 0) return UINT64_MAX;
    const std::uint64_t used_ns = empty_ns_ > now_ns ? empty_ns_ - now_ns : 0;
    return used_ns >= burst_ns_ ? 0 : ((burst_ns_ - used_ns) << shift) / cost_;
  }

 private:
  [[nodiscard]] std::uint64_t time_of(std::uint64_t bytes) const noexcept {  // rounded up
    return (bytes * cost_ + (std::uint64_t{1} << shift) - 1) >> shift;
  }
};

}  // namespace millrace::quic::recovery
