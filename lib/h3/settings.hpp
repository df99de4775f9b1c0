// h3/settings.hpp - what an HTTP/3 endpoint lets its peers do, and how long it waits for them: the same for all its
// connections.
//
// Shape    plain values with documented defaults; app/ maps the configuration file onto them. Every number that a peer
//          could drive up has its bound here, and a counter (h3/counters.hpp) that says when it was met.
// Units    bytes, ns, counts. Source  RFC 9114 4.2.2 7.2.4 10.5, RFC 9204 5 7. Tests  test/h3/
#pragma once

#include "buf/pipe.hpp"
#include "quic/conn/event_budget.hpp"

namespace millrace::h3 {

struct settings {
  std::uint32_t connections = 1024;  // at a time, of the lcore
  std::uint32_t exchanges = 4096;    // requests at a time, of all connections; beyond: H3_REQUEST_REJECTED

  // --- heads ---
  std::uint32_t field_section_bytes = 64u << 10;   // RFC 9114 4.2.2; a larger request is answered with 431
  std::uint32_t qpack_table_bytes = 4096;          // dynamic table that a peer may fill, for each connection
  std::uint16_t qpack_blocked_streams = 16;        // that may wait for its instructions
  std::uint32_t qpack_encoder_table_bytes = 4096;  // what we fill of a peer's table, if it lets us
  bool extended_connect = true;                    // server: RFC 9220, WebSocket over HTTP/3

  // --- bodies that we send, for each stream ---
  std::uint64_t unacked_bytes =
      512u << 10;                        // of a pulled body: beyond, nothing is pulled. Bounds the rate over a long way
  std::uint32_t pull_bytes = 64u << 10;  // one pull; at most 64 KiB
  // Of a body that is written: `paused` at the first, `open` again below the second.
  buf::pipe_limits write{.pause_bytes = 256 << 10, .resume_bytes = 128 << 10, .pause_segments = 4096};
  std::uint32_t inline_bytes = 1024;  // a whole body up to this is copied behind its head: one write, one packet

  // --- patience ---
  std::uint64_t head_ns = 10'000'000'000;       // from a stream's first byte to a whole head; 0: any time
  std::uint64_t progress_ns = 20'000'000'000;   // in so much time a body, either way, moves on by ...
  std::uint32_t progress_bytes = 1024;          // ... so many bytes, or its exchange ends; 0 ns: never
  quic::conn::event_rate resets{200, 400};      // requests that a peer gives up or breaks: beyond, H3_EXCESSIVE_LOAD
  std::uint64_t drain_notice_ns = 100'000'000;  // between the two GOAWAYs of a server that stops (RFC 9114 5.2)
};

// EAL memory of an endpoint's pools, client or server, a little above the truth.
[[nodiscard]] std::size_t memory_bytes(const settings& s) noexcept;

}  // namespace millrace::h3
