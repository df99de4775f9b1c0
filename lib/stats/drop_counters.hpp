// stats/drop_counters.hpp - the drops of one lcore by reason.
//
// Units    packets (or, where a reason says so, frames).
// Threads  one writer, its lcore; the control thread reads with relaxed loads and may be a burst behind.
// Tests    test/stats/drop_reason_test.cpp
#pragma once

#include <array>
#include <atomic>

#include "stats/drop_reason.hpp"

namespace millrace::stats {

// A counter with one writer: a plain add for its lcore, an untorn read for everybody else.
class counter {
  std::atomic<std::uint64_t> value_{0};

 public:
  void add(std::uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void set(std::uint64_t n) noexcept { value_.store(n, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }
};

class alignas(64) drop_counters {
  std::array<counter, drop_reason_count> by_reason_;

 public:
  void add(drop_reason reason, std::uint64_t n = 1) noexcept { by_reason_[static_cast<std::size_t>(reason)].add(n); }
  [[nodiscard]] std::uint64_t get(drop_reason reason) const noexcept {
    return by_reason_[static_cast<std::size_t>(reason)].get();
  }
  [[nodiscard]] std::uint64_t total() const noexcept {
    std::uint64_t sum = 0;
    for (const counter& c : by_reason_) sum += c.get();
    return sum;
  }
};

}  // namespace millrace::stats
