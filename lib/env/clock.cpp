#include "env/clock.hpp"

#include <rte_cycles.h>
#include <time.h>

namespace millrace::env {
namespace {

std::int64_t ns_of(clockid_t which) noexcept {
  timespec now{};
  ::clock_gettime(which, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::int64_t>(now.tv_nsec);
}

std::uint64_t now_ns() noexcept { return static_cast<std::uint64_t>(ns_of(CLOCK_MONOTONIC_RAW)); }

// Both ends are a pair (kernel time, TSC) read back to back. Being preempted between the two reads of one pair
// distorts the answer, so the tightest of several readings counts.
struct reading {
  std::uint64_t ns = 0;
  std::uint64_t tsc = 0;
};

reading read_both() noexcept {
  reading best{};
  std::uint64_t best_width = ~std::uint64_t{0};
  for (int attempt = 0; attempt < 8; ++attempt) {
    const std::uint64_t before = read_tsc();
    const std::uint64_t ns = now_ns();
    const std::uint64_t width = read_tsc() - before;
    if (width < best_width) {
      best_width = width;
      best = {ns, before + width / 2};
    }
  }
  return best;
}

std::uint64_t measure_hz() noexcept {
  const reading begin = read_both();
  const timespec twenty_ms{0, 20'000'000};
  ::nanosleep(&twenty_ms, nullptr);
  const reading end = read_both();
  const double seconds = static_cast<double>(end.ns - begin.ns) / 1e9;
  return static_cast<std::uint64_t>(static_cast<double>(end.tsc - begin.tsc) / seconds);
}

}  // namespace

std::int64_t wall_now_ns() noexcept { return ns_of(CLOCK_REALTIME); }

std::uint64_t tsc_hz() noexcept {
  const std::uint64_t of_eal = rte_get_tsc_hz();  // 0 until EAL has measured it
  if (of_eal != 0) return of_eal;
  static const std::uint64_t measured = measure_hz();
  return measured;
}

}  // namespace millrace::env
