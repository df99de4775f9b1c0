#include "ws/chain_mask.hpp"

#include <gtest/gtest.h>

#include "support/eal_main.hpp"
#include "support/packets.hpp"
#include "support/seeded.hpp"

namespace millrace::ws {
namespace {

using test::checked_pool;

std::vector<std::uint8_t> bytes_of(const buf::chain& from) {
  std::vector<std::uint8_t> out(from.size());
  EXPECT_EQ(from.copy_out(0, out), out.size());
  return out;
}

TEST(ws_chain_mask, masks_segments_as_one_payload) {
  test::seeded random(91);
  for (int round = 0; round < 200; ++round) {
    checked_pool pool(63, 256);
    buf::chain payload;
    std::vector<std::uint8_t> flat;
    for (std::size_t i = 0, segments = random.below(6); i < segments; ++i) {
      const auto piece = random.bytes(1 + random.below(200));
      flat.insert(flat.end(), piece.begin(), piece.end());
      ASSERT_TRUE(payload.append(test::packet_of(*pool, piece)));
    }
    const std::size_t cut = flat.empty() ? 0 : random.below(flat.size());
    payload.consume(cut);
    flat.erase(flat.begin(), flat.begin() + static_cast<std::ptrdiff_t>(cut));
    const auto key = static_cast<std::uint32_t>(random.next());
    const auto phase = static_cast<unsigned>(random.below(4));
    const auto got = mask(payload, key, phase);
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(*got, wire::mask(flat, key, phase));
    EXPECT_EQ(bytes_of(payload), flat) << "seed 91 round " << round;
  }
}

TEST(ws_chain_mask, changes_nothing_that_somebody_else_holds) {
  checked_pool pool;
  buf::chain payload;
  ASSERT_TRUE(payload.append(test::packet_of(*pool, test::counting_bytes(50))));
  ASSERT_TRUE(payload.append(test::packet_of(*pool, test::counting_bytes(50))));
  const auto before = bytes_of(payload);
  {
    const buf::slice other = payload.share_slice(60, 10);
    EXPECT_FALSE(mask(payload, 0x44332211).has_value());
    EXPECT_EQ(bytes_of(payload), before);
  }
  EXPECT_EQ(mask(payload, 0x44332211), 0u);
  EXPECT_NE(bytes_of(payload), before);
}

}  // namespace
}  // namespace millrace::ws

MILLRACE_EAL_TEST_MAIN("-l", "0", "-m", "64")
