#include "env/tsc_clock.hpp"

#include <gtest/gtest.h>

namespace millrace::env {
namespace {

TEST(tsc_clock, a_second_of_cycles_is_a_second) {
  const tsc_clock clock;
  EXPECT_NEAR(static_cast<double>(clock.ns_of(tsc_hz())), 1e9, 1.0);
  const std::uint64_t year = 31'536'000;  // seconds: the scale is exact to a few parts in 10^9
  EXPECT_NEAR(static_cast<double>(clock.ns_of(tsc_hz() * year)), 1e9 * static_cast<double>(year), 1e9);
}

TEST(tsc_clock, does_not_run_backwards) {
  const tsc_clock clock;
  std::uint64_t last = clock.now_ns();
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = clock.now_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace millrace::env
