#include "stats/latency_summary.hpp"

namespace millrace::stats {

latency_summary summarize(std::span<const latency_histogram* const> parts) noexcept {
  latency_summary out;
  for (const latency_histogram* h : parts) {
    out.count += h->count();
    out.max = std::max(out.max, h->max());
  }
  if (out.count == 0) return out;
  struct rank {
    std::uint64_t parts_of_1000;
    std::uint64_t latency_summary::* to;
  };
  constexpr std::array<rank, 4> ranks{{{500, &latency_summary::p50},
                                       {900, &latency_summary::p90},
                                       {990, &latency_summary::p99},
                                       {999, &latency_summary::p999}}};
  std::size_t next = 0;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < latency_histogram::steps; ++i) {
    std::uint64_t here = 0;
    for (const latency_histogram* h : parts) here += h->at(i);
    if (here == 0) continue;
    seen += here;
    const std::uint64_t end = latency_histogram::upper_end(i);
    out.by_power[std::min<std::size_t>(std::bit_width(end), out.powers - 1)] += here;
    // A rank of several parts in a thousand, rounded up: 128 bits are not needed below 2^54 values.
    while (next < ranks.size() && seen >= (out.count * ranks[next].parts_of_1000 + 999) / 1000)
      out.*ranks[next++].to = i + 1 == latency_histogram::steps ? out.max : std::min(end, out.max);
  }
  while (next < ranks.size()) out.*ranks[next++].to = out.max;
  return out;
}

}  // namespace millrace::stats
