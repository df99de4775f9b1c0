// quic/conn/counters.hpp - what the connections of one lcore did and refused: one counter a reason.
//
// Rules    every refusal that a peer can cause has a counter of its own; drops of whole packets are counted under
//          stats::drop_reason besides.
// Threads  one writer, any reader. Tests  test/quic/sim/
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "stats/drop_counters.hpp"

namespace millrace::quic::conn {

// X(name, text)
#define MILLRACE_QUIC_COUNTERS(X)                                                           \
  X(accepted, "connections begun by a client's Initial")                                    \
  X(connected, "connections begun by us")                                                   \
  X(established, "handshakes that were completed")                                          \
  X(resumed, "of those, resumed by a ticket")                                               \
  X(early_data_accepted, "of those, with 0-RTT accepted")                                   \
  X(early_data_rejected, "of those, with 0-RTT offered and refused")                        \
  X(steps_elsewhere, "handshake steps that were done on another lcore")                     \
  X(handshake_failed, "handshakes that TLS or the peer ended")                              \
  X(handshake_timeout, "handshakes that took too long")                                     \
  X(half_open_evicted, "handshakes that gave way to newcomers, as too many were under way") \
  X(idle_timeout, "connections that fell silent")                                           \
  X(closed_by_peer, "connections that the peer closed")                                     \
  X(closed_by_us, "connections that we closed")                                             \
  X(closed_for_fault, "of those, because the peer broke a rule")                            \
  X(reset_by_peer, "connections ended by a stateless reset")                                \
  X(refused_no_memory, "connections refused because a pool was empty")                      \
  X(packets_received, "packets that were opened")                                           \
  X(packets_sent, "packets that were sealed")                                               \
  X(packets_lost, "frames that have to be sent again or were given up, as tokens")          \
  X(duplicates, "packets that had been received before, or are too old to tell")            \
  X(undecryptable, "packets of a level whose keys are not there (yet, or any more)")        \
  X(held_for_keys, "packets that wait until the keys of their level are there")             \
  X(held_in_vain, "of those, given up because the keys never came")                         \
  X(auth_failed, "packets that their keys do not open")                                     \
  X(other_cid, "packets behind the first of a datagram for another connection")             \
  X(packets_beyond, "datagrams of more packets than one a level")                           \
  X(parameters_refused, "transport parameters that cannot be")                              \
  X(ack_of_unsent, "acknowledgements of packets that were never sent")                      \
  X(crypto_ignored, "CRYPTO frames that came when TLS was gone")                            \
  X(crypto_too_far, "CRYPTO data beyond its window or in too many pieces")                  \
  X(ack_ranges_no_memory, "packets of which the oldest holes had no place any more")        \
  X(stream_no_memory, "packets not taken in because no buffer was free for a stream")       \
  X(streams_opened, "streams opened by peers")                                              \
  X(streams_refused, "streams of peers that no memory was left for")                        \
  X(streams_reset, "streams reset or stopped by peers")                                     \
  X(resets_too_many, "connections closed because their peers reset too many streams")       \
  X(datagram_frames, "DATAGRAM frames received")                                            \
  X(datagram_frames_dropped, "DATAGRAM frames that were given up for want of room")         \
  X(key_updates, "key phases begun")                                                        \
  X(key_updates_hasty, "of those, begun by a peer sooner than it should")                   \
  X(new_tokens, "NEW_TOKEN frames received")                                                \
  X(migrations, "peers that were followed to another address")                              \
  X(migrations_refused, "packets from another address that were not followed")              \
  X(path_failed, "paths that did not answer a challenge")                                   \
  X(path_challenges_dropped, "PATH_CHALLENGE frames that newer ones pushed out")            \
  X(unsolicited_path_responses, "PATH_RESPONSE frames that answer nothing")                 \
  X(amplification_limited, "times that an unproven address kept us from sending")           \
  X(sent_pool_empty, "packets not sent because their record had no place")                  \
  X(version_negotiations, "Version Negotiation packets sent")                               \
  X(retries, "Retry packets sent")                                                          \
  X(stateless_resets, "stateless resets sent")                                              \
  X(tokens_accepted, "tokens that proved an address")                                       \
  X(tokens_refused, "tokens that did not")                                                  \
  X(initials_refused, "Initial packets that begin nothing: too short, no room, too many, a server's token")

enum class event : std::uint8_t {
#define MILLRACE_QUIC_EVENT(name, text) name,
  MILLRACE_QUIC_COUNTERS(MILLRACE_QUIC_EVENT)
#undef MILLRACE_QUIC_EVENT
      count_
};
inline constexpr std::size_t event_count = static_cast<std::size_t>(event::count_);

[[nodiscard]] constexpr std::string_view to_string(event e) noexcept {
  constexpr std::array<std::string_view, event_count> names{
#define MILLRACE_QUIC_NAME(name, text) #name,
      MILLRACE_QUIC_COUNTERS(MILLRACE_QUIC_NAME)
#undef MILLRACE_QUIC_NAME
  };
  return names[static_cast<std::size_t>(e)];
}
[[nodiscard]] constexpr std::string_view describe(event e) noexcept {
  constexpr std::array<std::string_view, event_count> texts{
#define MILLRACE_QUIC_TEXT(name, text) text,
      MILLRACE_QUIC_COUNTERS(MILLRACE_QUIC_TEXT)
#undef MILLRACE_QUIC_TEXT
  };
  return texts[static_cast<std::size_t>(e)];
}

class counters {
  std::array<stats::counter, event_count> values_;

 public:
  void add(event e, std::uint64_t n = 1) noexcept { values_[static_cast<std::size_t>(e)].add(n); }
  [[nodiscard]] std::uint64_t get(event e) const noexcept { return values_[static_cast<std::size_t>(e)].get(); }
};

}  // namespace millrace::quic::conn
