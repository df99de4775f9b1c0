#include "pipeline/counts.hpp"

#include <numeric>

namespace millrace::pipeline {

std::uint64_t figures::dropped() const noexcept {
  return std::accumulate(drops.begin(), drops.end(), std::uint64_t{0});
}

figures& figures::operator+=(const figures& more) noexcept {
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += more.counts[i];
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] += more.classes[i];
  for (std::size_t i = 0; i < drops.size(); ++i) drops[i] += more.drops[i];
  heap_calls += more.heap_calls;
  return *this;
}

figures figures::since(const figures& earlier) const noexcept {
  figures period = *this;
  for (std::size_t i = 0; i < counts.size(); ++i) period.counts[i] -= earlier.counts[i];
  for (std::size_t i = 0; i < classes.size(); ++i) period.classes[i] -= earlier.classes[i];
  for (std::size_t i = 0; i < drops.size(); ++i) period.drops[i] -= earlier.drops[i];
  period.heap_calls -= earlier.heap_calls;
  return period;
}

figures read(const lcore_counters& from) noexcept {
  figures now;
  for (std::size_t i = 0; i < now.counts.size(); ++i) now.counts[i] = from.counts[i].get();
  for (std::size_t i = 0; i < now.classes.size(); ++i) now.classes[i] = from.classes[i].get();
  for (std::size_t i = 0; i < now.drops.size(); ++i) now.drops[i] = from.drops.get(static_cast<stats::drop_reason>(i));
  now.heap_calls = from.heap.calls.get();
  return now;
}

}  // namespace millrace::pipeline
