// stats/latency_summary.hpp - what several histograms, one an lcore, say together.
//
// Shape    summarize() reads them where they lie, with no histogram of the sum in between: percentiles as
//          latency_histogram::percentile() would say them of the sum, and counts by power of two, to be drawn.
// Units    ns. Owner  nothing. Errors  none; of no values everything is 0.
// Threads  any; what is recorded meanwhile may be in one figure and not in another.
// Tests    test/stats/latency_histogram_test.cpp
#pragma once

#include <span>

#include "stats/latency_histogram.hpp"

namespace millrace::stats {

struct latency_summary {
  static constexpr std::size_t powers = 37;
  std::uint64_t count = 0, p50 = 0, p90 = 0, p99 = 0, p999 = 0, max = 0;
  std::array<std::uint64_t, powers> by_power{};  // [i]: values below 2^i that are not below 2^(i-1); the last: and more
};

[[nodiscard]] latency_summary summarize(std::span<const latency_histogram* const> parts) noexcept;

}  // namespace millrace::stats
