#include "inspect/hash_index.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace millrace::inspect {
namespace {

struct index_of {
  std::vector<std::byte> memory = std::vector<std::byte>(64 * 1024);
  carver carve{std::span(memory)};
  hash_index index;
  explicit index_of(std::uint32_t capacity) : index(carve, capacity) {}
  std::uint32_t find(std::uint32_t hash, std::uint32_t number) const {
    return index.find(hash, [&](std::uint32_t n) { return n == number; });
  }
};

TEST(hash_index, finds_what_was_entered_and_nothing_else) {
  index_of t(8);
  t.index.insert(100, 3);
  EXPECT_EQ(t.find(100, 3), 3u);
  EXPECT_EQ(t.find(100, 4), nil);
  EXPECT_EQ(t.find(101, 3), nil);
  t.index.erase(100, 3);
  EXPECT_EQ(t.find(100, 3), nil);
}

TEST(hash_index, keeps_numbers_with_equal_hashes_apart) {
  index_of t(8);
  for (std::uint32_t n = 0; n < 8; ++n) t.index.insert(5, n);
  t.index.erase(5, 0);
  t.index.erase(5, 4);
  for (std::uint32_t n : {1u, 2u, 3u, 5u, 6u, 7u}) EXPECT_EQ(t.find(5, n), n);
  EXPECT_EQ(t.find(5, 0), nil);
  EXPECT_EQ(t.find(5, 4), nil);
}

TEST(hash_index, closes_gaps_that_wrap_around_the_end) {
  index_of t(3);  // 8 slots
  t.index.insert(7, 0);
  t.index.insert(7, 1);   // wraps to slot 0
  t.index.insert(15, 2);  // also wants slot 7
  t.index.erase(7, 0);
  EXPECT_EQ(t.find(7, 1), 1u);
  EXPECT_EQ(t.find(15, 2), 2u);
}

TEST(hash_index, ignores_the_removal_of_what_is_not_there) {
  index_of t(3);
  t.index.insert(1, 0);
  t.index.erase(1, 2);
  t.index.erase(9, 0);
  EXPECT_EQ(t.find(1, 0), 0u);
}

TEST(hash_index, agrees_with_a_map_through_random_steps) {
  index_of t(64);
  std::map<std::uint32_t, std::uint32_t> reference;  // number -> hash
  std::uint64_t state = 99;
  for (int step = 0; step < 20'000; ++step) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto number = static_cast<std::uint32_t>(state >> 40) % 64;
    const auto hash = static_cast<std::uint32_t>(state >> 33) % 24;  // many collide, many chains wrap
    if (const auto it = reference.find(number); it != reference.end()) {
      t.index.erase(it->second, number);
      reference.erase(it);
    } else {
      t.index.insert(hash, number);
      reference[number] = hash;
    }
    for (const auto& [n, h] : reference) ASSERT_EQ(t.find(h, n), n) << "step " << step;
  }
}

}  // namespace
}  // namespace millrace::inspect
