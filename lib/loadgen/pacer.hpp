// loadgen/pacer.hpp - when each message of a constant rate is meant to be sent: open loop.
//
// Shape    message k is meant for start + k / rate, whatever became of those before it. take() hands out the next one
//          when its time has come. Who could not send for a while finds all that he missed, in order, each with the
//          time it was meant for: latency is measured from there, so that waiting to be sent counts (else a stalled
//          server would be asked less, and look better than it is).
// Shares   several senders make one rate: share i of n takes messages i, i + n, i + 2n, ...
// Exact    whole nanoseconds and a remainder are added up in integers: after any number of messages the time is
//          floor(k * 10^9 / rate), with no drift.
// Units    messages a second over all shares; ns. Limits  rate 1 to 10^12, shares up to 65535.
// Threads  one. Tests  test/loadgen/pacer_test.cpp
#pragma once

#include <cstdint>

#include "base/assert.hpp"

namespace millrace::loadgen {

inline constexpr std::uint64_t max_rate = 1'000'000'000'000;

struct pace {
  std::uint64_t per_second = 1;  // over all shares
  std::uint16_t share = 0;
  std::uint16_t shares = 1;
};

class pacer {
  static constexpr std::uint64_t second_ns = 1'000'000'000;

  std::uint64_t rate_ = 1;
  std::uint64_t step_ns_ = 0;    // between two messages of this share: whole ns ...
  std::uint64_t step_part_ = 0;  // ... and so many rate-ths of one
  std::uint64_t next_ns_ = 0;
  std::uint64_t next_part_ = 0;
  std::uint64_t taken_ = 0;

 public:
  pacer() noexcept = default;
  pacer(const pace& what, std::uint64_t start_ns) noexcept
      : rate_(what.per_second),
        step_ns_(what.shares * second_ns / rate_),
        step_part_(what.shares * second_ns % rate_),
        next_ns_(start_ns + what.share * second_ns / rate_),
        next_part_(what.share * second_ns % rate_) {
    MILLRACE_ASSERT(rate_ != 0 && rate_ <= max_rate && what.share < what.shares);
  }

  [[nodiscard]] bool is_due(std::uint64_t now_ns) const noexcept { return next_ns_ <= now_ns; }
  // The time that the next message is meant for.
  [[nodiscard]] std::uint64_t next_ns() const noexcept { return next_ns_; }
  // The next message is sent now: answers the time it was meant for. Once is_due(); sooner would be another rate.
  std::uint64_t take() noexcept {
    const std::uint64_t meant_ns = next_ns_;
    next_ns_ += step_ns_;
    next_part_ += step_part_;
    if (next_part_ >= rate_) {
      next_part_ -= rate_;
      ++next_ns_;
    }
    ++taken_;
    return meant_ns;
  }
  [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }
  // How far sending is behind; 0 when it is not.
  [[nodiscard]] std::uint64_t behind_ns(std::uint64_t now_ns) const noexcept {
    return next_ns_ < now_ns ? now_ns - next_ns_ : 0;
  }
};

}  // namespace millrace::loadgen
