#include "buf/packet.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/eal_main.hpp"
#include "support/packets.hpp"

namespace millrace::buf {
namespace {

using test::checked_pool;
using test::counting_bytes;
using test::packet_of;

TEST(packet, frees_what_it_owns_once) {
  checked_pool pool;
  {
    packet one = packet::alloc(*pool);
    EXPECT_EQ(pool->in_use(), 1u);
    packet two = std::move(one);
    EXPECT_FALSE(one);  // NOLINT: the moved-from state is the contract
    EXPECT_TRUE(two);
    EXPECT_EQ(pool->in_use(), 1u);
    two = packet::alloc(*pool);  // the old one goes back
    EXPECT_EQ(pool->in_use(), 1u);
  }
  EXPECT_EQ(pool->in_use(), 0u);
}

TEST(packet, is_harmless_when_empty) {
  packet none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.length(), 0u);
  EXPECT_EQ(none.segments(), 0u);
  EXPECT_TRUE(none.first().empty());
  EXPECT_TRUE(none.writable_first().empty());
  EXPECT_TRUE(none.append(1).empty());
  EXPECT_TRUE(none.prepend(1).empty());
  EXPECT_FALSE(none.is_shared());
  packet moved = std::move(none);
  EXPECT_FALSE(moved);
}

TEST(packet, is_empty_when_the_pool_is) {
  checked_pool pool(1);
  const packet first = packet::alloc(*pool);
  EXPECT_TRUE(first);
  EXPECT_FALSE(packet::alloc(*pool));
}

TEST(packet, grows_at_both_ends_until_its_buffer_is_full) {
  checked_pool pool(31, 256);
  packet one = packet_of(*pool, counting_bytes(200));
  EXPECT_EQ(one.length(), 200u);
  EXPECT_TRUE(one.append(57).empty());
  EXPECT_EQ(one.length(), 200u);
  EXPECT_EQ(one.append(56).size(), 56u);
  EXPECT_FALSE(one.append_copy(counting_bytes(1)));
  const base::byte_span front = one.prepend(14);
  ASSERT_EQ(front.size(), 14u);
  EXPECT_EQ(one.length(), 270u);
  EXPECT_EQ(one.first().data(), front.data());
  EXPECT_EQ(one.first()[14], 0u);
  EXPECT_EQ(one.first()[15], 1u);
}

TEST(packet, chains_without_copying_and_frees_the_whole_chain) {
  checked_pool pool;
  packet head = packet_of(*pool, counting_bytes(100));
  packet tail = packet_of(*pool, counting_bytes(50, 100));
  const std::uint8_t* tail_bytes = tail.first().data();
  ASSERT_TRUE(head.append_chain(tail));
  EXPECT_FALSE(tail);
  EXPECT_EQ(head.segments(), 2u);
  EXPECT_EQ(head.length(), 150u);
  EXPECT_EQ(head.first().size(), 100u);
  EXPECT_EQ(head.raw()->next->data_len, 50u);
  EXPECT_EQ(first_segment(head.raw()->next).data(), tail_bytes);
  EXPECT_EQ(pool->in_use(), 2u);
}

TEST(packet, flattens_a_chain_into_scratch_and_one_segment_into_nothing) {
  checked_pool pool;
  packet head = packet_of(*pool, counting_bytes(100));
  std::vector<std::uint8_t> scratch(150);
  EXPECT_EQ(flatten(head.raw(), scratch).data(), head.first().data());
  for (int i = 1; i < 3; ++i) {
    packet tail = packet_of(*pool, counting_bytes(25, static_cast<std::uint8_t>(75 + 25 * i)));
    ASSERT_TRUE(head.append_chain(tail));
  }
  const base::byte_view whole = flatten(head.raw(), scratch);
  ASSERT_EQ(whole.size(), 150u);
  EXPECT_EQ(whole.data(), scratch.data());
  EXPECT_EQ(scratch, counting_bytes(150));
  EXPECT_TRUE(flatten(head.raw(), base::byte_span(scratch).first(149)).empty());
}

TEST(packet, a_second_reference_makes_it_read_only) {
  checked_pool pool;
  packet one = packet_of(*pool, counting_bytes(10));
  EXPECT_FALSE(one.is_shared());
  rte_pktmbuf_refcnt_update(one.raw(), 1);
  EXPECT_TRUE(one.is_shared());
  {
    const packet other{one.raw()};
  }
  EXPECT_FALSE(one.is_shared());
  EXPECT_EQ(one.length(), 10u);
}

}  // namespace
}  // namespace millrace::buf

MILLRACE_EAL_TEST_MAIN("-m", "64", "-l", "0")
