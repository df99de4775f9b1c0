// pipeline/meter.hpp - where the cycles of a pass go, at a known price.
//
// Shape    a worker's pass is written once and takes a meter: no_meter costs nothing and is what most passes run with;
//          stage_meter stamps the time behind receive, work and transmit of every burst. One stamp is some 11 ns, a
//          third of a whole io burst, so stage_meter runs on one pass of sample_stride, and takes the price of its own
//          stamps off what it reports.
// Units    TSC cycles.
// Threads  one lcore.
// Tests    test/pipeline/engine_test.cpp
#pragma once

#include <algorithm>
#include <cstdint>

#include "buf/burst.hpp"
#include "env/clock.hpp"
#include "pipeline/counts.hpp"

namespace millrace::pipeline {

inline constexpr unsigned sample_stride = 64;  // passes; a power of two is not needed

// A measured pass that took longer was not ours alone: the kernel gave the CPU away in between, for milliseconds, and
// one such pass would outweigh thousands. A microsecond a packet is far above any mode's cost, a millisecond above any
// idle sleep.
class interruption_limit {
  std::uint64_t cycles_per_us_ = env::tsc_hz() / 1'000'000;

 public:
  [[nodiscard]] bool is_exceeded(std::uint64_t cycles, unsigned pkts) const noexcept {
    return cycles > cycles_per_us_ * (1000 + std::uint64_t{pkts});
  }
};

// The least time between two stamps in a row.
[[nodiscard]] inline std::uint64_t measure_stamp_cycles() noexcept {
  std::uint64_t least = UINT64_MAX;
  for (int i = 0; i < 256; ++i) {
    const std::uint64_t before = env::read_tsc();
    least = std::min(least, env::read_tsc() - before);
  }
  return least;
}

struct no_meter {
  void received(const buf::burst&) noexcept {}
  void nothing_received() noexcept {}
  void worked() noexcept {}
  void generated(const buf::burst&) noexcept {}
  void sent() noexcept {}
};

class stage_meter {
  std::uint64_t stamp_cycles_;
  std::uint64_t started_;
  std::uint64_t last_;
  std::uint64_t stamps_ = 0;
  std::uint64_t rx_ = 0;
  std::uint64_t work_ = 0;
  std::uint64_t tx_ = 0;
  std::uint64_t pkts_ = 0;
  std::uint64_t bytes_ = 0;

  std::uint64_t lap() noexcept {
    const std::uint64_t now = env::read_tsc();
    const std::uint64_t took = now - last_;
    last_ = now;
    ++stamps_;
    return took > stamp_cycles_ ? took - stamp_cycles_ : 0;
  }

 public:
  explicit stage_meter(std::uint64_t stamp_cycles) noexcept
      : stamp_cycles_(stamp_cycles), started_(env::read_tsc()), last_(started_) {}

  void received(const buf::burst& packets) noexcept {
    rx_ += lap();
    pkts_ += packets.size();
    bytes_ += packets.bytes();  // sampled here because io reads no lengths
    last_ = env::read_tsc();    // and reading them is not the stage's cost
    ++stamps_;
  }
  void nothing_received() noexcept { lap(); }
  void worked() noexcept { work_ += lap(); }
  void generated(const buf::burst& packets) noexcept {
    work_ += lap();
    pkts_ += packets.size();
    bytes_ += packets.bytes();
    last_ = env::read_tsc();
    ++stamps_;
  }
  void sent() noexcept { tx_ += lap(); }

  // Cycles since construction without the meter's own.
  [[nodiscard]] std::uint64_t elapsed() noexcept {
    lap();
    const std::uint64_t all = last_ - started_;
    const std::uint64_t own = stamps_ * stamp_cycles_;
    return all > own ? all - own : 0;
  }
  void report(lcore_counters& to) const noexcept {
    to.add(count::staged_pkts, pkts_);
    to.add(count::staged_rx_cycles, rx_);
    to.add(count::staged_work_cycles, work_);
    to.add(count::staged_tx_cycles, tx_);
    to.add(count::sampled_bytes, bytes_);
  }
};

}  // namespace millrace::pipeline
