// Ranges in fixed memory, against a set of single numbers.
#include <gtest/gtest.h>

#include <set>

#include "quic/stream/range_set.hpp"
#include "support/seeded.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic::stream;

template <std::size_t N>
std::set<std::uint64_t> numbers(const range_set<N>& s) {
  std::set<std::uint64_t> out;
  for (const offset_range& r : s)
    for (std::uint64_t n = r.begin; n < r.end; ++n) out.insert(n);
  return out;
}

TEST(range_set, joins_what_touches_and_keeps_apart_what_does_not) {
  range_set<4> s;
  EXPECT_TRUE(s.add({10, 20}));
  EXPECT_TRUE(s.add({30, 40}));
  EXPECT_EQ(s.size(), 2u);
  EXPECT_TRUE(s.add({20, 30}));
  EXPECT_EQ(s.size(), 1u);
  EXPECT_EQ(s[0], (offset_range{10, 40}));
  EXPECT_TRUE(s.add({5, 5}));
  EXPECT_EQ(s.size(), 1u);
}

TEST(range_set, agrees_with_a_set_of_numbers) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    test::seeded random(seed);
    range_set<6> s;
    std::set<std::uint64_t> model;
    for (int step = 0; step < 200; ++step) {
      const std::uint64_t begin = random.below(100);
      const offset_range r{begin, begin + random.below(20)};
      const auto before = model;
      if (random.below(2) == 0) {
        for (std::uint64_t n = r.begin; n < r.end; ++n) model.insert(n);
        if (random.below(4) == 0) {
          s.add_covering(r);
          const auto now = numbers(s);
          for (const std::uint64_t n : model) ASSERT_TRUE(now.contains(n));
          model = now;  // perhaps more
        } else if (!s.add(r)) {
          ASSERT_TRUE(s.full());
          model = before;
        }
      } else {
        for (std::uint64_t n = r.begin; n < r.end; ++n) model.erase(n);
        if (!s.remove(r)) {
          ASSERT_TRUE(s.full());
          model = before;
        }
      }
      ASSERT_EQ(numbers(s), model);
      for (std::size_t i = 1; i < s.size(); ++i) ASSERT_LT(s[i - 1].end, s[i].begin);
      ASSERT_EQ(s.covers({40, 45}), model.contains(40) && model.contains(41) && model.contains(42) &&
                                        model.contains(43) && model.contains(44));
    }
  }
}

}  // namespace
