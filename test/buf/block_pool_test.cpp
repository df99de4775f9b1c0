#include "buf/block_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "mem/heap_counter.hpp"
#include "mem/pool_fault.hpp"

namespace millrace::buf {
namespace {

block_pool must_make(const block_pool_config& config) {
  auto made = block_pool::make(config);
  if (!made) ADD_FAILURE() << made.error().what;
  return std::move(made.value());
}

TEST(block_pool, gives_empty_mbufs_with_the_room_of_the_size) {
  for (const block_size size : {block_size::kib_1, block_size::kib_4, block_size::kib_16}) {
    block_pool pool = must_make({.name = "room", .size = size, .blocks_per_mempool = 63});
    EXPECT_EQ(pool.block_bytes(), static_cast<std::uint16_t>(size));
    {
      packet block = pool.alloc_packet();
      ASSERT_TRUE(block);
      EXPECT_EQ(block.length(), 0u);
      EXPECT_EQ(rte_pktmbuf_tailroom(block.raw()), static_cast<std::uint16_t>(size));
      EXPECT_EQ(rte_pktmbuf_headroom(block.raw()), RTE_PKTMBUF_HEADROOM);
      EXPECT_EQ(block.append(static_cast<std::uint16_t>(size)).size(), static_cast<std::size_t>(size));
      EXPECT_TRUE(block.append(1).empty());
      EXPECT_EQ(pool.in_use(), 1u);
    }
    EXPECT_TRUE(pool.is_whole());
  }
}

TEST(block_pool, a_block_comes_back_empty_after_it_was_filled_and_linked) {
  block_pool pool = must_make({.name = "again", .blocks_per_mempool = 2, .cache = 0});
  for (int round = 0; round < 4; ++round) {
    packet first = pool.alloc_packet();
    packet second = pool.alloc_packet();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first.length() + second.length(), 0u);
    EXPECT_EQ(first.segments(), 1u);
    ASSERT_FALSE(first.append(100).empty());
    ASSERT_FALSE(second.append(4096).empty());
    ASSERT_TRUE(first.append_chain(second));
    EXPECT_EQ(pool.alloc(), nullptr);
    pool.put(first.release());
    EXPECT_TRUE(pool.is_whole());
  }
  EXPECT_EQ(pool.set().refused(), 4u);
}

TEST(block_pool, bulk_is_all_or_nothing) {
  block_pool pool = must_make({.name = "bulk", .size = block_size::kib_1, .blocks_per_mempool = 64, .cache = 0});
  std::vector<rte_mbuf*> held(64);
  ASSERT_TRUE(pool.alloc_bulk(held.data(), 60));
  rte_mbuf* more[8] = {};
  EXPECT_FALSE(pool.alloc_bulk(more, 8));
  EXPECT_EQ(pool.set().refused(), 8u);
  EXPECT_EQ(pool.in_use(), 60u);
  EXPECT_EQ(pool.sample(), 60u);
  pool.put_bulk(held.data(), 60);
  EXPECT_TRUE(pool.is_whole());
  EXPECT_EQ(pool.set().high_water(), 60u);
}

TEST(block_pool, calls_no_heap) {
  if (!mem::heap_counter_present()) GTEST_SKIP() << "this build's sanitizer brings its own heap";
  block_pool pool = must_make({.name = "heap", .blocks_per_mempool = 127});
  mem::heap_tally tally;
  {
    mem::heap_watch watch(tally);
    std::array<rte_mbuf*, 128> held{};
    for (int round = 0; round < 100; ++round) {
      ASSERT_TRUE(pool.alloc_bulk(held.data(), 100));
      pool.put_bulk(held.data(), 100);
      EXPECT_FALSE(pool.alloc_bulk(held.data(), 128));
      pool.put(pool.alloc());
    }
  }
  EXPECT_EQ(tally.calls.get(), 0u);
}

TEST(block_pool, is_fixed_without_hugepages_and_says_so) {
  block_pool pool = must_make({.name = "fixed", .blocks_per_mempool = 15, .most_mempools = 4});
  EXPECT_EQ(pool.grow(), mem::pool_change::fixed);
  EXPECT_EQ(pool.release_half(), mem::pool_change::fixed);
  EXPECT_EQ(pool.size(), 15u);
}

TEST(block_pool, counts_a_packet_of_another_pool_and_frees_it_there) {
  block_pool pool = must_make({.name = "mine", .blocks_per_mempool = 7});
  block_pool other = must_make({.name = "theirs", .blocks_per_mempool = 7});
  rte_mbuf* mixed[3] = {pool.alloc(), other.alloc(), pool.alloc()};
  pool.put_bulk(mixed, 3);
  EXPECT_EQ(pool.foreign_gives(), 1u);
  pool.put(other.alloc());
  EXPECT_EQ(pool.foreign_gives(), 2u);
  EXPECT_EQ(pool.double_gives(), 0u);
  EXPECT_TRUE(pool.is_whole());
  EXPECT_TRUE(other.is_whole());
}

TEST(block_pool, a_block_leaves_as_rte_pktmbuf_reset_would_leave_it) {
  block_pool pool = must_make({.name = "reset", .blocks_per_mempool = 1, .cache = 0});
  rte_mbuf* block = pool.alloc();
  ASSERT_NE(rte_pktmbuf_prepend(block, 20), nullptr);
  block->ol_flags = RTE_MBUF_F_TX_IPV4;
  block->packet_type = 5;
  block->vlan_tci = 6;
  block->vlan_tci_outer = 7;
  block->tx_offload = 8;
  pool.put(block);
  rte_mbuf* again = pool.alloc();
  ASSERT_EQ(again, block);
  EXPECT_EQ(again->data_off, RTE_PKTMBUF_HEADROOM);
  EXPECT_EQ(again->pkt_len, 0u);
  EXPECT_EQ(again->data_len, 0u);
  EXPECT_EQ(again->ol_flags, 0u);
  EXPECT_EQ(again->packet_type, 0u);
  EXPECT_EQ(again->vlan_tci, 0u);
  EXPECT_EQ(again->vlan_tci_outer, 0u);
  EXPECT_EQ(again->tx_offload, 0u);
  EXPECT_EQ(again->nb_segs, 1u);
  EXPECT_EQ(again->next, nullptr);
  EXPECT_EQ(again->port, RTE_MBUF_PORT_INVALID);
  EXPECT_EQ(rte_mbuf_refcnt_read(again), 1u);
  pool.put(again);
}

// Checked builds end where release builds count.
#if !MILLRACE_POOL_FAULTS_ABORT
TEST(block_pool, refuses_a_second_give_and_counts_it) {
  block_pool pool = must_make({.name = "double", .blocks_per_mempool = 8, .cache = 0});
  rte_mbuf* held[3] = {pool.alloc(), pool.alloc(), pool.alloc()};
  rte_mbuf* again = held[1];
  pool.put(again);
  pool.put(again);
  pool.put_bulk(held, 3);
  EXPECT_EQ(pool.double_gives(), 2u);
  EXPECT_TRUE(pool.is_whole());
  rte_mbuf* all[8] = {};
  ASSERT_TRUE(pool.alloc_bulk(all, 8));
  std::sort(all, all + 8);
  EXPECT_EQ(std::unique(all, all + 8), all + 8);
  pool.put_bulk(all, 8);
}
#else
TEST(block_pool_death_test, a_second_give_ends_the_program_however_it_is_made) {
  block_pool pool = must_make({.name = "double", .blocks_per_mempool = 8});
  rte_mbuf* block = pool.alloc();
  rte_mbuf* other = pool.alloc();
  pool.put(block);
  rte_pktmbuf_free(other);
  EXPECT_DEATH(pool.put(block), "pool 'double.0': double_give");
  EXPECT_DEATH(rte_pktmbuf_free(block), "pool 'double.0': double_give");
  EXPECT_DEATH(rte_mempool_put(other->pool, other), "pool 'double.0': double_give");
}

TEST(block_pool_death_test, a_write_after_the_give_ends_the_program) {
  block_pool pool = must_make({.name = "after", .blocks_per_mempool = 1});
  rte_mbuf* block = pool.alloc();
  auto* payload = rte_pktmbuf_mtod(block, std::uint8_t*);
  payload[4095] = 1;
  rte_pktmbuf_free(block);
  EXPECT_DEATH(
      {
        payload[4095] = 1;
        static_cast<void>(pool.alloc());
      },
      "pool 'after.0': use_after_give|use-after-poison");
}

TEST(block_pool_death_test, a_leak_ends_the_program_with_its_number) {
  EXPECT_DEATH(
      {
        block_pool pool = must_make({.name = "leak", .blocks_per_mempool = 4});
        static_cast<void>(pool.alloc());
      },
      "pool 'leak' ends with 1 objects");
}
#endif

TEST(block_pool, refuses_a_shape_that_cannot_be_and_memory_that_is_not_there) {
  EXPECT_FALSE(block_pool::make({.name = "none", .blocks_per_mempool = 0}));
  EXPECT_FALSE(block_pool::make({.name = "many", .blocks_per_mempool = 1, .most_mempools = 17}));
  const auto made = block_pool::make({.name = "big", .size = block_size::kib_16, .blocks_per_mempool = 1'000'000});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().what.find("1000000"), std::string::npos);
}

}  // namespace
}  // namespace millrace::buf
