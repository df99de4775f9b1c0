#include "env/tsc_clock.hpp"

#include <gtest/gtest.h>
#include <time.h>

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

TEST(wall_clock, tells_the_time_of_day) {
  const std::int64_t now = wall_now_ns();
  EXPECT_GT(now, 1'700'000'000'000'000'000) << "after 2023";
  EXPECT_NEAR(static_cast<double>(now) / 1e9, static_cast<double>(::time(nullptr)), 2.0);
}

}  // namespace
}  // namespace millrace::env
