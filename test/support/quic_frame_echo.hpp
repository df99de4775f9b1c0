// test/support/quic_frame_echo.hpp - a visitor that writes every frame it sees again: emit(parse(x)), for round trips
// in tests and fuzzers.
//
// Shape    written() is the canonical form of what was walked; `broken` tells that a frame could not be written, or in
//          another size than its encoded_size().
#pragma once

#include <vector>

#include "quic/wire/frame_walker.hpp"

namespace millrace::test {

class frame_echo : public quic::wire::frame_visitor {
  std::vector<std::uint8_t> out_;
  std::vector<quic::wire::packet_range> ranges_;

  template <class Frame>
  bool write(const Frame& f) {
    const std::size_t size = encoded_size(f);
    const std::size_t before = out_.size();
    out_.resize(before + size);
    base::byte_writer to(base::byte_span(out_).subspan(before));
    broken = broken || !emit(to, f) || to.room() != 0;
    return !broken;
  }

 public:
  bool broken = false;

  [[nodiscard]] base::byte_view written() const { return out_; }

  // Every other frame is written as it was read.
  template <class Frame>
  bool on(const Frame& f) {
    return write(f);
  }
  bool on(const quic::wire::ack_frame& f) {
    ranges_.clear();
    quic::wire::packet_range range;
    for (quic::wire::ack_range_reader reader(f); reader.next(range);) ranges_.push_back(range);
    return write(quic::wire::ack_to_send{.ranges = ranges_, .delay = f.delay, .ecn = f.has_ecn ? &f.ecn : nullptr});
  }
};

}  // namespace millrace::test
