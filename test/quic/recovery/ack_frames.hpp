// test/quic/recovery/ack_frames.hpp - ACK frames as a peer would send them, from ranges.
//
// Shape    made() owns the bytes that the frame views. Ranges may be given in any order; they are sorted and joined.
#pragma once

#include <algorithm>
#include <vector>

#include "quic/wire/frame_ack.hpp"

namespace millrace::test {

class made_ack {
  std::vector<std::uint8_t> bytes_;

 public:
  quic::wire::ack_frame frame;

  explicit made_ack(std::vector<quic::wire::packet_range> ranges, const quic::wire::ecn_counts* ecn = nullptr) {
    std::ranges::sort(ranges, [](const auto& a, const auto& b) { return a.largest > b.largest; });
    std::vector<quic::wire::packet_range> joined;
    for (const auto& r : ranges) {
      if (!joined.empty() && r.largest + 1 >= joined.back().smallest)
        joined.back().smallest = std::min(joined.back().smallest, r.smallest);
      else
        joined.push_back(r);
    }
    bytes_.resize(32 + 16 * joined.size() + 32);
    base::byte_writer out(bytes_);
    const quic::wire::ack_to_send ack{.ranges = joined, .delay = 0, .ecn = ecn};
    if (!emit(out, ack)) std::abort();
    bytes_.resize(out.written().size());
    base::byte_reader in(bytes_);
    std::uint64_t type = 0;
    if (!in.varint(type) || !parse(in, static_cast<quic::wire::frame_type>(type), frame)) std::abort();
  }
  made_ack(const made_ack&) = delete;
  made_ack& operator=(const made_ack&) = delete;
};

}  // namespace millrace::test
