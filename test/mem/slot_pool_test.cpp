#include "mem/slot_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "mem/heap_counter.hpp"

namespace millrace::mem {
namespace {

slot_pool must_make(std::uint32_t count, std::size_t bytes, std::size_t alignment = 16) {
  auto made = slot_pool::make("slots", count, bytes, alignment);
  if (!made) ADD_FAILURE() << made.error().what;
  return std::move(made.value());
}

TEST(slot_pool, hands_out_aligned_slots_that_do_not_overlap_and_takes_them_back) {
  for (const std::size_t alignment : {8u, 16u, 64u, 4096u}) {
    for (const std::size_t bytes : {1u, 16u, 17u, 100u, 256u, 1000u}) {
      slot_pool pool = must_make(20, bytes, alignment);
      EXPECT_GE(pool.slot_bytes(), bytes);
      std::vector<std::byte*> held;
      while (void* slot = pool.get()) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slot) % alignment, 0u);
        std::memset(slot, static_cast<int>(held.size()), bytes);
        held.push_back(static_cast<std::byte*>(slot));
      }
      ASSERT_EQ(held.size(), 20u);
      for (std::size_t i = 0; i < held.size(); ++i)
        EXPECT_TRUE(std::all_of(held[i], held[i] + bytes, [i](std::byte b) { return b == static_cast<std::byte>(i); }));
      for (std::byte* slot : held) pool.put(slot);
      EXPECT_TRUE(pool.is_whole());
      EXPECT_EQ(pool.figures().refused, 1u);
    }
  }
}

TEST(slot_pool, remembers_the_most_that_were_out_and_counts_refusals) {
  slot_pool pool = must_make(4, 32);
  void* a = pool.get();
  void* b = pool.get();
  pool.put(a);
  a = pool.get();
  EXPECT_EQ(pool.figures().high_water, 2u);
  EXPECT_EQ(pool.figures().in_use, 2u);
  void* c = pool.get();
  void* d = pool.get();
  EXPECT_EQ(pool.get(), nullptr);
  EXPECT_EQ(pool.get(), nullptr);
  for (void* slot : {a, b, c, d}) pool.put(slot);
  const pool_figures figures = pool.figures();
  EXPECT_EQ(figures.capacity, 4u);
  EXPECT_EQ(figures.in_use, 0u);
  EXPECT_EQ(figures.high_water, 4u);
  EXPECT_EQ(figures.refused, 2u);
  for (const std::uint64_t count : figures.faults) EXPECT_EQ(count, 0u);
}

TEST(slot_pool, refuses_shapes_that_cannot_be_and_memory_that_is_not_there) {
  EXPECT_FALSE(slot_pool::make("none", 0, 16));
  EXPECT_FALSE(slot_pool::make("empty", 10, 0));
  EXPECT_FALSE(slot_pool::make("odd", 10, 16, 24));
  EXPECT_FALSE(slot_pool::make("wide", 1u << 20, 1u << 20));  // above 4 GiB
}

TEST(slot_pool, takes_an_object_whose_bytes_happen_to_be_a_mark) {
  slot_pool pool = must_make(2, 16);
  std::array<std::byte, 16> bytes{};
  if (!pool_faults_abort) {
    void* a = pool.get();
    pool.put(a);
    std::memcpy(bytes.data(), a, 16);  // its mark, read while it is free
    a = pool.get();
    std::memcpy(a, bytes.data(), 16);
    pool.put(a);
    EXPECT_EQ(pool.figures().count(pool_fault::double_give), 0u);
  }
  EXPECT_TRUE(pool.is_whole());
}

TEST(slot_pool, finds_what_other_threads_gave_back_when_its_own_run_out) {
  constexpr std::uint32_t count = 1000;
  slot_pool pool = must_make(count, 16);
  std::vector<void*> held;
  while (void* slot = pool.get()) held.push_back(slot);
  ASSERT_EQ(held.size(), count);
  const auto give = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) pool.put_from_elsewhere(held[i]);
  };
  std::thread one(give, 0, count / 2);
  std::thread two(give, count / 2, count);
  std::size_t taken = 0;
  while (taken < count)
    if (pool.get() != nullptr) ++taken;
  one.join();
  two.join();
  EXPECT_EQ(pool.get(), nullptr);
  EXPECT_EQ(pool.in_use(), count);
  give(0, count);
  EXPECT_EQ(pool.in_use(), count);  // on their way
  EXPECT_EQ(pool.collect(), count);
  EXPECT_TRUE(pool.is_whole());
  EXPECT_EQ(pool.figures().high_water, count);
}

TEST(slot_pool, calls_no_heap) {
  if (!heap_counter_present()) GTEST_SKIP() << "this build's sanitizer brings its own heap";
  slot_pool pool = must_make(64, 64);
  std::array<void*, 65> held{};
  heap_tally tally;
  {
    heap_watch watch(tally);
    for (int round = 0; round < 100; ++round) {
      for (void*& slot : held) slot = pool.get();
      for (std::size_t i = 0; i < 64; ++i) i % 2 == 0 ? pool.put(held[i]) : pool.put_from_elsewhere(held[i]);
    }
  }
  EXPECT_EQ(tally.calls.get(), 0u);
  EXPECT_EQ(pool.figures().refused, 100u);
  EXPECT_TRUE(pool.is_whole());
}

}  // namespace
}  // namespace millrace::mem
