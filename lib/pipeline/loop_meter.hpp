// pipeline/loop_meter.hpp - where the cycles of a loop's turn go: stamps between its stages, at a known price.
//
// Shape    a turn is written once and takes a meter: no_loop_meter costs nothing and is what most turns run with;
//          loop_meter stamps the time behind each stage. A stamp is some 11 ns, so it runs on one turn of
//          sample_stride, and takes the price of its own stamps off what it reports.
// Units    TSC cycles. Threads  one lcore. Tests  test/pipeline/service_loop_test.cpp
#pragma once

#include <array>

#include "pipeline/meter.hpp"

namespace millrace::pipeline {

enum class loop_stage : std::uint8_t { rx, classify, handle, timers, tx, end_ };

struct no_loop_meter {
  void done(loop_stage) noexcept {}
};

class loop_meter {
  std::uint64_t stamp_cycles_;
  std::uint64_t started_;
  std::uint64_t last_;
  std::uint64_t stamps_ = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(loop_stage::end_)> cycles_{};

  [[nodiscard]] std::uint64_t of(loop_stage stage) const noexcept { return cycles_[static_cast<std::size_t>(stage)]; }

 public:
  explicit loop_meter(std::uint64_t stamp_cycles) noexcept
      : stamp_cycles_(stamp_cycles), started_(env::read_tsc()), last_(started_) {}

  void done(loop_stage stage) noexcept {
    const std::uint64_t now = env::read_tsc();
    const std::uint64_t took = now - last_;
    last_ = now;
    ++stamps_;
    cycles_[static_cast<std::size_t>(stage)] += took > stamp_cycles_ ? took - stamp_cycles_ : 0;
  }
  // Cycles since construction without the meter's own.
  [[nodiscard]] std::uint64_t elapsed() noexcept {
    last_ = env::read_tsc();
    const std::uint64_t all = last_ - started_;
    const std::uint64_t own = (stamps_ + 1) * stamp_cycles_;
    return all > own ? all - own : 0;
  }
  // `packets`: received or sent, whichever were more.
  void report(lcore_counters& to, unsigned packets) const noexcept {
    to.add(count::staged_pkts, packets);
    to.add(count::staged_rx_cycles, of(loop_stage::rx));
    to.add(count::staged_classify_cycles, of(loop_stage::classify));
    to.add(count::staged_work_cycles, of(loop_stage::handle));
    to.add(count::staged_timer_cycles, of(loop_stage::timers));
    to.add(count::staged_tx_cycles, of(loop_stage::tx));
  }
};

}  // namespace millrace::pipeline
