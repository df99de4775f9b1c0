// stats/latency_histogram.hpp - how long things took: counts by value, exact to better than one per cent, in fixed
// memory.
//
// Shape    log-linear: 128 equal steps in every power of two, each value below 256 a step of its own. record() finds
//          the step with one shift. percentile() answers the upper end of the step that holds the rank, and never more
//          than the exact maximum: a latency is not made to look better than it was.
// Units    ns, though any number works. Values of 2^36 (68.7 s) and more share the last step; the maximum stays exact.
// Owner    nothing; 30 KB of counters lie in the object: put it where tables lie.
// Errors   none. Of an empty histogram everything is 0.
// Threads  one writer; readers anywhere, untorn, and perhaps a burst behind. merge() writes this one, reads the other.
// Tests    test/stats/latency_histogram_test.cpp       Bench  bench/loadgen/load_bench.cpp
#pragma once

#include <algorithm>
#include <bit>

#include "stats/drop_counters.hpp"

namespace millrace::stats {

class latency_histogram {
  static constexpr unsigned step_bits = 7;  // a step is at most 1/128 of its value: 0.8 %
  static constexpr unsigned top_bits = 36;

 public:
  static constexpr std::size_t steps = (std::size_t{top_bits - step_bits - 1} << step_bits) + (2u << step_bits);
  static constexpr std::uint64_t longest = (std::uint64_t{1} << top_bits) - 1;

  // Which step a value belongs to, and a step's largest value.
  [[nodiscard]] static constexpr std::size_t step_of(std::uint64_t value) noexcept {
    const std::uint64_t v = std::min(value, longest);
    const auto width = static_cast<unsigned>(std::bit_width(v | ((std::uint64_t{2} << step_bits) - 1)));
    const unsigned shift = width - step_bits - 1;
    return (std::size_t{shift} << step_bits) + static_cast<std::size_t>(v >> shift);
  }
  [[nodiscard]] static constexpr std::uint64_t upper_end(std::size_t step) noexcept {
    const std::size_t power = step >> step_bits;
    if (power < 2) return step;
    const std::size_t shift = power - 1;
    const std::uint64_t mantissa = step - (shift << step_bits);
    return ((mantissa + 1) << shift) - 1;
  }

 private:
  counter max_;
  counter sum_;
  std::array<counter, steps> counts_;

 public:
  latency_histogram() noexcept = default;
  latency_histogram(const latency_histogram&) = delete;
  latency_histogram& operator=(const latency_histogram&) = delete;

  void record(std::uint64_t value) noexcept { record(value, 1); }
  // The same value so many times: replies of one datagram have one time.
  void record(std::uint64_t value, std::uint64_t times) noexcept {
    counts_[step_of(value)].add(times);
    sum_.add(value * times);
    if (value > max_.get()) [[unlikely]]
      max_.set(value);
  }

  // Adds what `other` has seen so far.
  void merge(const latency_histogram& other) noexcept {
    for (std::size_t i = 0; i < steps; ++i)
      if (const std::uint64_t n = other.counts_[i].get(); n != 0) counts_[i].add(n);
    sum_.add(other.sum_.get());
    max_.set(std::max(max_.get(), other.max_.get()));
  }

  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t sum = 0;
    for (const counter& c : counts_) sum += c.get();
    return sum;
  }
  [[nodiscard]] std::uint64_t max() const noexcept { return max_.get(); }
  [[nodiscard]] std::uint64_t at(std::size_t step) const noexcept { return counts_[step].get(); }  // `step` < steps
  [[nodiscard]] double mean() const noexcept {
    const std::uint64_t n = count();
    return n == 0 ? 0 : static_cast<double>(sum_.get()) / static_cast<double>(n);
  }

  // The value that `percent` of all are at or below; 0 is the smallest, 100 the largest.
  [[nodiscard]] std::uint64_t percentile(double percent) const noexcept {
    const std::uint64_t all = count();
    if (all == 0) return 0;
    const double wanted = std::clamp(percent, 0.0, 100.0) / 100 * static_cast<double>(all);
    auto rank = static_cast<std::uint64_t>(wanted);
    if (static_cast<double>(rank) < wanted || rank == 0) ++rank;
    rank = std::min(rank, all);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < steps; ++i) {
      seen += counts_[i].get();
      if (seen >= rank) return i + 1 == steps ? max() : std::min(upper_end(i), max());
    }
    return max();
  }
};

static_assert(latency_histogram::steps == 3840);
static_assert(latency_histogram::step_of(latency_histogram::longest) == latency_histogram::steps - 1);

}  // namespace millrace::stats
