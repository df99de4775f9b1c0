#include "quic/endpoint/source_limits.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "quic/recovery/types.hpp"

namespace millrace::quic::endpoint {
namespace {

using recovery::ms;
using recovery::second;

constexpr crypto::siphash_key key{1, 2};

base::ip_address v4(std::uint32_t n) {
  const std::array<std::uint8_t, 4> bytes{static_cast<std::uint8_t>(n >> 24), static_cast<std::uint8_t>(n >> 16),
                                          static_cast<std::uint8_t>(n >> 8), static_cast<std::uint8_t>(n)};
  return base::ip_address::v4(bytes);
}
base::ip_address v6(const char* text) { return base::ip_address::parse(text).value_or(base::ip_address{}); }

struct fixture {
  std::vector<source_limits::slot> slots;
  source_limits limits;
  explicit fixture(const source_limits_config& config = {}, std::size_t count = 4096)
      : slots(count), limits(slots, key, config) {}
};

source_limits_config small() {
  source_limits_config out;
  out.source_unproven = {10, 3};
  out.source_handshakes = {10, 2};
  return out;
}

int accepted(source_limits& limits, const base::ip_address& source, bool validated, int tries, std::uint64_t now) {
  int count = 0;
  for (int i = 0; i < tries; ++i)
    if (limits.admit(source, validated, now) == admission::accept) ++count;
  return count;
}

TEST(source_limits, accepts_a_burst_from_one_source_then_asks_for_proof) {  // RFC 9000 8.1.2
  fixture f(small());
  EXPECT_EQ(accepted(f.limits, v4(1), false, 3, 0), 3);
  EXPECT_EQ(f.limits.admit(v4(1), false, 0), admission::retry);
  EXPECT_EQ(f.limits.admit(v4(2), false, 0), admission::accept);  // another has its own
  EXPECT_EQ(f.limits.counters().accepted, 4u);
  EXPECT_EQ(f.limits.counters().retried, 1u);
}

TEST(source_limits, has_another_budget_for_who_comes_with_a_token) {
  fixture f(small());
  accepted(f.limits, v4(1), false, 100, 0);  // somebody writes its address
  EXPECT_EQ(accepted(f.limits, v4(1), true, 2, 0), 2);
  EXPECT_EQ(f.limits.admit(v4(1), true, 0), admission::drop);
  EXPECT_EQ(f.limits.counters().over_source, 1u);
}

TEST(source_limits, gives_budgets_back_with_time) {
  fixture f(small());
  EXPECT_EQ(accepted(f.limits, v4(1), false, 10, 0), 3);
  EXPECT_EQ(accepted(f.limits, v4(1), false, 10, 99 * ms), 0);
  EXPECT_EQ(accepted(f.limits, v4(1), false, 10, 101 * ms), 1);
  EXPECT_EQ(accepted(f.limits, v4(1), false, 10, 100 * second), 3);
}

TEST(source_limits, loses_no_fraction_however_often_it_is_asked) {
  fixture f(small());
  int count = 0;
  for (std::uint64_t now = 0; now < 10 * second; now += ms) count += accepted(f.limits, v4(1), false, 1, now);
  EXPECT_NEAR(count, 103, 2);  // ten a second, and a burst of three
}

TEST(source_limits, adds_nothing_when_time_runs_backwards) {
  fixture f(small());
  EXPECT_EQ(accepted(f.limits, v4(1), false, 10, 10 * second), 3);
  EXPECT_EQ(accepted(f.limits, v4(1), false, 10, 0), 0);
  EXPECT_EQ(accepted(f.limits, v4(1), false, 10, 10 * second), 0);
}

TEST(source_limits, counts_an_ipv6_network_as_one_source) {
  fixture f(small());
  EXPECT_EQ(f.limits.admit(v6("2001:db8:0:1::1"), false, 0), admission::accept);
  EXPECT_EQ(f.limits.admit(v6("2001:db8:0:1::2"), false, 0), admission::accept);
  EXPECT_EQ(f.limits.admit(v6("2001:db8:0:1:ffff::"), false, 0), admission::accept);
  EXPECT_EQ(f.limits.admit(v6("2001:db8:0:1::3"), false, 0), admission::retry);
  EXPECT_EQ(f.limits.admit(v6("2001:db8:0:2::1"), false, 0), admission::accept);
}

TEST(source_limits, retries_everybody_when_told_to_always) {
  source_limits_config config;
  config.retry = retry_mode::always;
  fixture f(config);
  EXPECT_EQ(f.limits.admit(v4(1), false, 0), admission::retry);
  EXPECT_EQ(f.limits.admit(v4(1), true, 0), admission::accept);
}

TEST(source_limits, drops_instead_when_told_never_to_retry) {
  source_limits_config config = small();
  config.retry = retry_mode::never;
  config.retry_above = 1;
  fixture f(config);
  f.limits.on_half_open();
  EXPECT_TRUE(f.limits.is_pressed());
  EXPECT_EQ(accepted(f.limits, v4(1), false, 3, 0), 3);
  EXPECT_EQ(f.limits.admit(v4(1), false, 0), admission::drop);
  EXPECT_EQ(f.limits.counters().retried, 0u);
  EXPECT_EQ(f.limits.counters().over_source, 1u);
}

TEST(source_limits, retries_from_the_upper_watermark_to_the_lower) {
  source_limits_config config;
  config.retry_above = 10;
  config.accept_below = 5;
  fixture f(config);
  for (int i = 0; i < 9; ++i) f.limits.on_half_open();
  EXPECT_EQ(f.limits.admit(v4(1), false, 0), admission::accept);
  f.limits.on_half_open();
  EXPECT_EQ(f.limits.admit(v4(1), false, 0), admission::retry);
  EXPECT_EQ(f.limits.admit(v4(1), true, 0), admission::accept);
  for (int i = 0; i < 5; ++i) f.limits.on_half_open_done();
  EXPECT_EQ(f.limits.half_open(), 5u);
  EXPECT_EQ(f.limits.admit(v4(1), false, 0), admission::retry);
  f.limits.on_half_open_done();
  EXPECT_EQ(f.limits.admit(v4(1), false, 0), admission::accept);
}

TEST(source_limits, lets_newcomers_in_for_others_alone_when_too_many_are_half_open) {
  source_limits_config config;
  config.most_half_open = 3;
  fixture f(config);
  for (int i = 0; i < 3; ++i) f.limits.on_half_open();
  EXPECT_EQ(f.limits.admit(v4(1), true, 0), admission::replace);
  f.limits.on_nobody_gives_way();
  EXPECT_EQ(f.limits.counters().over_half_open, 1u);
  EXPECT_EQ(f.limits.counters().accepted, 0u);
  EXPECT_EQ(f.limits.admit(v4(1), false, 0), admission::retry) << "who comes without a token shows its address first";
  f.limits.on_half_open_done();
  EXPECT_EQ(f.limits.admit(v4(1), true, 0), admission::accept);
  config.retry = retry_mode::never;
  fixture g(config);
  for (int i = 0; i < 3; ++i) g.limits.on_half_open();
  EXPECT_EQ(g.limits.admit(v4(1), false, 0), admission::replace);
}

TEST(source_limits, does_not_count_below_no_half_open_connection) {
  fixture f;
  f.limits.on_half_open_done();
  EXPECT_EQ(f.limits.half_open(), 0u);
}

TEST(source_limits, limits_handshakes_of_all_sources_together) {
  source_limits_config config;
  config.all_handshakes = {100, 50};
  fixture f(config);
  int count = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) count += accepted(f.limits, v4(i), i % 2 == 0, 1, 0);
  EXPECT_EQ(count, 50);
  EXPECT_EQ(f.limits.counters().over_all, 950u);
  EXPECT_EQ(f.limits.admit(v4(5000), false, 10 * ms), admission::accept);
}

TEST(source_limits, limits_answers_to_one_source) {  // RFC 9000 10.3.3, 21
  for (const reply_kind kind : {reply_kind::version_negotiation, reply_kind::stateless_reset}) {
    fixture f(small());
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(f.limits.allow_reply(kind, v4(1), 0));
    EXPECT_FALSE(f.limits.allow_reply(kind, v4(1), 0));
    EXPECT_TRUE(f.limits.allow_reply(kind, v4(2), 0));
    EXPECT_EQ(f.limits.counters().replies[static_cast<std::size_t>(kind)], 4u);
    EXPECT_EQ(f.limits.counters().replies_refused[static_cast<std::size_t>(kind)], 1u);
    EXPECT_TRUE(f.limits.allow_reply(kind, v4(1), second));
  }
}

TEST(source_limits, sends_a_retry_though_the_source_has_no_budget_left) {
  fixture f(small());
  accepted(f.limits, v4(1), false, 100, 0);
  EXPECT_TRUE(f.limits.allow_reply(reply_kind::retry, v4(1), 0));
}

TEST(source_limits, limits_answers_of_each_kind_over_all_sources) {
  source_limits_config config;
  config.all_version_negotiations = {10, 5};
  config.all_retries = {10, 7};
  config.all_stateless_resets = {10, 9};
  fixture f(config);
  for (std::uint32_t kind = 0; kind < 3; ++kind) {
    int sent = 0;
    for (std::uint32_t i = 0; i < 100; ++i)
      if (f.limits.allow_reply(static_cast<reply_kind>(kind), v4(kind << 16 | i), 0)) ++sent;
    EXPECT_EQ(sent, static_cast<int>(5 + 2 * kind));
  }
}

TEST(source_limits, with_a_rate_of_zero_has_no_limit) {
  source_limits_config config;
  config.source_unproven = {};
  config.source_handshakes = {};
  config.all_stateless_resets = {};
  fixture f(config);
  EXPECT_EQ(accepted(f.limits, v4(1), false, 1000, 0), 1000);
  EXPECT_EQ(accepted(f.limits, v4(1), true, 1000, 0), 1000);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(f.limits.allow_reply(reply_kind::stateless_reset, v4(1), 0));
}

TEST(source_limits, without_a_table_knows_only_the_budgets_of_all) {
  for (const std::size_t count : {0u, 3u}) {
    fixture f(small(), count);
    EXPECT_EQ(accepted(f.limits, v4(1), false, 100, 0), 100);
  }
}

TEST(source_limits, remembers_the_busy_when_quiet_sources_pass_by) {
  fixture f(small(), 4);  // one set
  EXPECT_EQ(accepted(f.limits, v4(1), false, 10, 0), 3);
  for (std::uint32_t i = 2; i < 1000; ++i) EXPECT_EQ(f.limits.admit(v4(i), false, 0), admission::accept);
  EXPECT_EQ(f.limits.admit(v4(1), false, 0), admission::retry);
  EXPECT_GT(f.limits.counters().evicted, 900u);
}

TEST(source_limits, forgets_for_nothing_who_was_quiet_long_enough) {
  fixture f(small(), 4);
  for (std::uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(f.limits.admit(v4(i), false, i * second), admission::accept);
  EXPECT_EQ(f.limits.counters().evicted, 0u);
}

TEST(source_limits, spreads_sources_over_its_table) {
  fixture f(small(), 4096);
  for (std::uint32_t i = 0; i < 1024; ++i) static_cast<void>(f.limits.admit(v4(0x0A000000 + i), false, 0));
  EXPECT_LT(f.limits.counters().evicted, 30u);  // a quarter full, four ways
  std::size_t used = 0;
  for (const source_limits::slot& s : f.slots) used += s.tag != 0 ? 1 : 0;
  EXPECT_GT(used, 990u);
}

TEST(source_limits, tells_families_apart) {
  fixture f(small());
  const std::array<std::uint8_t, 16> bytes{10, 0, 0, 1};
  EXPECT_EQ(accepted(f.limits, base::ip_address::v4(base::byte_view(bytes).first(4)), false, 5, 0), 3);
  EXPECT_EQ(accepted(f.limits, base::ip_address::v6(bytes), false, 5, 0), 3);
}

TEST(source_limits, survives_rates_and_bursts_of_any_size) {
  source_limits_config config;
  config.source_unproven = {UINT32_MAX, UINT32_MAX};
  config.source_handshakes = {1, 0};
  config.all_handshakes = {UINT32_MAX, UINT32_MAX};
  fixture f(config);
  EXPECT_EQ(accepted(f.limits, v4(1), false, 70'000, 0), 65'535);
  EXPECT_EQ(accepted(f.limits, v4(1), false, 10, ms), 10);
  EXPECT_EQ(accepted(f.limits, v4(1), true, 10, UINT64_MAX), 1);
}

}  // namespace
}  // namespace millrace::quic::endpoint
