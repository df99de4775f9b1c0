// ws/settings.hpp - what a WebSocket endpoint lets its peers do: the same for all its sessions.
//
// Shape    plain values with documented defaults. Every number that a peer could drive up has its bound here, and a
//          counter (ws/counters.hpp) that says when it was met.
// Units    bytes, counts. Source  RFC 6455 10.4. Tests  test/ws/session_test.cpp
#pragma once

#include "ws/wire/frame_header.hpp"

namespace millrace::ws {

struct settings {
  std::uint32_t sessions = 1024;            // at a time, of the lcore; beyond: 503
  std::uint64_t frame_bytes = 1u << 20;     // payload of one frame; beyond: close code 1009
  std::uint64_t message_bytes = 1u << 20;   // payload of one message; beyond: 1009
  std::uint64_t gathered_bytes = 4u << 20;  // of messages that are not whole yet, of all sessions; beyond: 1013
  // Copies cost time and save memory. Beyond some hundred bytes a slice is the quicker one (bench/ws, session alone:
  // 114 ns against 142 for an echo of 1400 bytes, 4.9 us against 6.0 for 64 KiB in 47 packets), but holds its received
  // packet until the peer has acknowledged it, and each piece of a half message a block more: slow peers would use up
  // the port's.
  std::uint32_t copied_bytes = 1800;             // sent messages up to this share a block with their neighbours
  std::uint32_t gather_copied_bytes = 4096;      // received pieces below are copied into blocks, others kept as slices
  wire::masking policy = wire::masking::strict;  // whether frames of clients may come unmasked
};

// EAL memory of an endpoint, a little above the truth.
[[nodiscard]] std::size_t memory_bytes(const settings& s) noexcept;

}  // namespace millrace::ws
