#include "inspect/flow_table.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace millrace::inspect {
namespace {

base::endpoint ep(std::string_view address, std::uint16_t port) {
  return {base::ip_address::parse(address).value(), port};
}

TEST(flow_key, is_the_same_in_both_directions) {
  const directed_key there = make_flow_key(ep("10.0.0.1", 4000), ep("10.0.0.2", 443), 17);
  const directed_key back = make_flow_key(ep("10.0.0.2", 443), ep("10.0.0.1", 4000), 17);
  EXPECT_EQ(there.key, back.key);
  EXPECT_NE(there.from_low, back.from_low);
  EXPECT_EQ(hash_of(there.key, 7), hash_of(back.key, 7));
  EXPECT_EQ(there.key.low(), ep("10.0.0.1", 4000));
  EXPECT_EQ(there.key.high(), ep("10.0.0.2", 443));
}

TEST(flow_key, orders_by_port_where_both_ends_are_one_host) {
  const directed_key there = make_flow_key(ep("::1", 50000), ep("::1", 443), 17);
  EXPECT_FALSE(there.from_low);
  EXPECT_EQ(there.key.low(), ep("::1", 443));
}

TEST(flow_key, tells_protocols_ports_and_families_apart) {
  const auto key = [](std::string_view a, std::uint16_t p, std::string_view b, std::uint16_t q, std::uint8_t proto) {
    return make_flow_key(ep(a, p), ep(b, q), proto).key;
  };
  const std::vector<flow_key> keys = {
      key("10.0.0.1", 1, "10.0.0.2", 2, 17), key("10.0.0.1", 1, "10.0.0.2", 2, 6),
      key("10.0.0.1", 2, "10.0.0.2", 1, 17), key("10.0.0.1", 1, "10.0.0.3", 2, 17),
      key("a00:1::", 1, "a00:2::", 2, 17),   key("a00:1::", 1, "a00:2::1", 2, 17),
  };
  std::set<std::uint32_t> hashes;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    hashes.insert(hash_of(keys[i], 1));
    for (std::size_t j = i + 1; j < keys.size(); ++j) EXPECT_FALSE(keys[i] == keys[j]) << i << " " << j;
  }
  EXPECT_EQ(hashes.size(), keys.size());
  EXPECT_NE(hash_of(keys[0], 1), hash_of(keys[0], 2)) << "the seed matters";
}

TEST(flow_table, finds_a_flow_until_it_is_given_back) {
  limits l;
  l.max_flows = 4;
  carver measure;
  (void)flow_table(measure, l, 0);
  std::vector<std::byte> memory(measure.bytes());
  carver carve{std::span(memory)};
  flow_table table(carve, l, 42);
  const flow_key key = make_flow_key(ep("10.0.0.1", 1), ep("10.0.0.2", 2), 17).key;
  const std::uint32_t hash = table.hash(key);
  EXPECT_EQ(table.find(key, hash), nullptr);
  flow* f = table.take(key, hash, 5);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(table.find(key, hash), f);
  table.give(*f);
  EXPECT_EQ(table.find(key, hash), nullptr);
}

TEST(flow_table, takes_a_million_flows_through_a_thousand_records) {
  limits l;
  l.max_flows = 1000;
  carver measure;
  (void)flow_table(measure, l, 0);
  std::vector<std::byte> memory(measure.bytes());
  carver carve{std::span(memory)};
  flow_table table(carve, l, 42);
  std::uint64_t evicted = 0;
  for (std::uint32_t n = 0; n < 1'000'000; ++n) {
    flow_key key;
    key.family = base::ip_family::v4;
    key.low_address[0] = static_cast<std::uint8_t>(n >> 16);
    key.low_address[1] = static_cast<std::uint8_t>(n >> 8);
    key.low_address[2] = static_cast<std::uint8_t>(n);
    const std::uint32_t hash = table.hash(key);
    ASSERT_EQ(table.find(key, hash), nullptr);
    if (table.pool().full()) {
      flow* old = table.pool().victim(n, 0);
      ASSERT_NE(old, nullptr);
      table.give(*old);
      ++evicted;
    }
    ASSERT_NE(table.take(key, hash, n), nullptr);
    ASSERT_NE(table.find(key, hash), nullptr);
  }
  EXPECT_EQ(evicted, 999'000u);
  EXPECT_EQ(table.pool().in_use(), 1000u);
}

}  // namespace
}  // namespace millrace::inspect
