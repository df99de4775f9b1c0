// h3/counters.hpp - what the HTTP/3 connections of one lcore did and refused: one counter a reason.
//
// Threads  one writer, any reader. Tests  test/h3/
#pragma once

#include "h3/section_reader.hpp"
#include "stats/drop_counters.hpp"

namespace millrace::h3 {

// X(name, text)
#define MILLRACE_H3_COUNTERS(X)                                                            \
  X(connections, "connections begun")                                                      \
  X(refused_connections, "connections closed because no memory was left for them")         \
  X(requests, "requests begun")                                                            \
  X(early_requests, "of those, in 0-RTT")                                                  \
  X(heads, "heads of requests (a server's) or responses (a client's) that were taken")     \
  X(completed, "exchanges that came to their end")                                         \
  X(rejected, "requests refused behind a GOAWAY")                                          \
  X(no_exchange, "requests refused because all exchanges were in use")                     \
  X(no_memory, "exchanges ended because no memory was left")                               \
  X(fields_invalid, "sections not sent: a field of them is none (RFC 9114 4.2)")           \
  X(fields_too_large, "sections not sent: larger than the peer takes (RFC 9114 4.2.2)")    \
  X(starved, "times that a body waited because no block was free")                         \
  X(reset_by_peer, "requests or responses that their sender gave up")                      \
  X(stopped_by_peer, "requests or responses that their receiver did not want")             \
  X(resets_too_many, "connections closed because of too many of those, or of broken ones") \
  X(aborted, "exchanges that their handler or its source gave up")                         \
  X(body_refused, "request bodies that nobody wanted")                                     \
  X(content_length_wrong, "bodies that are not as long as their head says")                \
  X(request_incomplete, "requests that ended before their head")                           \
  X(answered_400, "requests answered with 400 without asking a handler")                   \
  X(answered_431, "requests answered with 431")                                            \
  X(head_too_slow, "heads that took too long")                                             \
  X(body_too_slow, "bodies that came too slowly")                                          \
  X(reader_too_slow, "bodies that were taken too slowly")                                  \
  X(blocked, "field sections that waited for QPACK's instructions")                        \
  X(frames_skipped, "frames of unknown types")                                             \
  X(streams_ignored, "unidirectional streams of unknown types")                            \
  X(priority_updates, "PRIORITY_UPDATE frames that were taken")                            \
  X(priority_updates_dropped, "of requests long gone, or beyond what is kept")             \
  X(goaways, "GOAWAY frames received")                                                     \
  X(fault_settings, "connections closed: settings that cannot be")                         \
  X(fault_missing_settings, "connections closed: another frame than SETTINGS came first")  \
  X(fault_frame_unexpected, "connections closed: a frame where it must not be")            \
  X(fault_frame, "connections closed: a frame cut off, or of a wrong size")                \
  X(fault_id, "connections closed: an identifier that cannot be")                          \
  X(fault_stream_creation, "connections closed: a second critical stream, or a push")      \
  X(fault_critical_stream, "connections closed: a critical stream ended")                  \
  X(fault_excessive_load, "connections closed: more than is good for us")                  \
  X(fault_decompression, "connections closed: field sections that do not decode")          \
  X(fault_encoder_stream, "connections closed: QPACK encoder instructions that cannot be") \
  X(fault_decoder_stream, "connections closed: QPACK decoder instructions that cannot be")

enum class event : std::uint8_t {
#define MILLRACE_H3_EVENT(name, text) name,
  MILLRACE_H3_COUNTERS(MILLRACE_H3_EVENT)
#undef MILLRACE_H3_EVENT
      count_
};
inline constexpr std::size_t event_count = static_cast<std::size_t>(event::count_);

[[nodiscard]] constexpr std::string_view to_string(event e) noexcept {
  constexpr std::array<std::string_view, event_count> names{
#define MILLRACE_H3_NAME(name, text) #name,
      MILLRACE_H3_COUNTERS(MILLRACE_H3_NAME)
#undef MILLRACE_H3_NAME
  };
  return names[static_cast<std::size_t>(e)];
}
[[nodiscard]] constexpr std::string_view describe(event e) noexcept {
  constexpr std::array<std::string_view, event_count> texts{
#define MILLRACE_H3_TEXT(name, text) text,
      MILLRACE_H3_COUNTERS(MILLRACE_H3_TEXT)
#undef MILLRACE_H3_TEXT
  };
  return texts[static_cast<std::size_t>(e)];
}

// Whether it says that something went wrong, rather than what was done.
[[nodiscard]] constexpr bool is_trouble(event e) noexcept {
  switch (e) {
    case event::connections:
    case event::requests:
    case event::early_requests:
    case event::heads:
    case event::completed:
    case event::blocked:
    case event::starved:
    case event::frames_skipped:
    case event::streams_ignored:
    case event::priority_updates:
    case event::goaways:
      return false;
    default:
      return true;
  }
}

class counters {
  std::array<stats::counter, event_count> values_;
  std::array<stats::counter, section_errc_count> sections_;

 public:
  void add(event e, std::uint64_t n = 1) noexcept { values_[static_cast<std::size_t>(e)].add(n); }
  void add(section_errc e) noexcept { sections_[static_cast<std::size_t>(e)].add(1); }
  [[nodiscard]] std::uint64_t get(event e) const noexcept { return values_[static_cast<std::size_t>(e)].get(); }
  // Field sections that were refused for this reason.
  [[nodiscard]] std::uint64_t get(section_errc e) const noexcept {
    return sections_[static_cast<std::size_t>(e)].get();
  }
};

}  // namespace millrace::h3
