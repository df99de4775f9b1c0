#include "port/topology.hpp"

#include <gtest/gtest.h>

#include <set>

namespace millrace::port {
namespace {

using list = std::vector<unsigned>;

list tx_ports(unsigned count, topology t) {
  list all;
  for (unsigned i = 0; i < count; ++i) all.push_back(tx_index_of(i, count, t));
  return all;
}

TEST(topology, means_what_testpmd_means) {
  EXPECT_EQ(tx_ports(4, topology::paired), (list{1, 0, 3, 2}));
  EXPECT_EQ(tx_ports(3, topology::paired), (list{1, 0, 2}));  // the odd one pairs with itself
  EXPECT_EQ(tx_ports(1, topology::paired), (list{0}));
  EXPECT_EQ(tx_ports(3, topology::chained), (list{1, 2, 0}));
  EXPECT_EQ(tx_ports(3, topology::loop), (list{0, 1, 2}));
}

TEST(topology, knows_its_words_both_ways) {
  for (const topology t : {topology::paired, topology::chained, topology::loop})
    EXPECT_EQ(parse_topology(to_string(t)), t);
  EXPECT_EQ(parse_topology("ring"), std::nullopt);
  EXPECT_EQ(parse_topology(""), std::nullopt);
}

TEST(streams, go_queue_by_queue_over_the_ports) {
  const queue_counts ports[] = {{.port = 4, .rxq = 2, .txq = 2}, {.port = 7, .rxq = 2, .txq = 2}};
  EXPECT_EQ(make_streams(ports, topology::paired),
            (std::vector<stream>{{4, 0, 7, 0}, {7, 0, 4, 0}, {4, 1, 7, 1}, {7, 1, 4, 1}}));
}

TEST(streams, share_transmit_queues_in_turn_when_these_are_fewer) {
  const queue_counts ports[] = {{.port = 0, .rxq = 3, .txq = 2}};
  EXPECT_EQ(make_streams(ports, topology::loop), (std::vector<stream>{{0, 0, 0, 0}, {0, 1, 0, 1}, {0, 2, 0, 0}}));
  EXPECT_EQ(make_tx_streams(ports), (std::vector<stream>{{0, 0, 0, 0}, {0, 1, 0, 1}}));
}

TEST(assignment, gives_each_lcore_its_block_and_loses_nothing) {
  const queue_counts ports[] = {{.port = 0, .rxq = 4, .txq = 4}, {.port = 1, .rxq = 4, .txq = 4}};
  const std::vector<stream> all = make_streams(ports, topology::paired);
  for (unsigned lcores = 1; lcores <= 10; ++lcores) {
    const auto lists = assign(all, lcores);
    ASSERT_EQ(lists.size(), lcores);
    std::vector<stream> joined;
    std::size_t longest = 0;
    for (const auto& one : lists) {
      joined.insert(joined.end(), one.begin(), one.end());
      longest = std::max(longest, one.size());
    }
    EXPECT_EQ(joined, all) << lcores;
    EXPECT_EQ(longest, (all.size() + lcores - 1) / lcores) << lcores;
  }
}

TEST(assignment, keeps_a_transmit_queue_on_one_lcore) {
  const queue_counts ports[] = {{.port = 0, .rxq = 6, .txq = 2}};
  const auto lists = assign(make_streams(ports, topology::loop), 3);
  std::set<std::uint16_t> seen;
  std::size_t streams = 0;
  for (const auto& one : lists) {
    std::set<std::uint16_t> mine;
    for (const stream& s : one) mine.insert(s.tx_queue);
    for (const std::uint16_t q : mine) EXPECT_TRUE(seen.insert(q).second) << "queue " << q << " has two writers";
    streams += one.size();
  }
  EXPECT_EQ(streams, 6u);
}

TEST(assignment, of_nothing_is_nothing) {
  EXPECT_TRUE(assign({}, 0).empty());
  EXPECT_EQ(assign({}, 2).size(), 2u);
}

}  // namespace
}  // namespace millrace::port
