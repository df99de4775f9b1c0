#include "mem/quiescence.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace millrace::mem {
namespace {

quiescence must_make() {
  auto made = quiescence::make();
  if (!made) ADD_FAILURE() << made.error().what;
  return std::move(made.value());
}

TEST(quiescence, is_over_at_once_when_no_lcore_is_inside) {
  quiescence lcores = must_make();
  EXPECT_TRUE(lcores.passed(lcores.begin()));
}

TEST(quiescence, waits_for_every_lcore_that_was_inside) {
  quiescence lcores = must_make();
  lcores.enter(1);
  lcores.enter(3);
  const std::uint64_t token = lcores.begin();
  EXPECT_FALSE(lcores.passed(token));
  lcores.pass(1);
  EXPECT_FALSE(lcores.passed(token));
  lcores.pass(3);
  EXPECT_TRUE(lcores.passed(token));
  EXPECT_FALSE(lcores.passed(lcores.begin()));  // a pass counts for what began before it
  lcores.leave(1);
  lcores.leave(3);
}

TEST(quiescence, does_not_wait_for_an_lcore_that_left) {
  quiescence lcores = must_make();
  lcores.enter(2);
  const std::uint64_t token = lcores.begin();
  EXPECT_FALSE(lcores.passed(token));
  lcores.leave(2);
  EXPECT_TRUE(lcores.passed(token));
}

TEST(quiescence, lets_the_control_thread_free_what_a_running_lcore_read) {
  quiescence lcores = must_make();
  std::atomic<std::atomic<int>*> shared{nullptr};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> loops{0};
  std::thread lcore([&] {
    lcores.enter(1);
    while (!stop.load()) {
      if (std::atomic<int>* seen = shared.load(std::memory_order_acquire); seen != nullptr) seen->fetch_add(1);
      lcores.pass(1);
      loops.fetch_add(1);
      std::this_thread::yield();
    }
    lcores.leave(1);
  });
  for (int i = 0; i < 20; ++i) {
    auto* fresh = new std::atomic<int>(0);
    shared.store(fresh, std::memory_order_release);
    const std::uint64_t seen = loops.load();
    while (loops.load() == seen) std::this_thread::yield();
    shared.store(nullptr);
    const std::uint64_t token = lcores.begin();
    while (!lcores.passed(token)) std::this_thread::yield();
    delete fresh;  // AddressSanitizer says if the lcore still looks
  }
  stop = true;
  lcore.join();
  EXPECT_GE(loops.load(), 20u);
}

}  // namespace
}  // namespace millrace::mem
