#include "pipeline/idle.hpp"

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

TEST(idle, poll_never_waits) {
  for (const std::uint32_t run : {1u, 1000u, UINT32_MAX}) {
    EXPECT_FALSE(idle_step_after(run, idle_policy::poll).pause);
    EXPECT_EQ(idle_step_after(run, idle_policy::poll).sleep_us, 0u);
  }
}

TEST(idle, pause_pauses_and_never_sleeps) {
  for (const std::uint32_t run : {1u, 1000u, UINT32_MAX}) {
    EXPECT_TRUE(idle_step_after(run, idle_policy::pause).pause);
    EXPECT_EQ(idle_step_after(run, idle_policy::pause).sleep_us, 0u);
  }
}

TEST(idle, adaptive_spins_then_pauses_then_sleeps_longer_up_to_its_limit) {
  constexpr auto policy = idle_policy::adaptive;
  EXPECT_FALSE(idle_step_after(spin_passes, policy).pause);
  EXPECT_TRUE(idle_step_after(spin_passes + 1, policy).pause);
  EXPECT_TRUE(idle_step_after(spin_passes + pause_passes, policy).pause);
  const std::uint32_t first_sleep = spin_passes + pause_passes + 1;
  EXPECT_EQ(idle_step_after(first_sleep, policy).sleep_us, 1u);
  EXPECT_FALSE(idle_step_after(first_sleep, policy).pause);
  EXPECT_EQ(idle_step_after(first_sleep + 30, policy).sleep_us, 31u);
  EXPECT_EQ(idle_step_after(first_sleep + 100000, policy).sleep_us, longest_sleep_us);
  EXPECT_EQ(idle_step_after(UINT32_MAX, policy).sleep_us, longest_sleep_us);
}

}  // namespace
}  // namespace millrace::pipeline
