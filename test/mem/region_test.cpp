#include "mem/region.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace millrace::mem {
namespace {

TEST(region, without_eal_is_aligned_zeroed_heap_memory) {
  region block = region::make("test", 1000, 256);
  ASSERT_TRUE(block);
  EXPECT_FALSE(block.is_eal_memory());
  EXPECT_EQ(block.size_bytes(), 1000u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % 256, 0u);
  EXPECT_TRUE(std::all_of(block.data(), block.data() + 1000, [](std::byte b) { return b == std::byte{0}; }));
}

TEST(region, hands_over_on_move_and_is_empty_afterwards) {
  region first = region::make("test", 64);
  std::byte* where = first.data();
  region second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT: what a moved-from region is, is part of its contract
  EXPECT_EQ(first.size_bytes(), 0u);
  EXPECT_EQ(second.data(), where);
  region third = region::make("test", 128);
  third = std::move(second);
  EXPECT_EQ(third.data(), where);
  EXPECT_EQ(third.size_bytes(), 64u);
  EXPECT_FALSE(second);  // NOLINT
}

TEST(region, refuses_what_cannot_be) {
  EXPECT_FALSE(region::make("test", 0));
  EXPECT_FALSE(region::make("test", 64, 48));
  EXPECT_FALSE(region::make("test", SIZE_MAX));
  EXPECT_FALSE(region::make_array<std::uint64_t>("test", SIZE_MAX / 4));
}

struct alignas(128) wide {
  std::uint64_t word;
};

TEST(region, array_counts_whole_objects_and_keeps_their_alignment) {
  region block = region::make_array<wide>("test", 7);
  ASSERT_TRUE(block);
  const std::span<wide> all = block.array<wide>();
  ASSERT_EQ(all.size(), 7u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.data()) % 128, 0u);
  for (const wide& w : all) EXPECT_EQ(w.word, 0u);
  EXPECT_EQ(region{}.array<wide>().size(), 0u);
}

}  // namespace
}  // namespace millrace::mem
