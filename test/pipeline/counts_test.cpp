#include "pipeline/counts.hpp"

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

using stats::drop_reason;

TEST(figures, are_a_copy_of_every_counter) {
  lcore_counters counters;
  for (std::size_t i = 0; i < count_count; ++i) counters.add(static_cast<count>(i), i + 1);
  for (std::size_t i = 0; i < traffic_class_count; ++i) counters.classes[i].add(100 + i);
  counters.drops.add(drop_reason::arp, 7);
  counters.heap.calls.add(3);
  const figures now = read(counters);
  for (std::size_t i = 0; i < count_count; ++i) EXPECT_EQ(now[static_cast<count>(i)], i + 1);
  for (std::size_t i = 0; i < traffic_class_count; ++i) EXPECT_EQ(now.classes[i], 100 + i);
  EXPECT_EQ(now.dropped(drop_reason::arp), 7u);
  EXPECT_EQ(now.dropped(), 7u);
  EXPECT_EQ(now.heap_calls, 3u);
}

TEST(figures, subtract_to_a_period_and_add_up_over_lcores) {
  lcore_counters counters;
  counters.add(count::rx_pkts, 10);
  counters.drops.add(drop_reason::rx_only, 10);
  const figures before = read(counters);
  counters.add(count::rx_pkts, 5);
  counters.classes[0].add(2);
  counters.drops.add(drop_reason::rx_only, 5);
  counters.heap.calls.add(1);
  figures period = read(counters).since(before);
  EXPECT_EQ(period[count::rx_pkts], 5u);
  EXPECT_EQ(period.classes[0], 2u);
  EXPECT_EQ(period.dropped(drop_reason::rx_only), 5u);
  EXPECT_EQ(period.heap_calls, 1u);
  period += before;
  EXPECT_EQ(period[count::rx_pkts], 15u);
  EXPECT_EQ(period.dropped(), 15u);
}

TEST(figures, know_whether_every_packet_is_accounted_for) {
  lcore_counters counters;
  EXPECT_TRUE(read(counters).is_conserved());
  counters.add(count::rx_pkts, 100);
  counters.add(count::originated_pkts, 20);
  EXPECT_FALSE(read(counters).is_conserved());
  counters.add(count::tx_pkts, 90);
  counters.add(count::held_pkts, 25);
  counters.drops.add(drop_reason::tx_ring_full, 4);
  EXPECT_FALSE(read(counters).is_conserved());
  counters.drops.add(drop_reason::arp, 1);
  EXPECT_TRUE(read(counters).is_conserved());
}

}  // namespace
}  // namespace millrace::pipeline
