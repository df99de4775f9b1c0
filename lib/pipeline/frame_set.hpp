// pipeline/frame_set.hpp - ready frames that seeding, txonly and flowgen copy into packets.
//
// Shape    filled once by the role (loadgen makes the frames), then only read, in turn. Ethernet frames without FCS.
// Units    bytes.
// Owner    the set owns the bytes; it outlives the engine that reads it.
// Limits   a frame is at most 65407 bytes, one buffer's largest room; the copy into the packet is the price of frames
//          that differ from packet to packet.
// Errors   add(): false for an empty or oversized frame.
// Threads  any number of readers once filled.
// Tests    test/pipeline/frame_set_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"

namespace millrace::pipeline {

inline constexpr std::size_t max_frame_bytes = 65407;

class frame_set {
  struct place {
    std::uint32_t offset;
    std::uint32_t size;
  };
  std::vector<std::uint8_t> bytes_;
  std::vector<place> places_;
  std::uint32_t largest_ = 0;

 public:
  [[nodiscard]] bool add(base::byte_view frame) {
    if (frame.empty() || frame.size() > max_frame_bytes || bytes_.size() + frame.size() > UINT32_MAX) return false;
    places_.push_back({static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(frame.size())});
    bytes_.insert(bytes_.end(), frame.begin(), frame.end());
    if (frame.size() > largest_) largest_ = static_cast<std::uint32_t>(frame.size());
    return true;
  }
  [[nodiscard]] std::size_t size() const noexcept { return places_.size(); }
  [[nodiscard]] bool empty() const noexcept { return places_.empty(); }
  [[nodiscard]] std::uint32_t largest() const noexcept { return largest_; }
  [[nodiscard]] base::byte_view operator[](std::size_t i) const noexcept {
    return {bytes_.data() + places_[i].offset, places_[i].size};
  }
};

}  // namespace millrace::pipeline
