#include "pipeline/stage_mac.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/packets.hpp"

namespace millrace::pipeline {
namespace {

using stats::drop_reason;
using test::checked_pool;
using test::counting_bytes;
using test::packet_of;

std::vector<std::uint8_t> bytes_of(const buf::burst& packets, unsigned i) {
  const base::byte_view view = packets.first(i);
  return {view.begin(), view.end()};
}

TEST(macswap, exchanges_the_addresses_and_nothing_else) {
  checked_pool pool;
  stats::drop_counters drops;
  for (const std::size_t size :
       {std::size_t{14}, std::size_t{15}, std::size_t{16}, std::size_t{60}, std::size_t{1514}}) {
    buf::burst packets;
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(packets.push(packet_of(*pool, counting_bytes(size))));
    std::uint64_t received = 0;
    EXPECT_EQ(swap_addresses(packets, received, drops), 5 * size);
    EXPECT_EQ(received, 5 * size);
    std::vector<std::uint8_t> expected = counting_bytes(size);
    std::swap_ranges(expected.begin(), expected.begin() + 6, expected.begin() + 6);
    for (unsigned i = 0; i < 5; ++i) EXPECT_EQ(bytes_of(packets, i), expected);
    (void)swap_addresses(packets, received, drops);
    for (unsigned i = 0; i < 5; ++i) EXPECT_EQ(bytes_of(packets, i), counting_bytes(size));
  }
  EXPECT_EQ(drops.total(), 0u);
}

TEST(macswap, drops_frames_shorter_than_an_ethernet_header) {
  checked_pool pool;
  stats::drop_counters drops;
  buf::burst packets;
  for (const std::size_t size : {std::size_t{60}, std::size_t{13}, std::size_t{0}, std::size_t{64}})
    ASSERT_TRUE(packets.push(packet_of(*pool, counting_bytes(size))));
  std::uint64_t received = 0;
  EXPECT_EQ(swap_addresses(packets, received, drops), 60u + 64u);
  EXPECT_EQ(received, 60u + 13u + 64u);
  ASSERT_EQ(packets.size(), 2u);
  EXPECT_EQ(packets.length(1), 64u);
  EXPECT_EQ(drops.get(drop_reason::l2_truncated), 2u);
  EXPECT_EQ(pool->in_use(), 2u);
}

TEST(macswap, of_an_empty_burst_is_nothing) {
  stats::drop_counters drops;
  buf::burst packets;
  std::uint64_t received = 99;
  EXPECT_EQ(swap_addresses(packets, received, drops), 0u);
  EXPECT_EQ(received, 0u);
}

TEST(mac, replaces_both_addresses) {
  checked_pool pool;
  stats::drop_counters drops;
  address_pair addresses;
  addresses.dst_src = {2, 0, 0, 0, 0, 9, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
  for (const std::size_t size : {std::size_t{14}, std::size_t{60}}) {
    buf::burst packets;
    ASSERT_TRUE(packets.push(packet_of(*pool, counting_bytes(size, 50))));
    std::uint64_t received = 0;
    EXPECT_EQ(set_addresses(packets, addresses, received, drops), size);
    std::vector<std::uint8_t> expected = counting_bytes(size, 50);
    std::copy(addresses.dst_src.begin(), addresses.dst_src.end(), expected.begin());
    EXPECT_EQ(bytes_of(packets, 0), expected);
  }
}

}  // namespace
}  // namespace millrace::pipeline
