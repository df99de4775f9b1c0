#include "inspect/aged_pool.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace millrace::inspect {
namespace {

struct record {
  age aging;
  int payload = 0;
};

constexpr std::uint64_t second = 1'000'000'000;

struct pool_of {
  std::vector<std::byte> memory = std::vector<std::byte>(64 * 1024);
  carver carve{std::span(memory)};
  aged_pool<record> pool;
  explicit pool_of(std::uint32_t capacity, std::uint64_t idle_ns = 60 * second) : pool(carve, capacity, idle_ns) {}
};

TEST(carver, measures_what_it_later_cuts) {
  carver measure;
  (void)measure.take<record>(3);
  (void)measure.take<std::uint8_t>(1);
  std::vector<std::byte> memory(measure.bytes());
  carver cut{std::span(memory)};
  EXPECT_EQ(cut.take<record>(3).size(), 3u);
  EXPECT_EQ(cut.take<std::uint8_t>(1).size(), 1u);
  EXPECT_FALSE(cut.is_short());
  EXPECT_TRUE(cut.take<std::uint8_t>(1).empty());
  EXPECT_TRUE(cut.is_short());
}

TEST(aged_pool, hands_out_zeroed_records_up_to_its_capacity) {
  pool_of p(2);
  record* a = p.pool.take(1);
  ASSERT_NE(a, nullptr);
  a->payload = 7;
  ASSERT_NE(p.pool.take(2), nullptr);
  EXPECT_TRUE(p.pool.full());
  EXPECT_EQ(p.pool.take(3), nullptr);
  p.pool.give(*a);
  record* again = p.pool.take(4);
  EXPECT_EQ(again, a);
  EXPECT_EQ(again->payload, 0);
}

TEST(aged_pool, tells_a_reference_to_a_record_that_was_taken_anew) {
  pool_of p(1);
  record* a = p.pool.take(1);
  const record_ref ref = p.pool.ref_to(*a);
  EXPECT_EQ(p.pool.resolve(ref), a);
  p.pool.give(*a);
  EXPECT_EQ(p.pool.resolve(ref), nullptr);
  ASSERT_NE(p.pool.take(2), nullptr);
  EXPECT_EQ(p.pool.resolve(ref), nullptr);
  EXPECT_EQ(p.pool.resolve(record_ref{}), nullptr);
}

TEST(aged_pool, expires_the_silent_and_keeps_the_touched) {
  pool_of p(3, 10 * second);
  record* a = p.pool.take(0);
  record* b = p.pool.take(1 * second);
  p.pool.touch(*a, 8 * second);
  EXPECT_EQ(p.pool.expired(11 * second), nullptr);
  EXPECT_EQ(p.pool.expired(11 * second + 1), b);
  p.pool.give(*b);
  EXPECT_EQ(p.pool.expired(18 * second), nullptr);
  EXPECT_EQ(p.pool.expired(18 * second + 1), a);
}

TEST(aged_pool, expires_proven_records_too) {
  pool_of p(3, 10 * second);
  record* a = p.pool.take(0);
  p.pool.prove(*a);
  EXPECT_EQ(p.pool.fresh_count(), 0u);
  EXPECT_EQ(p.pool.in_use(), 1u);
  EXPECT_EQ(p.pool.expired(10 * second + 1), a);
}

TEST(aged_pool, evicts_the_least_recently_touched) {
  pool_of p(3);
  record* a = p.pool.take(0);
  record* b = p.pool.take(1 * second);
  ASSERT_NE(p.pool.take(2 * second), nullptr);
  p.pool.touch(*a, 3 * second);
  EXPECT_EQ(p.pool.victim(3 * second, 0), b);
  EXPECT_EQ(p.pool.victim(3 * second, 2 * second), b);
  EXPECT_EQ(p.pool.victim(3 * second, 2 * second + 1), nullptr) << "all are younger than asked";
}

TEST(aged_pool, spares_proven_records_while_fresh_ones_fill_an_eighth) {
  pool_of p(16);
  record* old = p.pool.take(0);
  p.pool.prove(*old);
  record* first_fresh = p.pool.take(1 * second);
  record* second_fresh = p.pool.take(2 * second);
  EXPECT_EQ(p.pool.victim(9 * second, 0), first_fresh);
  p.pool.give(*first_fresh);
  EXPECT_EQ(p.pool.victim(9 * second, 0), old) << "one fresh record in sixteen is no flood";
  p.pool.give(*old);
  EXPECT_EQ(p.pool.victim(9 * second, 0), second_fresh);
}

TEST(aged_pool, moves_a_busy_record_only_once_a_grain) {
  pool_of p(2);
  record* a = p.pool.take(0);
  p.pool.touch(*a, move_grain_ns - 1);
  EXPECT_EQ(a->aging.moved_ns, 0u);
  EXPECT_EQ(a->aging.seen_ns, move_grain_ns - 1);
  p.pool.touch(*a, move_grain_ns);
  EXPECT_EQ(a->aging.moved_ns, move_grain_ns);
}

TEST(aged_pool, visits_exactly_the_records_in_use) {
  pool_of p(4);
  record* a = p.pool.take(0);
  record* b = p.pool.take(0);
  record* c = p.pool.take(0);
  p.pool.give(*b);
  std::vector<record*> seen;
  p.pool.for_each([&](record& r) { seen.push_back(&r); });
  EXPECT_EQ(seen, (std::vector<record*>{a, c}));
}

TEST(aged_pool, keeps_its_count_through_ten_thousand_random_steps) {
  pool_of p(32);
  std::vector<record*> live;
  std::uint64_t state = 12345;
  for (std::uint64_t now = 0; now < 10'000; ++now) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const auto roll = static_cast<unsigned>(state >> 33);
    if (roll % 3 == 0 || live.empty()) {
      if (record* r = p.pool.take(now * move_grain_ns); r != nullptr) live.push_back(r);
    } else if (roll % 3 == 1) {
      p.pool.touch(*live[roll / 3 % live.size()], now * move_grain_ns);
      if (roll % 7 == 0) p.pool.prove(*live[roll / 3 % live.size()]);
    } else {
      const std::size_t i = roll / 3 % live.size();
      p.pool.give(*live[i]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    }
    ASSERT_EQ(p.pool.in_use(), live.size());
    record* oldest = p.pool.victim(now * move_grain_ns, 0);
    ASSERT_EQ(oldest == nullptr, live.empty());
  }
}

}  // namespace
}  // namespace millrace::inspect
