#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/fixed_vector.hpp"
#include "base/hash.hpp"
#include "base/result.hpp"
#include "base/unset_array.hpp"

namespace millrace::base {
namespace {

TEST(fixed_vector, takes_out_any_element_and_keeps_the_order) {
  for (std::size_t at = 0; at < 4; ++at) {
    fixed_vector<int, 4> v;
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(v.push_back(i));
    v.erase(at);
    ASSERT_EQ(v.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(v[i], static_cast<int>(i < at ? i : i + 1));
    v.erase(3);  // nothing is there
    EXPECT_EQ(v.size(), 3u);
  }
}

TEST(fixed_vector, refuses_beyond_its_capacity_and_keeps_what_it_has) {
  fixed_vector<int, 2> v;
  EXPECT_TRUE(v.push_back(1));
  EXPECT_TRUE(v.push_back(2));
  EXPECT_FALSE(v.push_back(3));
  EXPECT_TRUE(v.full());
  EXPECT_EQ(v[1], 2);
  v.clear();
  EXPECT_TRUE(v.empty());
}

TEST(unset_array, makes_nothing_of_its_own) {
  struct counted {
    int number = 7;
    explicit counted(int n) noexcept : number(n) {}
    counted() noexcept { ++made(); }
    static int& made() noexcept {
      static int count = 0;
      return count;
    }
  };
  unset_array<counted, 4> a;
  a[2] = counted(1);
  EXPECT_EQ(a[2].number, 1);
  EXPECT_EQ(a.places()[2].number, 1);
  EXPECT_EQ(a.places().data(), a.data());
  EXPECT_EQ(a.size(), 4u);
  EXPECT_EQ(counted::made(), 0);
}

TEST(hash, tells_apart_lengths_seeds_and_single_bits) {
  std::set<std::uint64_t> seen;
  std::array<std::uint8_t, 40> zeros{};
  for (std::size_t size = 0; size <= zeros.size(); ++size)
    EXPECT_TRUE(seen.insert(hash_bytes(byte_view(zeros).first(size), 1)).second) << size;
  for (std::size_t bit = 0; bit < zeros.size() * 8; ++bit) {
    auto one = zeros;
    one[bit / 8] = static_cast<std::uint8_t>(1u << (bit % 8));
    EXPECT_TRUE(seen.insert(hash_bytes(one, 1)).second) << bit;
  }
  EXPECT_TRUE(seen.insert(hash_bytes(zeros, 2)).second);
}

TEST(result, holds_a_value_or_says_what_to_type) {
  const result<int> good = 7;
  ASSERT_TRUE(good);
  EXPECT_EQ(good.value(), 7);
  const result<int> bad = failure{"no port", "add --vdev=net_ring0", true};
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().hint, "add --vdev=net_ring0");
  EXPECT_TRUE(bad.error().unusable);
}

}  // namespace
}  // namespace millrace::base
