// quic/conn/event_budget.hpp - so many events at once, and so many more a second: what a peer may cause that is never
// wrong by itself.
//
// Units    ns; events. Limits  per_second 0: no limit. Errors  take(): false when there is none left.
// Source   docs/quic.md. Tests  test/quic/conn/event_budget_test.cpp
#pragma once

#include <algorithm>

#include "quic/recovery/types.hpp"

namespace millrace::quic::conn {

struct event_rate {
  std::uint32_t per_second = 0;
  std::uint32_t burst = 0;
};

class event_budget {
  std::uint64_t empty_ns_ = 0;  // the budget is full since this time plus what a burst takes to come back

 public:
  [[nodiscard]] bool take(const event_rate& rate, std::uint64_t now_ns) noexcept {
    if (rate.per_second == 0) return true;
    const std::uint64_t each_ns = recovery::second / rate.per_second;
    const std::uint64_t next_ns = std::max(empty_ns_, now_ns) + each_ns;
    if (next_ns - now_ns > each_ns * std::max(rate.burst, 1u)) return false;
    empty_ns_ = next_ns;
    return true;
  }
};

}  // namespace millrace::quic::conn
