#include "crypto/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

using namespace millrace;

TEST(random_bytes, fills_all_it_was_given) {
  // 256 bytes are what the kernel hands out without a break; more must be asked for again.
  std::vector<std::uint8_t> room(100'000, 0);
  ASSERT_TRUE(crypto::random_bytes(room));
  for (std::size_t at = 0; at + 32 <= room.size(); at += 32) {
    const auto piece = base::byte_view(room).subspan(at, 32);
    EXPECT_FALSE(std::all_of(piece.begin(), piece.end(), [](std::uint8_t b) { return b == 0; })) << at;
  }
}

TEST(random_bytes, does_not_repeat_itself) {
  std::set<std::vector<std::uint8_t>> seen;
  for (int i = 0; i < 100; ++i) {
    std::vector<std::uint8_t> room(16);
    ASSERT_TRUE(crypto::random_bytes(room));
    EXPECT_TRUE(seen.insert(room).second);
  }
}

TEST(random_bytes, takes_no_room_for_an_answer) { EXPECT_TRUE(crypto::random_bytes({})); }
