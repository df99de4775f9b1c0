#include "stats/latency_histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "stats/latency_summary.hpp"
#include "support/seeded.hpp"

namespace millrace::stats {
namespace {

using histogram = latency_histogram;

std::unique_ptr<histogram> fresh() { return std::make_unique<histogram>(); }

TEST(latency_histogram, knows_every_step_without_a_gap) {
  std::uint64_t lowest = 0;
  for (std::size_t step = 0; step < histogram::steps; ++step) {
    const std::uint64_t highest = histogram::upper_end(step);
    ASSERT_LE(lowest, highest) << step;
    ASSERT_EQ(histogram::step_of(lowest), step);
    ASSERT_EQ(histogram::step_of(highest), step);
    ASSERT_LE(static_cast<double>(highest - lowest), 0.01 * static_cast<double>(lowest)) << step;
    lowest = highest + 1;
  }
  EXPECT_EQ(lowest, histogram::longest + 1);
  EXPECT_GT(histogram::longest, 60'000'000'000u);
}

TEST(latency_histogram, of_nothing_is_zero) {
  const auto h = fresh();
  EXPECT_EQ(h->count(), 0u);
  EXPECT_EQ(h->percentile(50), 0u);
  EXPECT_EQ(h->percentile(100), 0u);
  EXPECT_EQ(h->max(), 0u);
  EXPECT_EQ(h->mean(), 0);
}

TEST(latency_histogram, answers_small_values_exactly) {
  const auto h = fresh();
  for (std::uint64_t v = 1; v <= 100; ++v) h->record(v);
  EXPECT_EQ(h->percentile(0), 1u);
  EXPECT_EQ(h->percentile(1), 1u);
  EXPECT_EQ(h->percentile(50), 50u);
  EXPECT_EQ(h->percentile(99), 99u);
  EXPECT_EQ(h->percentile(99.9), 100u);
  EXPECT_EQ(h->percentile(100), 100u);
  EXPECT_EQ(h->mean(), 50.5);
}

TEST(latency_histogram, keeps_the_maximum_exact_and_never_answers_more) {
  const auto h = fresh();
  h->record(1'000'003);
  EXPECT_EQ(h->max(), 1'000'003u);
  for (const double percent : {0.0, 50.0, 99.9, 100.0}) EXPECT_EQ(h->percentile(percent), 1'000'003u);
}

TEST(latency_histogram, holds_what_is_longer_than_its_last_step) {
  const auto h = fresh();
  const std::uint64_t hour = 3'600'000'000'000;
  h->record(hour);
  h->record(UINT64_MAX);
  EXPECT_EQ(h->count(), 2u);
  EXPECT_EQ(h->max(), UINT64_MAX);
  EXPECT_EQ(h->percentile(100), UINT64_MAX);
}

TEST(latency_histogram, is_within_one_per_cent_of_the_sorted_values_and_never_below) {
  const std::uint64_t seed = 20261130;
  test::seeded random(seed);
  const auto h = fresh();
  std::vector<std::uint64_t> values;
  for (int i = 0; i < 200'000; ++i) {
    const unsigned bits = 1 + static_cast<unsigned>(random.below(36));
    values.push_back(random.next() >> (64 - bits));
    h->record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double percent : {0.1, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(values.size())));
    const std::uint64_t exact = values[rank - 1];
    const std::uint64_t got = h->percentile(percent);
    EXPECT_GE(got, exact) << percent << " seed " << seed;
    EXPECT_LE(static_cast<double>(got), static_cast<double>(exact) * 1.01) << percent << " seed " << seed;
  }
}

TEST(latency_histogram, records_the_same_value_many_times_at_once) {
  const auto one = fresh();
  const auto many = fresh();
  for (int i = 0; i < 46; ++i) one->record(7777);
  many->record(7777, 46);
  EXPECT_EQ(one->count(), many->count());
  EXPECT_EQ(one->mean(), many->mean());
  EXPECT_EQ(one->percentile(50), many->percentile(50));
}

TEST(latency_histogram, merges_as_if_one_had_seen_all) {
  const auto all = fresh();
  const auto a = fresh();
  const auto b = fresh();
  test::seeded random(7);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t v = random.next() >> 40;
    all->record(v);
    (i % 3 == 0 ? a : b)->record(v);
  }
  a->merge(*b);
  EXPECT_EQ(a->count(), all->count());
  EXPECT_EQ(a->max(), all->max());
  EXPECT_EQ(a->mean(), all->mean());
  for (const double percent : {1.0, 50.0, 99.0, 99.9}) EXPECT_EQ(a->percentile(percent), all->percentile(percent));
  a->merge(*fresh());
  EXPECT_EQ(a->count(), all->count());
}

TEST(latency_summary, says_of_many_what_their_sum_would_say) {
  const auto a = fresh(), b = fresh(), sum = fresh();
  std::uint64_t x = 12345;
  for (unsigned i = 0; i < 20'000; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t value = (x >> 33) >> (x % 24);
    (i % 3 == 0 ? a : b)->record(value);
    sum->record(value);
  }
  const latency_histogram* const parts[] = {a.get(), b.get()};
  const latency_summary s = summarize(parts);
  EXPECT_EQ(s.count, sum->count());
  EXPECT_EQ(s.max, sum->max());
  EXPECT_EQ(s.p50, sum->percentile(50));
  EXPECT_EQ(s.p90, sum->percentile(90));
  EXPECT_EQ(s.p99, sum->percentile(99));
  EXPECT_EQ(s.p999, sum->percentile(99.9));
  std::uint64_t all = 0;
  for (const std::uint64_t n : s.by_power) all += n;
  EXPECT_EQ(all, s.count);
}

TEST(latency_summary, counts_by_power_of_two) {
  const auto h = fresh();
  for (const std::uint64_t v : {0u, 1u, 2u, 3u, 4u, 1023u, 1024u, 2047u}) h->record(v);
  h->record(std::uint64_t{1} << 50);
  const latency_histogram* const parts[] = {h.get()};
  const latency_summary s = summarize(parts);
  EXPECT_EQ(s.by_power[0], 1u);
  EXPECT_EQ(s.by_power[1], 1u);
  EXPECT_EQ(s.by_power[2], 2u);
  EXPECT_EQ(s.by_power[3], 1u);
  EXPECT_EQ(s.by_power[10], 1u);
  EXPECT_EQ(s.by_power[11], 2u);
  EXPECT_EQ(s.by_power[36], 1u);
  EXPECT_EQ(s.p999, std::uint64_t{1} << 50);
  EXPECT_EQ(summarize({}).count, 0u);
}

}  // namespace
}  // namespace millrace::stats
