#include "mem/size_class_pool.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "mem/heap_counter.hpp"

namespace millrace::mem {
namespace {

size_class_pool must_make(const size_class_config& config) {
  auto made = size_class_pool::make(config);
  if (!made) ADD_FAILURE() << made.error().what;
  return std::move(made.value());
}

TEST(size_class_pool, serves_every_size_from_1_to_256_in_steps_of_16) {
  size_class_pool pool = must_make({.per_class = 2});
  for (std::size_t bytes = 1; bytes <= largest_small; ++bytes) {
    void* one = pool.get(bytes);
    ASSERT_NE(one, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one) % 16, 0u);
    EXPECT_EQ(pool.of(bytes).slot_bytes(), (bytes + 15) / 16 * 16);
    EXPECT_EQ(pool.of(bytes).in_use(), 1u);
    std::memset(one, 0x5a, bytes);
    pool.give(one, bytes);
    EXPECT_EQ(pool.of(bytes).in_use(), 0u);
  }
  EXPECT_TRUE(pool.is_whole());
}

TEST(size_class_pool, refuses_sizes_that_no_class_has) {
  size_class_pool pool = must_make({.per_class = 2});
  EXPECT_EQ(pool.get(0), nullptr);
  EXPECT_EQ(pool.get(257), nullptr);
  EXPECT_EQ(pool.get(SIZE_MAX), nullptr);
  EXPECT_EQ(pool.oversized(), 3u);
  pool.give(nullptr, 16);
  EXPECT_EQ(pool.figures().count(pool_fault::foreign_object), 0u);
}

TEST(size_class_pool, a_class_that_is_out_does_not_touch_the_others) {
  size_class_pool pool = must_make({.per_class = 1, .counts = {0, 3}});
  void* small = pool.get(16);
  EXPECT_NE(small, nullptr);
  EXPECT_EQ(pool.get(10), nullptr);
  std::array<void*, 3> of_32 = {pool.get(17), pool.get(20), pool.get(32)};
  for (void* one : of_32) EXPECT_NE(one, nullptr);
  EXPECT_EQ(pool.get(32), nullptr);
  EXPECT_EQ(pool.of(16).figures().refused, 1u);
  EXPECT_EQ(pool.of(32).figures().refused, 1u);
  EXPECT_EQ(pool.figures().refused, 2u);
  EXPECT_EQ(pool.figures().capacity, 15u + 3u);
  pool.give(small, 16);
  for (void* one : of_32) pool.give(one, 32);
  EXPECT_TRUE(pool.is_whole());
}

// Checked builds end at the fault: slot_pool_fault_test.cpp.
#if !MILLRACE_POOL_FAULTS_ABORT
TEST(size_class_pool, a_give_of_another_size_is_a_foreign_object) {
  size_class_pool pool = must_make({.per_class = 4});
  void* one = pool.get(64);
  pool.give(one, 65);
  pool.give(one, 16);
  pool.give(one, 0);
  pool.give(one, 300);
  EXPECT_EQ(pool.figures().count(pool_fault::foreign_object), 4u);
  EXPECT_EQ(pool.in_use(), 1u);
  pool.give(one, 50);  // the same class
  EXPECT_TRUE(pool.is_whole());
}
#endif

TEST(size_class_pool, says_so_when_there_is_no_memory_for_a_class) {
  const auto made = size_class_pool::make({.name = "much", .counts = {1u << 28, 1u << 28}});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().what.find("much."), std::string::npos);
}

// The sequence of the published long-run test, bounded: bench/mem/stability.cpp runs 10^8 operations of it.
TEST(size_class_pool, is_as_it_was_after_the_long_run_s_sequence) {
  constexpr std::array<std::size_t, 5> sizes = {16, 32, 64, 128, 256};
  size_class_pool pool = must_make({.per_class = 16});
  std::array<void*, 5> held{};
  heap_tally tally;
  {
    heap_watch watch(tally);
    for (int round = 0; round < 50'000; ++round) {
      for (std::size_t i = 0; i < sizes.size(); ++i) held[i] = pool.get(sizes[i]);
      for (std::size_t i = sizes.size(); i-- > 0;) pool.give(held[i], sizes[i]);
    }
  }
  EXPECT_EQ(tally.calls.get(), 0u);  // nothing is counted where a sanitizer brings its own heap
  EXPECT_TRUE(pool.is_whole());
  EXPECT_EQ(pool.figures().high_water, 5u);
  EXPECT_EQ(pool.figures().refused, 0u);
}

TEST(size_class_pool, survives_random_sizes_and_orders_up_to_exhaustion) {
  size_class_pool pool = must_make({.per_class = 32});
  std::mt19937 random(42);
  std::vector<std::pair<std::uint8_t*, std::size_t>> held;
  std::uint64_t refused = 0;
  for (int step = 0; step < 100'000; ++step) {
    if (random() % 100 < 55) {
      const std::size_t bytes = random() % largest_small + 1;
      auto* one = static_cast<std::uint8_t*>(pool.get(bytes));
      if (one == nullptr) {
        ++refused;
        continue;
      }
      std::memset(one, static_cast<int>(bytes & 0xff), bytes);
      held.emplace_back(one, bytes);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      const auto [one, bytes] = held.back();
      held.pop_back();
      for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(one[i], static_cast<std::uint8_t>(bytes & 0xff));
      pool.give(one, bytes);
    }
    ASSERT_EQ(pool.in_use(), held.size());
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(pool.figures().refused, refused);
  for (const auto& [one, bytes] : held) pool.give(one, bytes);
  EXPECT_TRUE(pool.is_whole());
}

}  // namespace
}  // namespace millrace::mem
