// pipeline/idle.hpp - what a loop does when it found nothing to do.
//
// Shape    poll: nothing. pause: one pause instruction. adaptive: spins first, then pauses, then sleeps in steps that
//          grow, so that an idle program leaves its CPU to others; the first packet takes it back to spinning.
// Units    empty passes in a row; sleeps are microseconds of wall clock, and the kernel adds its own 50 or so.
// Limits   a sleep is at most longest_sleep_us: a receive ring of 1024 descriptors holds what 10 Gb/s of small frames
//          bring in 68 us, so a port that may fill up meanwhile should be run with pause.
// Threads  one lcore.
// Tests    test/pipeline/idle_test.cpp
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "env/lcore.hpp"

namespace millrace::pipeline {

enum class idle_policy : std::uint8_t { poll, pause, adaptive };

// What to do after `empty_run` empty passes in a row (1 is the first): pure, so that tests see it.
struct idle_step {
  bool pause = false;
  std::uint32_t sleep_us = 0;
};
inline constexpr std::uint32_t spin_passes = 256;
inline constexpr std::uint32_t pause_passes = 4096;  // some 100 to 200 us
inline constexpr std::uint32_t longest_sleep_us = 100;
inline constexpr std::uint32_t wakeup_us = 60;  // what the kernel adds to a sleep, and a little more

[[nodiscard]] constexpr idle_step idle_step_after(std::uint32_t empty_run, idle_policy policy) noexcept {
  if (policy == idle_policy::poll) return {};
  if (policy == idle_policy::pause) return {.pause = true};
  if (empty_run <= spin_passes) return {};
  if (empty_run <= spin_passes + pause_passes) return {.pause = true};
  const std::uint32_t sleeps = empty_run - spin_passes - pause_passes;
  return {.sleep_us = sleeps < longest_sleep_us ? sleeps : longest_sleep_us};
}

class idler {
  idle_policy policy_;
  std::uint32_t empty_run_ = 0;

 public:
  explicit idler(idle_policy policy) noexcept : policy_(policy) {}

  void on_work() noexcept { empty_run_ = 0; }
  // `free_ns`: until something is due. A sleep that could last longer is none.
  void on_empty(std::uint64_t free_ns = UINT64_MAX) noexcept {
    if (empty_run_ < UINT32_MAX) ++empty_run_;
    const idle_step step = idle_step_after(empty_run_, policy_);
    const bool sleeps = step.sleep_us != 0 && free_ns / 1000 > std::uint64_t{step.sleep_us} + wakeup_us;
    if (step.pause || (step.sleep_us != 0 && !sleeps)) env::pause();
    if (sleeps) std::this_thread::sleep_for(std::chrono::microseconds(step.sleep_us));
  }
};

}  // namespace millrace::pipeline
