// Packet numbers of one space: what is a duplicate, and ranges that do not fit into the connection itself.
#include "quic/conn/number_space.hpp"

#include <gtest/gtest.h>

namespace millrace::quic::conn {
namespace {

using mem_pool = mem::object_pool<many_ranges>;

void receive(application_space& s, mem_pool& pool, std::uint64_t number) {
  EXPECT_EQ(s.received.add(number), wire::arrival::fresh) << number;
  static_cast<void>(s.fit(pool));
}

TEST(number_space, takes_what_came_or_may_have_come_for_a_duplicate) {
  handshake_space s{recovery::ack_policy_config{}};
  EXPECT_FALSE(s.is_duplicate(0)) << "nothing came";
  for (const std::uint64_t n : {2u, 3u, 7u}) static_cast<void>(s.received.add(n));
  for (const std::uint64_t n : {2u, 3u, 7u}) EXPECT_TRUE(s.is_duplicate(n)) << n;
  for (const std::uint64_t n : {0u, 1u, 4u, 6u, 8u, 1000u}) EXPECT_FALSE(s.is_duplicate(n)) << n;
  s.received.forget_below(4);
  for (const std::uint64_t n : {0u, 1u, 2u, 3u, 7u}) EXPECT_TRUE(s.is_duplicate(n)) << n;
  EXPECT_FALSE(s.is_duplicate(4));
  s.received.forget_below(8);
  EXPECT_TRUE(s.is_duplicate(6)) << "and nothing is left";
  EXPECT_FALSE(s.is_duplicate(8));
}

TEST(number_space, borrows_a_place_for_many_ranges_and_gives_it_back_when_they_are_few) {
  mem_pool pool = std::move(mem_pool::make("ranges", 2).value());
  application_space s{recovery::ack_policy_config{}};
  for (std::uint64_t i = 0; i + 1 < few_ack_ranges; ++i) receive(s, pool, 2 * i);
  EXPECT_EQ(pool.in_use(), 0u);
  for (std::uint64_t i = few_ack_ranges - 1; i < application_ack_ranges; ++i) receive(s, pool, 2 * i);
  EXPECT_EQ(pool.in_use(), 1u);
  EXPECT_EQ(s.received.ranges().size(), application_ack_ranges);
  EXPECT_EQ(s.received.dropped_ranges(), 0u);
  for (std::uint64_t i = 0; i < application_ack_ranges; ++i) EXPECT_TRUE(s.received.contains(2 * i)) << i;
  receive(s, pool, 2 * application_ack_ranges);
  EXPECT_EQ(s.received.dropped_ranges(), 1u);
  // Holes are closed: what is left has its place here, whole.
  for (std::uint64_t i = 1; i + 1 < application_ack_ranges; ++i) receive(s, pool, 2 * i + 1);
  EXPECT_EQ(pool.in_use(), 0u);
  ASSERT_EQ(s.received.ranges().size(), 2u);
  EXPECT_EQ(s.received.ranges()[1], (wire::packet_range{2, 2 * application_ack_ranges - 2}));
  EXPECT_EQ(s.received.largest(), 2 * application_ack_ranges);
}

TEST(number_space, gives_the_place_back_when_the_peer_knows) {
  mem_pool pool = std::move(mem_pool::make("ranges", 2).value());
  application_space s{recovery::ack_policy_config{}};
  for (std::uint64_t i = 0; i < 20; ++i) receive(s, pool, 2 * i);
  ASSERT_EQ(pool.in_use(), 1u);
  s.forget_below(20, pool);
  EXPECT_EQ(pool.in_use(), 1u) << "ten are left";
  s.forget_below(36, pool);
  EXPECT_EQ(pool.in_use(), 0u);
  EXPECT_EQ(s.received.ranges().size(), 2u);
  EXPECT_TRUE(s.is_duplicate(34));
  EXPECT_TRUE(s.is_duplicate(38));
  EXPECT_FALSE(s.is_duplicate(37));
}

TEST(number_space, keeps_the_newest_ranges_when_there_is_no_place_for_all) {
  mem_pool pool = std::move(mem_pool::make("ranges", 1).value());
  many_ranges* const taken = pool.get();
  application_space s{recovery::ack_policy_config{}};
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(s.received.add(2 * i), wire::arrival::fresh);
    EXPECT_EQ(s.fit(pool), i + 1 < few_ack_ranges) << i;
  }
  EXPECT_EQ(s.received.ranges().size(), few_ack_ranges);
  EXPECT_EQ(s.received.largest(), 38u);
  EXPECT_TRUE(s.is_duplicate(1)) << "perhaps: it is not told apart any more";
  pool.give(taken);
  for (std::uint64_t i = 20; i < 30; ++i) receive(s, pool, 2 * i);
  EXPECT_EQ(s.received.ranges().size(), few_ack_ranges + 9) << "one was dropped before";
  s.give_back(pool);
  EXPECT_EQ(s.received.ranges().size(), few_ack_ranges) << "the newest";
  EXPECT_TRUE(s.received.contains(58));
  EXPECT_TRUE(pool.is_whole());
}

}  // namespace
}  // namespace millrace::quic::conn
