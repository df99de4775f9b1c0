#include "buf/burst.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/packets.hpp"

namespace millrace::buf {
namespace {

using stats::drop_reason;
using test::checked_pool;
using test::counting_bytes;
using test::packet_of;

void push_numbered(burst& to, mem::packet_pool& pool, unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    ASSERT_TRUE(to.push(packet_of(pool, counting_bytes(10 + i, static_cast<std::uint8_t>(i)))));
}

TEST(burst, owns_and_frees_what_is_left_in_it) {
  checked_pool pool;
  {
    burst some;
    ASSERT_TRUE(some.fill(*pool, 40));
    EXPECT_EQ(some.size(), 40u);
    EXPECT_EQ(pool->in_use(), 40u);
  }
  EXPECT_EQ(pool->in_use(), 0u);
}

TEST(burst, fills_all_or_nothing) {
  checked_pool pool(48);
  burst some;
  ASSERT_TRUE(some.fill(*pool, 40));
  EXPECT_FALSE(some.fill(*pool, 9));
  EXPECT_EQ(some.size(), 40u);
  EXPECT_EQ(pool->refused(), 9u);
  EXPECT_TRUE(some.fill(*pool, 8));
  EXPECT_FALSE(some.fill(*pool, burst::capacity));
}

TEST(burst, refuses_a_packet_beyond_its_capacity) {
  checked_pool pool;
  burst some;
  ASSERT_TRUE(some.fill(*pool, burst::capacity));
  packet extra = packet::alloc(*pool);
  EXPECT_FALSE(some.push(std::move(extra)));
  EXPECT_TRUE(extra);  // NOLINT: refused means the caller still owns it
  packet none;
  EXPECT_FALSE(some.push(std::move(none)));
}

TEST(burst, a_drop_is_one_free_and_one_counter_and_leaves_a_hole) {
  checked_pool pool;
  stats::drop_counters drops;
  burst some;
  push_numbered(some, *pool, 5);
  some.drop(1, drop_reason::ip_truncated, drops);
  some.drop(4, drop_reason::arp, drops);
  EXPECT_EQ(pool->in_use(), 3u);
  EXPECT_EQ(drops.get(drop_reason::ip_truncated), 1u);
  EXPECT_EQ(drops.get(drop_reason::arp), 1u);
  EXPECT_TRUE(some.is_hole(1));
  EXPECT_TRUE(some.has_holes());
  some.compact();
  EXPECT_FALSE(some.has_holes());
  ASSERT_EQ(some.size(), 3u);
  EXPECT_EQ(some.length(0), 10u);  // order kept
  EXPECT_EQ(some.length(1), 12u);
  EXPECT_EQ(some.length(2), 13u);
  EXPECT_EQ(some.bytes(), 35u);
}

TEST(burst, take_moves_one_packet_out) {
  checked_pool pool;
  burst some;
  push_numbered(some, *pool, 3);
  packet middle = some.take(1);
  some.compact();
  EXPECT_EQ(middle.length(), 11u);
  EXPECT_EQ(some.size(), 2u);
  some.free_all();
  EXPECT_EQ(pool->in_use(), 1u);
}

TEST(burst, drops_the_tail_a_transmit_refused) {
  checked_pool pool;
  stats::drop_counters drops;
  burst some;
  push_numbered(some, *pool, 8);
  some.drop_from(5, drop_reason::tx_ring_full, drops);
  EXPECT_EQ(some.size(), 5u);
  EXPECT_EQ(drops.get(drop_reason::tx_ring_full), 3u);
  some.drop_from(5, drop_reason::tx_ring_full, drops);  // nothing behind the end
  EXPECT_EQ(drops.total(), 3u);
  some.drop(0, drop_reason::arp, drops);
  some.drop_all(drop_reason::rx_only, drops);
  EXPECT_EQ(drops.get(drop_reason::rx_only), 4u);
  EXPECT_TRUE(some.empty());
  EXPECT_EQ(pool->in_use(), 0u);
}

TEST(burst, forgets_what_a_port_took) {
  checked_pool pool;
  burst some;
  push_numbered(some, *pool, 6);
  rte_mbuf* sent[4];
  std::copy_n(some.raw(), 4, sent);
  some.forget_front(4);
  ASSERT_EQ(some.size(), 2u);
  EXPECT_EQ(some.length(0), 14u);
  EXPECT_EQ(some.length(1), 15u);
  some.free_all();
  EXPECT_EQ(pool->in_use(), 4u);
  burst back;
  std::copy_n(sent, 4, back.raw());
  back.adopt(4);
  EXPECT_EQ(back.first(3)[0], 3u);
}

TEST(burst, sets_the_length_of_fresh_packets_within_their_buffer) {
  checked_pool pool(63, 128);
  burst some;
  ASSERT_TRUE(some.fill(*pool, 2));
  EXPECT_TRUE(some.set_length(0, 128));
  EXPECT_FALSE(some.set_length(1, 129));
  EXPECT_EQ(some.length(0), 128u);
  EXPECT_EQ(some.writable_first(0).size(), 128u);
  EXPECT_FALSE(some.is_chain(0));
}

TEST(free_bulk, sends_each_packet_home_whatever_it_is) {
  checked_pool plain;
  checked_pool other;
  burst some;
  push_numbered(some, *plain, 3);
  push_numbered(some, *other, 3);

  packet chain = packet_of(*plain, counting_bytes(10));
  packet tail = packet_of(*other, counting_bytes(10));
  ASSERT_TRUE(chain.append_chain(tail));
  ASSERT_TRUE(some.push(std::move(chain)));

  packet lender = packet_of(*plain, counting_bytes(100));  // stays referenced by an indirect packet
  packet indirect = packet::alloc(*other);
  rte_pktmbuf_attach(indirect.raw(), lender.raw());
  ASSERT_TRUE(some.push(std::move(indirect)));

  packet shared = packet_of(*plain, counting_bytes(5));
  rte_pktmbuf_refcnt_update(shared.raw(), 1);
  ASSERT_TRUE(some.push(packet{shared.raw()}));
  push_numbered(some, *plain, 2);

  some.free_all();
  EXPECT_EQ(plain->in_use(), 2u);  // the lender and the shared one
  EXPECT_EQ(other->in_use(), 0u);
  EXPECT_FALSE(lender.is_shared());
  EXPECT_FALSE(shared.is_shared());
}

}  // namespace
}  // namespace millrace::buf
