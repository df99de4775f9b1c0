// srmp/wire/partial_timer.hpp - how long a peer may leave a frame unfinished; then the connection is closed.
//
// Why      SRMP has no magic, so a boundary once lost is lost for good: bytes thrown away would make the middle of a
//          frame look like a header. This timer therefore only ever ends the connection; it never drops bytes.
// Shape    two limits from the first byte of an unfinished frame: `stall` between arrivals, `whole` for all of it. A
//          streamed payload is bounded by the stall alone, so its owner sets whole to 0.
// Units    whatever `now` counts (a loop passes TSC ticks, tests microseconds); all of one timer in the same unit.
// Owner    nothing. Errors  none; `now` must not go back.
// Tests    test/srmp/wire/partial_timer_test.cpp (vectors Q2-Q4)
#pragma once

#include <cstdint>

namespace millrace::srmp::wire {

struct partial_limits {
  std::uint64_t stall = 0;  // longest silence inside a frame; 0: no limit
  std::uint64_t whole = 0;  // longest time from a frame's first byte to its last; 0: no limit
};

inline constexpr std::uint64_t default_stall_ms = 10'000;  // twice the pause after which the first generation gives up
inline constexpr std::uint64_t default_whole_ms = 30'000;

class partial_timer {
  partial_limits limits_;
  std::uint64_t began_ = 0;
  std::uint64_t heard_ = 0;
  bool running_ = false;

 public:
  explicit partial_timer(partial_limits limits) noexcept : limits_(limits) {}

  // After every arrival, once all whole frames were taken: `frames` were, and bytes of another one are left or not.
  void on_arrival(std::uint64_t now, bool frames, bool unfinished) noexcept {
    if (!running_ || frames) began_ = now;
    heard_ = now;
    running_ = unfinished;
  }

  [[nodiscard]] bool is_running() const noexcept { return running_; }

  // When to look again; UINT64_MAX when there is nothing to wait for.
  [[nodiscard]] std::uint64_t deadline() const noexcept {
    if (!running_) return UINT64_MAX;
    const std::uint64_t stall = limits_.stall == 0 ? UINT64_MAX : add(heard_, limits_.stall);
    const std::uint64_t whole = limits_.whole == 0 ? UINT64_MAX : add(began_, limits_.whole);
    return stall < whole ? stall : whole;
  }

  // True: close the connection, after what is queued for it was sent.
  [[nodiscard]] bool has_expired(std::uint64_t now) const noexcept { return running_ && now >= deadline(); }

 private:
  [[nodiscard]] static std::uint64_t add(std::uint64_t at, std::uint64_t more) noexcept {
    return at > UINT64_MAX - more ? UINT64_MAX : at + more;
  }
};

}  // namespace millrace::srmp::wire
