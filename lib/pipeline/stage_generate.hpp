// pipeline/stage_generate.hpp - packets made from a frame set: for seeding, txonly and flowgen.
//
// Shape    fill() takes fresh packets from the pool and copies the next frames into them. With more flows than frames,
//          each round over the set changes the low 24 bits of the source address and mends the checksums.
// Units    packets; a flow is one frame of the set in one round.
// Owner    the burst owns what was made. The frame set outlives the generator.
// Errors   fill(): 0 when the pool has not that many packets (the pool counts it), else the bytes made.
// Limits   flows up to frames x 2^24. Only plain frames change: Ethernet without tags, IPv4 without options or IPv6
//          without extensions, UDP or TCP; the others repeat as they are.
// Threads  one lcore each.
// Tests    test/pipeline/stage_generate_test.cpp
#pragma once

#include "buf/burst.hpp"
#include "pipeline/frame_set.hpp"

namespace millrace::pipeline {

// Rewrites the source address for round `round` (0: nothing changes) and its checksums. True when it did.
bool move_to_round(base::byte_span frame, std::uint32_t round) noexcept;

class frame_cursor {
  const frame_set* frames_ = nullptr;
  std::uint64_t flows_ = 0;  // distinct packets before everything repeats
  std::uint64_t left_ = 0;   // of them, until then
  std::size_t index_ = 0;    // of the next frame in the set
  std::uint32_t round_ = 0;

  void advance() noexcept;

 public:
  frame_cursor() noexcept = default;
  // `flows` of 0 or below the size of the set: the set as it is. `start` sets streams apart.
  frame_cursor(const frame_set& frames, std::uint64_t flows, std::uint64_t start = 0) noexcept;

  // Into an empty burst.
  std::uint64_t fill(buf::burst& packets, mem::packet_pool& pool, unsigned count) noexcept;
};

}  // namespace millrace::pipeline
