#include "buf/large_block_pool.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "mem/heap_counter.hpp"

namespace millrace::buf {
namespace {

large_block_pool must_make(const large_block_pool_config& config) {
  auto made = large_block_pool::make(config);
  if (!made) ADD_FAILURE() << made.error().what;
  return std::move(made.value());
}

void fill(base::byte_span bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + (i >> 8));
}

TEST(large_block_pool, sends_a_whole_block_as_two_segments_that_lie_inside_it) {
  large_block_pool pool = must_make({.name = "whole", .blocks_per_mempool = 3});
  large_block block = pool.alloc();
  ASSERT_TRUE(block);
  const base::byte_span bytes = block.bytes();
  ASSERT_EQ(bytes.size(), large_block_bytes);
  fill(bytes);
  packet sent = pool.send(std::move(block), large_block_bytes);
  ASSERT_TRUE(sent);
  EXPECT_FALSE(block);
  EXPECT_EQ(sent.length(), large_block_bytes);
  ASSERT_EQ(sent.segments(), 2u);
  EXPECT_EQ(sent.first().data(), bytes.data());
  EXPECT_EQ(first_segment(sent.raw()->next).data(), bytes.data() + large_block_cut);
  EXPECT_EQ(pool.in_use(), 1u);
  sent = packet{};
  EXPECT_TRUE(pool.is_whole());
}

TEST(large_block_pool, sends_what_one_mbuf_can_say_as_one) {
  large_block_pool pool = must_make({.name = "one", .blocks_per_mempool = 3});
  for (const std::uint32_t used : {1u, 100u, 65535u}) {
    packet sent = pool.send(pool.alloc(), used);
    ASSERT_TRUE(sent);
    EXPECT_EQ(sent.segments(), 1u);
    EXPECT_EQ(sent.length(), used);
    EXPECT_TRUE(sent.append(1).empty());  // the rest of the block is nobody's room
  }
  EXPECT_TRUE(pool.is_whole());
}

TEST(large_block_pool, keeps_the_block_until_the_last_holder_lets_go) {
  large_block_pool pool = must_make({.name = "last", .blocks_per_mempool = 1, .cache = 0, .mbufs_per_block = 8});
  large_block block = pool.alloc();
  fill(block.bytes());
  packet a = pool.share(block, 0, large_block_bytes);
  packet b = pool.share(block, 1000, 500);
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(block.is_shared());
  EXPECT_EQ(b.first().data(), block.bytes().data() + 1000);
  a = packet{};
  block = large_block{};
  EXPECT_FALSE(pool.alloc());  // b still holds it
  EXPECT_EQ(pool.refused(), 1u);
  EXPECT_EQ(b.first()[0], static_cast<std::uint8_t>(1000 * 7 + (1000 >> 8)));
  b = packet{};
  EXPECT_TRUE(pool.is_whole());
  large_block again = pool.alloc();
  ASSERT_TRUE(again);
  EXPECT_FALSE(again.is_shared());
}

TEST(large_block_pool, a_clone_of_a_sent_block_holds_it_too) {
  large_block_pool pool = must_make({.name = "clone", .blocks_per_mempool = 1, .cache = 0});
  auto clones = mem::packet_pool::make({.name = "clones", .packets = 7});
  ASSERT_TRUE(clones);
  packet sent = pool.send(pool.alloc(), large_block_bytes);
  packet clone{rte_pktmbuf_clone(sent.raw(), clones.value().raw())};
  ASSERT_TRUE(clone);
  sent = packet{};
  EXPECT_EQ(pool.in_use(), 1u);
  EXPECT_EQ(clone.length(), large_block_bytes);
  clone = packet{};
  EXPECT_TRUE(pool.is_whole());
  EXPECT_TRUE(clones.value().is_whole());
}

TEST(large_block_pool, refuses_ranges_outside_the_block) {
  large_block_pool pool = must_make({.name = "range", .blocks_per_mempool = 1});
  large_block block = pool.alloc();
  ASSERT_TRUE(block);
  EXPECT_FALSE(pool.share(block, 0, 0));
  EXPECT_FALSE(pool.share(block, 1, large_block_bytes));
  EXPECT_FALSE(pool.share(block, large_block_bytes, 1));
  EXPECT_FALSE(pool.share(block, UINT32_MAX, 2));
  EXPECT_FALSE(pool.share(block, 2, UINT32_MAX));
  EXPECT_FALSE(pool.send(std::move(block), large_block_bytes + 1));
  EXPECT_TRUE(block);
  EXPECT_FALSE(pool.send(large_block{}, 1));
  EXPECT_FALSE(pool.share(large_block{}, 0, 1));
  EXPECT_TRUE(pool.send(std::move(block), 1));
}

TEST(large_block_pool, without_an_mbuf_the_block_stays_with_its_holder) {
  large_block_pool pool = must_make({.name = "mbufs", .blocks_per_mempool = 2, .cache = 0, .mbufs_per_block = 1});
  large_block first = pool.alloc();
  large_block second = pool.alloc();
  fill(second.bytes());
  packet sent = pool.send(std::move(first), 10);  // one of two mbufs
  ASSERT_TRUE(sent);
  EXPECT_FALSE(pool.send(std::move(second), large_block_bytes));  // wants two
  ASSERT_TRUE(second);
  EXPECT_FALSE(second.is_shared());
  EXPECT_EQ(pool.refused_mbufs(), 2u);
  packet other = pool.share(second, 0, 5);
  ASSERT_TRUE(other);
  EXPECT_FALSE(pool.share(second, 0, 5));
  sent = packet{};
  other = packet{};
  EXPECT_TRUE(pool.send(std::move(second), large_block_bytes));
  EXPECT_TRUE(pool.is_whole());
}

TEST(large_block_pool, calls_no_heap) {
  if (!mem::heap_counter_present()) GTEST_SKIP() << "this build's sanitizer brings its own heap";
  large_block_pool pool = must_make({.name = "heap", .blocks_per_mempool = 7});
  mem::heap_tally tally;
  {
    mem::heap_watch watch(tally);
    for (int round = 0; round < 100; ++round) {
      packet sent = pool.send(pool.alloc(), large_block_bytes);
      ASSERT_TRUE(sent);
    }
  }
  EXPECT_EQ(tally.calls.get(), 0u);
  EXPECT_TRUE(pool.is_whole());
}

}  // namespace
}  // namespace millrace::buf
