#include "quic/path/spent_tokens.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/seeded.hpp"

namespace millrace::quic::path {
namespace {

TEST(spent_tokens, takes_each_token_once) {  // RFC 9000 8.1.4
  std::vector<std::uint64_t> slots(1024);
  spent_tokens spent(slots);
  test::seeded random(1);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t id = random.next();
    EXPECT_TRUE(spent.spend(id));
    EXPECT_FALSE(spent.spend(id));
    EXPECT_FALSE(spent.spend(id));
  }
  EXPECT_EQ(spent.replays(), 200u);
}

TEST(spent_tokens, forgets_the_oldest_of_a_set_first) {
  std::vector<std::uint64_t> slots(4);  // one set
  spent_tokens spent(slots);
  for (std::uint64_t id = 10; id < 15; ++id) EXPECT_TRUE(spent.spend(id));
  for (std::uint64_t id = 11; id < 15; ++id) EXPECT_FALSE(spent.spend(id));
  EXPECT_TRUE(spent.spend(10));
}

TEST(spent_tokens, keeps_sets_apart) {
  std::vector<std::uint64_t> slots(8);  // even ids, odd ids
  spent_tokens spent(slots);
  EXPECT_TRUE(spent.spend(1));
  for (std::uint64_t id = 2; id < 100; id += 2) EXPECT_TRUE(spent.spend(id));
  EXPECT_FALSE(spent.spend(1));
}

TEST(spent_tokens, knows_an_id_of_zero) {
  std::vector<std::uint64_t> slots(64);
  spent_tokens spent(slots);
  EXPECT_TRUE(spent.spend(0));
  EXPECT_FALSE(spent.spend(0));
}

TEST(spent_tokens, uses_a_power_of_two_of_its_slots_and_none_below_four) {
  std::vector<std::uint64_t> slots(23);
  spent_tokens spent(slots);
  for (std::uint64_t id = 1; id < 1000; ++id) EXPECT_TRUE(spent.spend(id));
  for (std::size_t i = 16; i < slots.size(); ++i) EXPECT_EQ(slots[i], 0u);
  std::vector<std::uint64_t> few(3);
  spent_tokens none(few);
  EXPECT_TRUE(none.spend(5));
  EXPECT_TRUE(none.spend(5));
  EXPECT_TRUE(spent_tokens({}).spend(5));
}

}  // namespace
}  // namespace millrace::quic::path
