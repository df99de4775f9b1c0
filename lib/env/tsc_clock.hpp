// env/tsc_clock.hpp - nanoseconds of the time stamp counter: the clock of a loop.
//
// Shape    now_ns() reads the counter and scales it: some 12 ns, no system call. All clocks of a process agree.
// Units    ns since the machine started counting; never 0 in practice, and never backwards on one CPU with an invariant
//          TSC.
// Threads  a value; copy it freely. Tests  test/env/tsc_clock_test.cpp
#pragma once

#include "env/clock.hpp"

namespace millrace::env {

class tsc_clock {
  __extension__ using wide = unsigned __int128;
  std::uint64_t scale_;  // ns a cycle, times 2^32

 public:
  tsc_clock() noexcept : scale_(static_cast<std::uint64_t>((static_cast<wide>(1'000'000'000) << 32) / tsc_hz())) {}

  [[nodiscard]] std::uint64_t ns_of(std::uint64_t tsc) const noexcept {
    return static_cast<std::uint64_t>(static_cast<wide>(tsc) * scale_ >> 32);
  }
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return ns_of(read_tsc()); }
};

}  // namespace millrace::env
