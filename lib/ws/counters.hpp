// ws/counters.hpp - what the WebSocket sessions of one endpoint did and refused: one counter a reason.
//
// Threads  one writer, any reader. Tests  test/ws/session_test.cpp
#pragma once

#include <array>
#include <string_view>

#include "stats/drop_counters.hpp"

namespace millrace::ws {

// X(name, text). What comes before `refused_protocol` is work done, the rest tells of trouble.
#define MILLRACE_WS_COUNTERS(X)                                                                 \
  X(sessions, "sessions opened")                                                                \
  X(texts, "text messages received")                                                            \
  X(binaries, "binary messages received")                                                       \
  X(sent, "messages sent")                                                                      \
  X(pings, "pings answered")                                                                    \
  X(pongs, "pongs received")                                                                    \
  X(paused, "times that a session stopped reading because its peer did not take what was sent") \
  X(closed, "sessions that ended with a Close of both sides")                                   \
  X(refused_protocol, "openings that are not WebSocket's: 501")                                 \
  X(refused_version, "openings of another version than 13: 400")                                \
  X(refused_early, "openings in 0-RTT: 425")                                                    \
  X(refused_busy, "openings refused because all sessions were in use: 503")                     \
  X(refused_handler, "openings that the handler did not want")                                  \
  X(failed_protocol, "sessions ended with 1002: a frame that breaks a rule")                    \
  X(failed_text, "sessions ended with 1007: text that is not UTF-8")                            \
  X(failed_too_big, "sessions ended with 1009: a frame or message beyond its limit")            \
  X(failed_gathered, "sessions ended with 1013: too much was waiting to become whole")          \
  X(no_memory, "sessions ended because no block was free")                                      \
  X(cut, "sessions that ended without a Close of both sides")

enum class event : std::uint8_t {
#define MILLRACE_WS_EVENT(name, text) name,
  MILLRACE_WS_COUNTERS(MILLRACE_WS_EVENT)
#undef MILLRACE_WS_EVENT
      count_
};
inline constexpr std::size_t event_count = static_cast<std::size_t>(event::count_);

[[nodiscard]] constexpr bool is_trouble(event e) noexcept { return e >= event::refused_protocol; }
[[nodiscard]] constexpr std::string_view to_string(event e) noexcept {
  constexpr std::array<std::string_view, event_count> names{
#define MILLRACE_WS_NAME(name, text) #name,
      MILLRACE_WS_COUNTERS(MILLRACE_WS_NAME)
#undef MILLRACE_WS_NAME
  };
  return names[static_cast<std::size_t>(e)];
}
[[nodiscard]] constexpr std::string_view describe(event e) noexcept {
  constexpr std::array<std::string_view, event_count> texts{
#define MILLRACE_WS_TEXT(name, text) text,
      MILLRACE_WS_COUNTERS(MILLRACE_WS_TEXT)
#undef MILLRACE_WS_TEXT
  };
  return texts[static_cast<std::size_t>(e)];
}

class counters {
  std::array<stats::counter, event_count> values_;

 public:
  void add(event e) noexcept { values_[static_cast<std::size_t>(e)].add(1); }
  [[nodiscard]] std::uint64_t get(event e) const noexcept { return values_[static_cast<std::size_t>(e)].get(); }
};

}  // namespace millrace::ws
