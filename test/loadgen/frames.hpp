// test/loadgen/frames.hpp - generators and their frames, for the tests of this room.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "loadgen/frame_generator.hpp"
#include "net/wire/decode.hpp"

namespace millrace::loadgen::test_support {

inline crypto::engine& engine() {
  static auto made = crypto::engine::make();
  return *made;
}

inline frame_generator generator(const frame_options& options) {
  auto made = frame_generator::make(options, engine());
  EXPECT_TRUE(made) << made.error().what;
  return std::move(made.value());
}

inline frame_options some(std::uint32_t flows, std::uint32_t size = 0, const char* kinds = "quic,srmp,udp,tcp") {
  frame_options o;
  o.flows = flows;
  o.frame_size = size;
  o.kinds = parse_traffic_kinds(kinds).value();
  return o;
}

using frame_bytes = std::vector<std::uint8_t>;

inline frame_bytes make_frame(frame_generator& from, std::uint64_t index) {
  frame_bytes out(from.largest_frame());
  out.resize(from.fill(index, out));
  EXPECT_FALSE(out.empty()) << index;
  return out;
}

// each(frame, plan, decoded) for every frame of a cycle.
template <class Each>
void for_each_frame(frame_generator& from, Each each) {
  for (std::uint64_t i = 0; i < from.cycle_frames(); ++i) {
    const frame_bytes frame = make_frame(from, i);
    net::wire::decoded seen;
    ASSERT_TRUE(net::wire::decode(frame, net::wire::link_type::ethernet, seen)) << i << ' ' << to_string(seen.why);
    each(base::byte_view(frame), from.plan(i), seen);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

inline base::byte_view payload_of(base::byte_view frame, const net::wire::decoded& seen) {
  return frame.subspan(seen.payload_offset, seen.payload_length);
}

}  // namespace millrace::loadgen::test_support
