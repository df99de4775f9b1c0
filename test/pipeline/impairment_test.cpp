// The wire on simulated time: its two halves alone, and once around a real receive queue.
#include "pipeline/impairment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "port/crossed_rings.hpp"
#include "port/port.hpp"
#include "support/packets.hpp"

namespace millrace::pipeline {
namespace {

using stats::drop_reason;
using test::checked_pool;

constexpr std::uint64_t us = 1000;

buf::packet numbered(mem::packet_pool& pool, std::uint32_t number) {
  std::uint8_t bytes[4];
  std::memcpy(bytes, &number, sizeof number);
  return test::packet_of(pool, bytes);
}

std::uint32_t number_of(const buf::burst& packets, unsigned i) {
  std::uint32_t number = 0;
  std::memcpy(&number, packets.first(i).data(), sizeof number);
  return number;
}

// Packets 0, 1, 2, ... through a wire, `a_turn` every `step_ns`; what comes out, in order, with the time it did.
struct crossing {
  struct arrival {
    std::uint32_t number;
    std::uint64_t at_ns;
  };
  std::vector<arrival> arrivals;
  figures receiver;
};

crossing cross(impairment& wire, mem::packet_pool& pool, std::uint32_t packets, unsigned a_turn,
               std::uint64_t step_ns) {
  crossing seen;
  lcore_counters counters;
  buf::burst in;
  buf::burst out;
  std::uint32_t next = 0;
  for (std::uint64_t now = 0; next < packets || wire.waiting_pkts() != 0; now += step_ns) {
    for (unsigned i = 0; i < a_turn && next < packets; ++i) EXPECT_TRUE(in.push(numbered(pool, next++)));
    wire.take(in, now, counters);
    EXPECT_TRUE(in.empty());
    const unsigned got = wire.give(out, 32, now);
    EXPECT_EQ(got, out.size());
    counters.add(count::rx_pkts, got);
    counters.add(count::delivered_pkts, got);
    for (unsigned i = 0; i < got; ++i) seen.arrivals.push_back({number_of(out, i), now});
    out.free_all();
  }
  seen.receiver = read(counters);
  return seen;
}

// Four standard deviations of a share of `n` packets: with a fixed seed it holds or it does not, once and for all.
double tolerance(double percent, double n) { return 4 * std::sqrt(percent * (100 - percent) / n); }
double percent_of(std::uint64_t part, std::uint64_t of) {
  return 100 * static_cast<double>(part) / static_cast<double>(of);
}

TEST(impairment, without_settings_passes_everything_at_once_and_in_order) {
  EXPECT_FALSE(impairment_settings{}.is_needed());
  checked_pool pool;
  impairment wire({});
  const crossing seen = cross(wire, *pool, 1000, 8, us);
  ASSERT_EQ(seen.arrivals.size(), 1000u);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(seen.arrivals[i].number, i);
    EXPECT_EQ(seen.arrivals[i].at_ns, i / 8 * us);
  }
  EXPECT_TRUE(seen.receiver.is_conserved());
}

TEST(impairment, loses_its_percentage_and_accounts_for_every_packet) {
  constexpr std::uint32_t packets = 200'000;
  for (const double percent : {0.1, 1.0, 5.0, 50.0}) {
    checked_pool pool;
    impairment wire({.loss_percent = percent, .seed = 7});
    const crossing seen = cross(wire, *pool, packets, 16, us);
    const std::uint64_t lost = seen.receiver.dropped(drop_reason::impaired);
    EXPECT_NEAR(percent_of(lost, packets), percent, tolerance(percent, packets)) << percent;
    EXPECT_EQ(seen.arrivals.size() + lost, packets);
    EXPECT_EQ(seen.receiver[count::rx_pkts], packets);
    EXPECT_TRUE(seen.receiver.is_conserved());
    EXPECT_EQ(wire.figures().lost.get(), lost);
    EXPECT_EQ(wire.figures().taken.get(), packets);
    EXPECT_EQ(wire.figures().passed.get(), seen.arrivals.size());
    EXPECT_TRUE(std::ranges::is_sorted(seen.arrivals, {}, &crossing::arrival::number)) << "losing reorders nothing";
  }
}

TEST(impairment, at_a_hundred_percent_nothing_passes_and_at_zero_nothing_is_lost) {
  checked_pool pool;
  impairment all({.loss_percent = 100});
  EXPECT_TRUE(cross(all, *pool, 10'000, 16, us).arrivals.empty());
  impairment none({.delay_ns = us});
  EXPECT_EQ(cross(none, *pool, 10'000, 16, us).arrivals.size(), 10'000u);
}

TEST(impairment, holds_back_its_percentage_behind_later_packets) {
  constexpr std::uint32_t packets = 100'000;
  constexpr double percent = 2;
  checked_pool pool(8191);
  impairment wire({.reorder_percent = percent, .hold_back_ns = 50 * us, .seed = 3});
  const crossing seen = cross(wire, *pool, packets, 8, us);
  ASSERT_EQ(seen.arrivals.size(), packets);
  std::uint32_t newest = 0;
  std::uint64_t late = 0;
  for (const crossing::arrival& a : seen.arrivals) {
    if (a.number < newest)
      ++late;
    else
      newest = a.number;
    const std::uint64_t sent = a.number / 8 * us;
    EXPECT_TRUE(a.at_ns == sent || a.at_ns == sent + 50 * us) << a.number << " sent " << sent << " came " << a.at_ns;
  }
  EXPECT_NEAR(percent_of(late, packets), percent, tolerance(percent, packets));
  EXPECT_EQ(wire.figures().overtaken.get(), late);
  // Held back all the same, yet nothing came behind the last ones.
  EXPECT_GE(wire.figures().held_back.get(), late);
  std::vector<std::uint32_t> numbers;
  for (const crossing::arrival& a : seen.arrivals) numbers.push_back(a.number);
  std::ranges::sort(numbers);
  for (std::uint32_t i = 0; i < packets; ++i) ASSERT_EQ(numbers[i], i) << "each exactly once";
  EXPECT_TRUE(seen.receiver.is_conserved());
}

TEST(impairment, delays_every_packet_by_its_time_and_keeps_the_order) {
  checked_pool pool(4095);
  impairment wire({.delay_ns = 100 * us});
  const crossing seen = cross(wire, *pool, 20'000, 16, us);
  ASSERT_EQ(seen.arrivals.size(), 20'000u);
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    ASSERT_EQ(seen.arrivals[i].number, i);
    ASSERT_EQ(seen.arrivals[i].at_ns, i / 16 * us + 100 * us);
  }
}

TEST(impairment, keeps_the_order_of_arrival_among_equal_times) {
  checked_pool pool;
  // Everything is held back: both lines would do, and all of a turn is due at one time.
  impairment wire({.reorder_percent = 100, .hold_back_ns = 10 * us});
  const crossing seen = cross(wire, *pool, 640, 8, us);
  ASSERT_EQ(seen.arrivals.size(), 640u);
  EXPECT_TRUE(std::ranges::is_sorted(seen.arrivals, {}, &crossing::arrival::number));
  EXPECT_EQ(wire.figures().held_back.get(), 640u);
  EXPECT_EQ(wire.figures().overtaken.get(), 0u);
}

TEST(impairment, takes_what_is_due_first_from_both_lines) {
  checked_pool pool;
  lcore_counters counters;
  impairment wire({.reorder_percent = 50, .hold_back_ns = 4 * us, .seed = 11});
  buf::burst in;
  buf::burst out;
  for (std::uint32_t i = 0; i < 64; ++i) {
    ASSERT_TRUE(in.push(numbered(*pool, i)));
    wire.take(in, i * us, counters);
  }
  // Nothing was released meanwhile, so that both lines have much that is due: it comes by due time, then by arrival.
  EXPECT_EQ(wire.give(out, 64, 1000 * us), 64u);
  const std::uint64_t held = wire.figures().held_back.get();
  EXPECT_GT(held, 16u);
  EXPECT_LT(held, 48u);
  std::vector<std::uint32_t> order;
  for (unsigned i = 0; i < out.size(); ++i) order.push_back(number_of(out, i));
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    // A packet comes before one that arrived earlier only when that was held back, by four places at most.
    EXPECT_LE(order[i], order[i + 1] + 4) << i;
  }
  out.free_all();
}

TEST(impairment, the_same_seed_makes_the_same_losses_and_another_makes_others) {
  checked_pool pool;
  const auto numbers = [&](std::uint64_t seed) {
    impairment wire({.loss_percent = 10, .reorder_percent = 5, .seed = seed});
    std::vector<std::uint32_t> all;
    for (const crossing::arrival& a : cross(wire, *pool, 5000, 8, us).arrivals) all.push_back(a.number);
    return all;
  };
  EXPECT_EQ(numbers(1), numbers(1));
  EXPECT_NE(numbers(1), numbers(2));
}

TEST(impairment, what_a_packet_suffers_does_not_depend_on_the_other_percentage) {
  checked_pool pool;
  const auto lost = [&](double reorder) {
    impairment wire({.loss_percent = 10, .reorder_percent = reorder});
    std::vector<bool> here(5000, false);
    for (const crossing::arrival& a : cross(wire, *pool, 5000, 8, us).arrivals) here[a.number] = true;
    return here;
  };
  EXPECT_EQ(lost(0), lost(20));
}

TEST(impairment, gives_no_more_than_was_asked_for_and_keeps_the_rest) {
  checked_pool pool;
  lcore_counters counters;
  impairment wire({.delay_ns = us});
  buf::burst in;
  buf::burst out;
  for (std::uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(in.push(numbered(*pool, i)));
  wire.take(in, 0, counters);
  EXPECT_EQ(wire.give(out, 32, us - 1), 0u);
  EXPECT_EQ(wire.give(out, 32, us), 32u);
  EXPECT_EQ(wire.waiting_pkts(), 68u);
  EXPECT_EQ(wire.give(out, 0, us), 0u);
  EXPECT_EQ(wire.give(out, 500, us), 68u);
  EXPECT_EQ(out.size(), 100u);
  out.free_all();
}

TEST(impairment, frees_and_accounts_for_what_waits_at_the_end) {
  checked_pool pool;
  lcore_counters counters;
  {
    impairment wire({.delay_ns = 1000 * us});
    buf::burst in;
    for (std::uint32_t i = 0; i < 50; ++i) ASSERT_TRUE(in.push(numbered(*pool, i)));
    wire.take(in, 0, counters);
    EXPECT_EQ(pool->in_use(), 50u);
    wire.abandon(counters);
    EXPECT_EQ(pool->in_use(), 0u);
    EXPECT_EQ(read(counters).dropped(drop_reason::shutdown), 50u);
    EXPECT_EQ(wire.figures().abandoned.get(), 50u);
    EXPECT_TRUE(read(counters).is_conserved());
    for (std::uint32_t i = 0; i < 50; ++i) ASSERT_TRUE(in.push(numbered(*pool, i)));
    wire.take(in, 0, counters);
  }
  EXPECT_EQ(pool->in_use(), 0u) << "the object's end frees what nobody asked for";
}

TEST(impairment, refuses_settings_that_cannot_be) {
  EXPECT_TRUE(impairment::check({.loss_percent = 100, .reorder_percent = 0}));
  EXPECT_FALSE(impairment::check({.loss_percent = 100.1}));
  EXPECT_FALSE(impairment::check({.loss_percent = -1}));
  EXPECT_FALSE(impairment::check({.reorder_percent = std::nan("")}));
  EXPECT_FALSE(impairment::check({.most_held = 0}));
  EXPECT_FALSE(impairment::check({.most_held = 1u << 21}));
}

// Two ports joined, the receiving end behind a wire.
struct impaired_rings : testing::Test {
  checked_pool pool{4095};
  std::optional<port::crossed_rings> rings;
  std::vector<port::port> ports;
  lcore_counters counters;
  buf::burst out;

  void SetUp() override {
    static unsigned made = 0;
    auto joined = port::crossed_rings::make("imp" + std::to_string(made++));
    ASSERT_TRUE(joined) << joined.error().what;
    rings.emplace(std::move(joined.value()));
    for (const std::uint16_t id : {rings->first(), rings->second()}) {
      const std::vector<port::port_facts> facts = {port::read_facts(id).value()};
      auto opened = port::port::open(port::make_plan(facts, {}).value().ports.front(), *pool);
      ASSERT_TRUE(opened) << opened.error().what;
      ports.push_back(std::move(opened.value()));
      ASSERT_TRUE(ports.back().start());
    }
  }
  void TearDown() override {
    out.free_all();
    ports.clear();
    rings.reset();
  }
  void send(std::uint32_t from, unsigned packets) {
    buf::burst in;
    for (unsigned i = 0; i < packets; ++i) ASSERT_TRUE(in.push(numbered(*pool, from + i)));
    ASSERT_EQ(port::tx_burst(rings->first(), 0, in), packets);
  }
};

TEST_F(impaired_rings, receive_takes_from_the_queue_and_hands_over_what_is_due) {
  impairment wire({.delay_ns = 5 * us});
  send(0, 20);
  EXPECT_EQ(wire.receive(rings->second(), 0, out, 32, 0, counters), 0u);
  EXPECT_EQ(wire.waiting_pkts(), 20u);
  send(20, 4);
  EXPECT_EQ(wire.receive(rings->second(), 0, out, 32, 4 * us, counters), 0u);
  EXPECT_EQ(wire.receive(rings->second(), 0, out, 32, 5 * us, counters), 20u);
  EXPECT_EQ(wire.receive(rings->second(), 0, out, 32, 9 * us, counters), 4u);
  for (std::uint32_t i = 0; i < 24; ++i) EXPECT_EQ(number_of(out, i), i);
}

TEST_F(impaired_rings, a_full_wire_leaves_packets_in_the_queue_and_says_so) {
  impairment wire({.delay_ns = 5 * us, .most_held = 16});
  send(0, 40);
  EXPECT_EQ(wire.receive(rings->second(), 0, out, 32, 0, counters), 0u);
  EXPECT_EQ(wire.waiting_pkts(), 16u);
  EXPECT_EQ(wire.figures().full.get(), 0u);
  EXPECT_EQ(wire.receive(rings->second(), 0, out, 32, us, counters), 0u);
  EXPECT_EQ(wire.figures().full.get(), 1u);
  for (std::uint64_t now = 5 * us; out.size() < 40; now += 5 * us) {
    ASSERT_LT(now, 100 * us);
    (void)wire.receive(rings->second(), 0, out, 32, now, counters);
  }
  for (std::uint32_t i = 0; i < 40; ++i) EXPECT_EQ(number_of(out, i), i) << "nothing was lost, all kept its order";
}

}  // namespace
}  // namespace millrace::pipeline
