// loadgen/load_settings.hpp - what an SRMP load generator is told, and what it tells: plain data.
//
// Units    in the names; messages are SRMP frames, bytes those of their payloads.
// Errors   check(): the first thing that cannot work, as an operator would name it.
// Threads  load_figures is a copy at one moment; copies of several generators add up.
// Tests    test/loadgen/load_session_test.cpp
#pragma once

#include <array>
#include <string>

#include "base/ip_address.hpp"
#include "base/result.hpp"
#include "srmp/compatibility.hpp"

namespace millrace::loadgen {

inline constexpr std::uint16_t max_load_connections = 4096;
inline constexpr std::uint16_t max_load_window = 255;   // the sequence is one byte, and one number stays free
inline constexpr std::uint32_t max_load_size = 65'000;  // of a payload: with its frame it fits a UDP datagram

enum class load_ask : std::uint8_t {
  echo,        // the payload, raw: what an srmp::echo_handler sends back
  rpc_echo,    // a call of `method` (Echo) with a JSON object; its result is its arguments
  rpc_call,    // a call of `method` without arguments; any success is right
  rpc_stream,  // the same, answered by several replies up to one without data
  one_way,     // nothing comes back
};
[[nodiscard]] std::string_view to_string(load_ask ask) noexcept;

struct load_settings {
  base::endpoint target;
  base::ip_address source;           // ours; family none: what the host would choose for the target
  std::uint16_t first_port = 49152;  // connection i has first_port + port_offset + i (RFC 6335 6: dynamic ports)
  std::uint16_t connections = 1;
  // Where replies may come to another lcore's queue: a connection that is not answered takes the port port_step
  // further, up to port_tries ports in all. port_step: the connections of all shares.
  std::uint16_t port_step = 0;
  std::uint16_t port_tries = 1;
  std::uint16_t port_offset = 0;  // of this share's first connection behind first_port, which all shares have
  std::uint16_t window = 16;      // requests in flight of one connection
  std::uint64_t rate = 0;         // open loop: messages a second over all shares; 0: closed loop, as the windows let
  std::uint16_t share = 0;        // several generators, one a lcore, make one rate: which of them this is
  std::uint16_t shares = 1;
  std::uint64_t requests = 0;                 // messages of this generator; 0: until time is up
  std::uint64_t duration_ns = 0;              // of sending, from the first answer on; 0: until told to stop
  std::uint64_t timeout_ns = 1'000'000'000;   // of one request
  std::uint64_t patience_ns = 5'000'000'000;  // for the first answer; then it gives up
  load_ask ask = load_ask::echo;
  std::uint32_t size = 28;      // payload bytes of an echo or one-way; of rpc_echo those of the arguments
  std::string method = "Echo";  // of the rpc kinds
  bool fill = false;            // datagrams filled up to the path's MTU; else one message each
  srmp::compatibility peers = {};
  std::uint16_t interface = 0;  // of the loop
};

[[nodiscard]] base::outcome check(const load_settings& settings);

// What can go wrong with a message, or a datagram.
enum class load_error : std::uint8_t {
  timeout,      // requests that nobody answered in time
  error_reply,  // replies that say so
  mismatch,     // replies whose size or content is wrong
  malformed,    // datagrams that are no frames, or hold a reply that is none
  unmatched,    // replies that nobody waits for: late, doubled or made up
  stranger,     // datagrams that are not from the target
  refused,      // datagrams that our own host or transmit queue did not take
  unreachable,  // packets that waited in vain for a neighbour to say where it is
  icmp_error,   // ICMP errors heard: a closed port, no way
  end_
};
inline constexpr std::size_t load_error_count = static_cast<std::size_t>(load_error::end_);
[[nodiscard]] std::string_view to_string(load_error kind) noexcept;

enum class load_phase : std::uint8_t {
  waiting,   // our address is not ours yet (duplicate detection)
  knocking,  // one message at a time, until the first answer: the neighbour is asked for, its pending queue is short
  running,
  draining,  // nothing is sent any more; replies in flight are waited for
  finished,
};
[[nodiscard]] std::string_view to_string(load_phase phase) noexcept;

// Once nothing is in flight: sent == replies + timeouts + error replies + mismatches (of one_way: sent alone).
struct load_figures {
  load_phase phase = load_phase::waiting;  // added up: the earliest
  bool answered = false;                   // whether the target was ever heard of
  std::uint64_t sent = 0;                  // messages, without knocks
  std::uint64_t replies = 0;               // right ones; of a stream its end
  std::uint64_t items = 0;                 // of streams
  std::uint64_t sent_bytes = 0;
  std::uint64_t reply_bytes = 0;  // of right replies and items
  std::uint64_t datagrams_sent = 0;
  std::uint64_t datagrams_received = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t knocks = 0;     // messages sent before the first answer; in no other figure
  std::uint64_t unheard = 0;    // connections that nobody has answered yet
  std::uint64_t behind_ns = 0;  // open loop: how far sending was behind at most
  std::uint64_t first_ns = 0;   // when measuring began, on the loop's clock; 0: not yet
  std::uint64_t last_ns = 0;    // of the last message sent or right reply
  std::array<std::uint64_t, load_error_count> errors{};

  load_figures& operator+=(const load_figures& more) noexcept;
  [[nodiscard]] std::uint64_t operator[](load_error kind) const noexcept {
    return errors[static_cast<std::size_t>(kind)];
  }
  // The measured time; 0 before it began.
  [[nodiscard]] double seconds() const noexcept {
    return last_ns > first_ns ? static_cast<double>(last_ns - first_ns) / 1e9 : 0;
  }
};

}  // namespace millrace::loadgen
