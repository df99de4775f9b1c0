#include "mem/packet_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "mem/region.hpp"
#include "support/eal_main.hpp"

namespace millrace::mem {
namespace {

packet_pool must_make(const packet_pool_config& config) {
  auto made = packet_pool::make(config);
  if (!made) ADD_FAILURE() << made.error().what;
  return std::move(made.value());
}

TEST(packet_pool, has_the_size_and_the_room_asked_for) {
  packet_pool pool = must_make({.name = "shape", .packets = 100, .cache = 32, .data_room = 1500});
  EXPECT_EQ(pool.size(), 100u);
  EXPECT_EQ(pool.data_room(), 1500u);
  EXPECT_TRUE(pool.is_whole());
  rte_mbuf* one = pool.alloc();
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(rte_pktmbuf_tailroom(one), 1500);
  EXPECT_EQ(pool.in_use(), 1u);
  rte_pktmbuf_free(one);
  EXPECT_TRUE(pool.is_whole());
}

TEST(packet_pool, exhaustion_is_a_value_that_is_counted_and_passes) {
  packet_pool pool = must_make({.name = "exhaust", .packets = 64, .cache = 0});
  std::vector<rte_mbuf*> held(64);
  ASSERT_TRUE(pool.alloc_bulk(held.data(), 60));
  rte_mbuf* more[8] = {};
  EXPECT_FALSE(pool.alloc_bulk(more, 8));  // all or nothing: 4 are left
  EXPECT_EQ(pool.refused(), 8u);
  EXPECT_EQ(pool.in_use(), 60u);
  ASSERT_TRUE(pool.alloc_bulk(held.data() + 60, 4));
  EXPECT_EQ(pool.alloc(), nullptr);
  EXPECT_EQ(pool.refused(), 9u);
  EXPECT_EQ(pool.sample(), 64u);
  rte_pktmbuf_free_bulk(held.data(), 64);
  EXPECT_TRUE(pool.is_whole());
  EXPECT_EQ(pool.sample(), 0u);
  EXPECT_EQ(pool.high_water(), 64u);
  rte_mbuf* again = pool.alloc();
  EXPECT_NE(again, nullptr);
  rte_pktmbuf_free(again);
}

TEST(packet_pool, cold_buffers_are_as_fresh_as_others) {
  packet_pool pool = must_make({.name = "cold", .packets = 32, .cache = 0});
  std::vector<rte_mbuf*> all(32);
  ASSERT_TRUE(pool.alloc_bulk_cold(all.data(), 32));
  rte_mbuf* more[1] = {};
  EXPECT_FALSE(pool.alloc_bulk_cold(more, 1));
  EXPECT_EQ(pool.refused(), 1u);
  for (rte_mbuf* m : all) {  // used as hard as can be, and given back
    ASSERT_NE(rte_pktmbuf_append(m, 1000), nullptr);
    ASSERT_NE(rte_pktmbuf_prepend(m, 60), nullptr);
    m->ol_flags = RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_RX_VLAN;
    m->packet_type = 7;
    m->vlan_tci = 9;
    m->port = 3;
  }
  rte_pktmbuf_chain(all[0], all[1]);
  rte_pktmbuf_free(all[0]);
  rte_pktmbuf_free_bulk(all.data() + 2, 30);
  ASSERT_TRUE(pool.alloc_bulk_cold(all.data(), 32));
  for (const rte_mbuf* m : all) {
    EXPECT_EQ(m->data_off, RTE_PKTMBUF_HEADROOM);
    EXPECT_EQ(m->data_len, 0u);
    EXPECT_EQ(m->pkt_len, 0u);
    EXPECT_EQ(m->nb_segs, 1u);
    EXPECT_EQ(m->next, nullptr);
    EXPECT_EQ(rte_mbuf_refcnt_read(m), 1u);
    EXPECT_EQ(m->ol_flags, 0u);
    EXPECT_EQ(m->packet_type, 0u);
    EXPECT_EQ(m->vlan_tci, 0u);
    EXPECT_EQ(m->port, RTE_MBUF_PORT_INVALID);
  }
  rte_pktmbuf_free_bulk(all.data(), 32);
  EXPECT_TRUE(pool.is_whole());
}

// Or a pool of many packets goes through the cache with all of them where a few would do.
TEST(packet_pool, gives_those_first_that_came_back_last) {
  packet_pool pool = must_make({.name = "stack", .packets = 1023, .cache = 0});
  std::vector<rte_mbuf*> all(600);
  ASSERT_TRUE(pool.alloc_bulk(all.data(), 600));
  rte_pktmbuf_free_bulk(all.data(), 600);
  std::vector<rte_mbuf*> again(32);
  ASSERT_TRUE(pool.alloc_bulk(again.data(), 32));
  for (rte_mbuf* one : again) EXPECT_NE(std::find(all.end() - 64, all.end(), one), all.end());
  rte_pktmbuf_free_bulk(again.data(), 32);
  EXPECT_TRUE(pool.is_whole());
}

TEST(packet_pool, says_what_was_asked_when_there_is_no_memory) {
  const auto made = packet_pool::make({.name = "huge", .packets = 4'000'000});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().what.find("4000000"), std::string::npos);
  EXPECT_FALSE(made.error().hint.empty());
}

TEST(packet_pool, refuses_a_shape_that_cannot_be) {
  EXPECT_FALSE(packet_pool::make({.name = "none", .packets = 0}));
  EXPECT_FALSE(packet_pool::make({.name = "wide", .packets = 10, .data_room = 65500}));
}

TEST(packet_pool, estimates_no_less_memory_than_it_takes) {
  for (const std::uint32_t packets : {100u, 1000u, 8191u}) {
    const packet_pool_config config{.name = "estimate" + std::to_string(packets), .packets = packets};
    packet_pool pool = must_make(config);
    std::size_t taken = 0;
    rte_mempool_mem_iter(
        pool.raw(),
        [](rte_mempool*, void* sum, rte_mempool_memhdr* chunk, unsigned) {
          *static_cast<std::size_t*>(sum) += chunk->len;
        },
        &taken);
    EXPECT_LE(taken, estimated_bytes(config));
    EXPECT_LE(estimated_bytes(config), 2 * taken + (2u << 20));
  }
}

TEST(region_under_eal, lies_in_eal_s_memory_and_is_zeroed_even_when_reused) {
  const std::byte* where = nullptr;
  {
    region block = region::make("test", 4096);
    ASSERT_TRUE(block);
    EXPECT_TRUE(block.is_eal_memory());
    where = block.data();
    std::fill(block.data(), block.data() + 4096, std::byte{0x55});
  }
  region again = region::make("test", 4096);
  ASSERT_TRUE(again);
  EXPECT_EQ(again.data(), where);  // the same place: so the next line proves something
  EXPECT_TRUE(std::all_of(again.data(), again.data() + 4096, [](std::byte b) { return b == std::byte{0}; }));
}

TEST(region_under_eal, is_empty_when_eal_has_no_memory_left) {
  EXPECT_FALSE(region::make("test", std::size_t{8} << 30));
  EXPECT_TRUE(region::make("test", 4096));
}

}  // namespace
}  // namespace millrace::mem

MILLRACE_EAL_TEST_MAIN("-m", "128", "-l", "0")
