#include "srmp/peer_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "support/seeded.hpp"

namespace millrace::srmp {
namespace {

conversation with(std::uint64_t number, std::string_view local = "198.18.0.1") {
  return {.remote = {base::ip_address::parse("198.18.0.9").value(), static_cast<std::uint16_t>(number)},
          .local = {base::ip_address::parse(local).value(), 5500},
          .cookie = number};
}

TEST(srmp_peers, are_those_that_were_heard) {
  const auto table = peer_table::make({.max_peers = 4}, 1);
  ASSERT_TRUE(table);
  const peer_handle a = table->hear(with(1), 10);
  ASSERT_TRUE(a);
  EXPECT_EQ(table->hear(with(1), 20), a);
  EXPECT_EQ(table->get(a)->heard, 20u);
  EXPECT_NE(table->hear(with(1, "198.18.0.2"), 20), a) << "another address of ours is another conversation";
  EXPECT_EQ(table->find(with(1)), a);
  EXPECT_FALSE(table->find(with(2)));
  conversation moved = with(1);
  moved.cookie = 77;
  EXPECT_EQ(table->hear(moved, 5), a);
  EXPECT_EQ(table->get(a)->between.cookie, 77u);
  EXPECT_EQ(table->get(a)->heard, 20u) << "time does not go back";
}

TEST(srmp_peers, are_gone_when_they_say_goodbye) {
  const auto table = peer_table::make({.max_peers = 1}, 1);
  const peer_handle a = table->hear(with(1), 0);
  EXPECT_TRUE(table->forget(a));
  EXPECT_FALSE(table->forget(a));
  EXPECT_EQ(table->get(a), nullptr);
  const peer_handle b = table->hear(with(2), 0);
  ASSERT_TRUE(b);
  EXPECT_EQ(table->get(a), nullptr) << "the same node serves another now";
  EXPECT_EQ(table->get(b)->numbers.next(), 1);
  EXPECT_EQ(table->get(peer_handle{}), nullptr);
}

TEST(srmp_peers, are_capped_and_nobody_is_pushed_out) {
  const auto table = peer_table::make({.max_peers = 3}, 1);
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(static_cast<bool>(table->hear(with(i), i)), i < 3);
  EXPECT_EQ(table->size(), 3u);
  EXPECT_EQ(table->counters().refused.get(), 7u);
  EXPECT_TRUE(table->find(with(0)));
}

TEST(srmp_peers, expire_oldest_first_and_within_a_bound) {
  const auto table = peer_table::make({.max_peers = 10, .idle = 100}, 1);
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(table->hear(with(i), i));
  ASSERT_TRUE(table->hear(with(0), 50));
  std::vector<std::uint64_t> gone;
  const auto note = [&](const peer& one) { gone.push_back(one.between.cookie); };
  EXPECT_EQ(table->expire(101, 10, note), 0u);
  EXPECT_EQ(table->expire(0, 10, note), 0u) << "back";
  EXPECT_EQ(table->expire(1000, 2, note), 2u);
  EXPECT_EQ(table->expire(1000, 10, note), 3u);
  EXPECT_EQ(gone, (std::vector<std::uint64_t>{1, 2, 3, 4, 0}));
  EXPECT_EQ(table->size(), 0u);
}

TEST(srmp_peers, are_those_a_map_knows) {
  constexpr std::size_t cap = 200;
  const auto table = peer_table::make({.max_peers = cap, .idle = 5000}, 3);
  std::map<std::uint64_t, std::pair<peer_handle, std::uint64_t>> known;  // number: handle, heard
  test::seeded random(11);
  std::uint64_t now = 0;
  for (int step = 0; step < 40'000; ++step) {
    const std::uint64_t number = random.below(400);
    const auto it = known.find(number);
    switch (random.below(16)) {
      case 0:
        ASSERT_EQ(it != known.end() && table->forget(it->second.first), it != known.end());
        if (it != known.end()) known.erase(it);
        break;
      case 1:
        now += random.below(600);
        table->expire(now, cap, [&](const peer& one) {
          ASSERT_GT(now - known.at(one.between.cookie).second, 5000u);
          known.erase(one.between.cookie);
        });
        for (const auto& one : known) ASSERT_LE(now - one.second.second, 5000u);
        break;
      default: {
        const peer_handle got = table->hear(with(number), now);
        ASSERT_EQ(static_cast<bool>(got), it != known.end() || known.size() < cap);
        if (it != known.end()) {
          ASSERT_EQ(got, it->second.first);
        }
        if (got) known[number] = {got, now};
      }
    }
    ASSERT_EQ(table->size(), known.size());
  }
}

}  // namespace
}  // namespace millrace::srmp
