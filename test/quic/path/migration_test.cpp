#include "quic/path/migration.hpp"

#include <gtest/gtest.h>

#include <set>

#include "quic/path/ids.hpp"
#include "support/seeded.hpp"

namespace millrace::quic::path {
namespace {

using recovery::ms;
using recovery::second;
using step = migration::step;
using test::endpoint_of;

const base::endpoint server = endpoint_of("192.0.2.1", 443);
const path_address home{server, endpoint_of("198.51.100.1", 1000)};
const path_address rebound{server, endpoint_of("198.51.100.1", 1001)};
const path_address abroad{server, endpoint_of("203.0.113.9", 1000)};
const path_address preferred{endpoint_of("192.0.2.2", 443), endpoint_of("198.51.100.1", 1000)};

path_address other(std::uint16_t n) { return {server, endpoint_of("203.0.113.77", n)}; }

class migration_of_a_client : public testing::Test {
 protected:
  migration m_{home, 0};
  std::uint64_t number_ = 0;
  std::uint64_t now_ = 0;

  void SetUp() override { m_.on_validated(m_.active(), 0); }
  migration::decision data(const path_address& from) {
    return m_.on_packet({from, ++number_, false, true, now_ += ms});
  }
  migration::decision probe(const path_address& from) {
    return m_.on_packet({from, ++number_, true, true, now_ += ms});
  }
};

TEST_F(migration_of_a_client, is_none_while_packets_come_from_home) {
  for (int i = 0; i < 100; ++i) {
    const auto d = data(home);
    ASSERT_EQ(d.what, step::stay);
    ASSERT_EQ(d.slot, m_.active());
  }
  EXPECT_EQ(m_.info(m_.active()).last_ns, now_);
}

TEST_F(migration_of_a_client, follows_the_newest_packet_that_is_no_probe) {  // RFC 9000 9.3
  const path_slot old = m_.active();
  const auto d = data(abroad);
  EXPECT_EQ(d.what, step::move);
  EXPECT_TRUE(d.fresh && d.validate && d.validate_old);
  EXPECT_FALSE(d.keep_congestion || d.may_share_cid || d.has_evicted || d.refused);
  EXPECT_EQ(d.old, old);
  EXPECT_EQ(d.slot, m_.active());
  EXPECT_EQ(m_.info(m_.active()).address, abroad);
  EXPECT_EQ(m_.info(old).role, path_role::previous);
  EXPECT_FALSE(m_.info(m_.active()).validated);
  EXPECT_EQ(m_.counters().changes, 1u);
}

TEST_F(migration_of_a_client, keeps_congestion_and_may_keep_its_id_when_only_the_port_changed) {  // RFC 9000 9.4, 9.5
  const auto d = data(rebound);
  EXPECT_EQ(d.what, step::move);
  EXPECT_TRUE(d.validate && d.validate_old && d.keep_congestion && d.may_share_cid);
  EXPECT_EQ(m_.counters().rebindings, 1u);
  EXPECT_EQ(m_.counters().changes, 0u);
}

TEST_F(migration_of_a_client, is_not_made_by_probes_but_answered) {  // RFC 9000 9.1
  const path_slot old = m_.active();
  const auto d = probe(abroad);
  EXPECT_EQ(d.what, step::probe);
  EXPECT_TRUE(d.fresh);
  EXPECT_FALSE(d.validate);
  EXPECT_EQ(m_.active(), old);
  EXPECT_EQ(m_.info(d.slot).role, path_role::candidate);
  const auto again = probe(abroad);
  EXPECT_EQ(again.what, step::probe);
  EXPECT_FALSE(again.fresh);
  EXPECT_EQ(again.slot, d.slot);
  const auto moved = data(abroad);
  EXPECT_EQ(moved.what, step::move);
  EXPECT_FALSE(moved.fresh);
  EXPECT_EQ(moved.slot, d.slot);
  EXPECT_TRUE(moved.validate);
}

TEST_F(migration_of_a_client, needs_no_validation_of_a_path_probed_and_proven_before) {  // RFC 9000 9.3
  const auto d = probe(abroad);
  m_.on_validated(d.slot, now_);
  const auto moved = data(abroad);
  EXPECT_EQ(moved.what, step::move);
  EXPECT_FALSE(moved.validate);
  EXPECT_TRUE(moved.validate_old);
}

TEST_F(migration_of_a_client, is_not_made_by_an_older_packet_that_comes_late) {  // RFC 9000 9.3
  number_ = 100;
  EXPECT_EQ(data(abroad).what, step::move);
  const auto late = m_.on_packet({home, 50, false, true, ++now_});
  EXPECT_EQ(late.what, step::probe);
  EXPECT_EQ(m_.info(m_.active()).address, abroad);
  const auto late_from_elsewhere = m_.on_packet({other(1), 60, false, true, ++now_});
  EXPECT_EQ(late_from_elsewhere.what, step::probe);
  EXPECT_TRUE(late_from_elsewhere.fresh);
  EXPECT_EQ(m_.info(m_.active()).address, abroad);
  EXPECT_EQ(m_.on_packet({home, 102, false, true, ++now_}).what, step::move);
}

TEST_F(migration_of_a_client, goes_back_to_a_proven_path_for_nothing) {
  for (int i = 0; i < 100; ++i) {
    const auto d = data(abroad);
    ASSERT_EQ(d.what, step::move);
    m_.on_validated(d.slot, now_);
    const auto back = data(home);
    ASSERT_EQ(back.what, step::move);
    ASSERT_FALSE(back.validate || back.fresh);
  }
  EXPECT_EQ(m_.counters().refused, 0u);
  EXPECT_EQ(m_.counters().changes, 1u);
  EXPECT_EQ(m_.counters().returns, 199u);
}

TEST_F(migration_of_a_client, is_undone_when_validation_fails) {  // RFC 9000 9.3.2
  const path_slot old = m_.active();
  const auto d = data(abroad);
  const auto f = m_.on_failed(d.slot);
  EXPECT_TRUE(f.moved && f.removed);
  EXPECT_FALSE(f.no_path);
  EXPECT_EQ(m_.active(), old);
  EXPECT_EQ(m_.info(old).role, path_role::active);
  EXPECT_FALSE(m_.is_current(d.slot));
  EXPECT_EQ(m_.find(abroad), std::nullopt);
  EXPECT_EQ(m_.counters().reverts, 1u);
  EXPECT_FALSE(m_.on_failed(d.slot).removed);  // once
}

TEST_F(migration_of_a_client, is_undone_to_the_path_proven_last) {  // RFC 9000 9.3.2
  const auto first = data(abroad);
  m_.on_validated(first.slot, now_);
  const auto second_move = data(other(5));
  const auto f = m_.on_failed(second_move.slot);
  EXPECT_TRUE(f.moved);
  EXPECT_EQ(m_.active(), first.slot);
}

TEST_F(migration_of_a_client, ends_the_connection_when_no_proven_path_is_left) {  // RFC 9000 9.3.2
  const path_slot old = m_.active();
  const auto d = data(abroad);
  const auto gone = m_.on_failed(old);
  EXPECT_TRUE(gone.removed);
  EXPECT_FALSE(gone.moved || gone.no_path);
  const auto f = m_.on_failed(d.slot);
  EXPECT_TRUE(f.no_path);
  EXPECT_FALSE(f.moved || f.removed);
  EXPECT_TRUE(m_.is_current(m_.active()));
}

TEST_F(migration_of_a_client, asks_the_old_path_only_when_it_was_proven) {  // RFC 9000 9.3.3
  EXPECT_TRUE(data(abroad).validate_old);
  EXPECT_FALSE(data(other(1)).validate_old);
}

TEST_F(migration_of_a_client, is_limited_and_allowed_again_with_time) {
  int moves = 0;
  for (std::uint16_t i = 1; i < 100; ++i)
    if (data(other(i)).what == step::move) ++moves;
  EXPECT_EQ(moves, 8);
  EXPECT_EQ(m_.counters().refused, 91u);
  const auto refused = data(other(500));
  EXPECT_EQ(refused.what, step::stay);
  EXPECT_TRUE(refused.refused);
  EXPECT_EQ(refused.slot, m_.active());
  EXPECT_EQ(m_.find(other(500)), std::nullopt);
  now_ += second;
  EXPECT_EQ(data(other(501)).what, step::move);
  EXPECT_EQ(data(other(502)).what, step::stay);
  now_ += 1000 * second;
  moves = 0;
  for (std::uint16_t i = 1000; i < 1100; ++i)
    if (data(other(i)).what == step::move) ++moves;
  EXPECT_EQ(moves, 8);
}

TEST_F(migration_of_a_client, pays_for_each_move_between_unproven_paths) {
  int moves = 0;
  for (int i = 0; i < 100; ++i)
    if (data(other(static_cast<std::uint16_t>(1 + i % 2))).what == step::move) ++moves;
  EXPECT_EQ(moves, 8);
}

TEST_F(migration_of_a_client, that_only_probes_is_limited_too) {
  int fresh = 0;
  for (std::uint16_t i = 1; i < 100; ++i)
    if (probe(other(i)).fresh) ++fresh;
  EXPECT_EQ(fresh, 8);
  EXPECT_EQ(m_.info(m_.active()).address, home);
}

TEST_F(migration_of_a_client, gives_up_the_oldest_candidate_for_a_new_one) {
  std::vector<path_slot> slots;
  for (std::uint16_t i = 1; i <= 3; ++i) slots.push_back(probe(other(i)).slot);
  const auto d = probe(other(4));
  EXPECT_TRUE(d.fresh && d.has_evicted);
  EXPECT_EQ(d.evicted, slots[0]);
  EXPECT_EQ(d.slot.index, slots[0].index);
  EXPECT_NE(d.slot.generation, slots[0].generation);
  EXPECT_FALSE(m_.is_current(slots[0]));
  EXPECT_TRUE(m_.is_current(slots[1]) && m_.is_current(slots[2]));
  m_.on_validated(slots[0], now_);  // late news of a path that is gone
  EXPECT_FALSE(m_.info(d.slot).validated);
  EXPECT_FALSE(m_.on_failed(slots[0]).removed);
  EXPECT_EQ(m_.counters().evicted, 1u);
}

TEST_F(migration_of_a_client, never_gives_up_the_active_path_or_the_one_to_fall_back_to) {
  const path_slot first = m_.active();
  const auto d = data(abroad);
  for (std::uint16_t i = 1; i < 50; ++i, now_ += second) probe(other(i));
  EXPECT_TRUE(m_.is_current(first));
  EXPECT_EQ(m_.active(), d.slot);
  EXPECT_TRUE(m_.on_failed(d.slot).moved);
  EXPECT_EQ(m_.active(), first);
}

TEST(migration, drops_packets_from_elsewhere_before_the_handshake_is_confirmed) {  // RFC 9000 9
  migration m(home, 0);
  for (const path_address& from : {rebound, abroad, preferred}) {
    const auto d = m.on_packet({from, 5, false, false, 1});
    EXPECT_EQ(d.what, step::drop);
    EXPECT_EQ(d.slot, m.active());
  }
  EXPECT_EQ(m.on_packet({home, 1, true, false, 1}).what, step::stay);
  EXPECT_EQ(m.counters().dropped, 3u);
  // What was dropped does not make later packets old ones.
  m.on_validated(m.active(), 1);
  EXPECT_EQ(m.on_packet({abroad, 4, false, true, 1}).what, step::move);
}

TEST(migration, that_is_disabled_follows_rebinding_and_the_preferred_address_only) {  // RFC 9000 9, 18.2
  migration m(home, 0, {.disabled = true});
  EXPECT_EQ(m.on_packet({abroad, 1, false, true, 1}).what, step::drop);
  EXPECT_EQ(m.on_packet({abroad, 2, true, true, 1}).what, step::drop);
  EXPECT_EQ(m.on_packet({rebound, 3, false, true, 1}).what, step::move);
  EXPECT_EQ(m.on_packet({preferred, 4, false, true, 1}).what, step::move);
  EXPECT_EQ(m.counters().dropped, 2u);
  migration strict(home, 0, {.disabled = true, .follow_rebinding = false});
  EXPECT_EQ(strict.on_packet({rebound, 1, false, true, 1}).what, step::drop);
}

TEST(migration, to_the_preferred_address_is_no_rebinding) {  // RFC 9000 9.6
  migration m(home, 0);
  const auto d = m.on_packet({preferred, 1, false, true, 1});
  EXPECT_EQ(d.what, step::move);
  EXPECT_FALSE(d.keep_congestion || d.may_share_cid);
}

TEST(migration, takes_packet_number_0_as_the_first) {
  migration m(home, 0);
  EXPECT_EQ(m.on_packet({abroad, 0, false, true, 1}).what, step::move);
  EXPECT_EQ(m.on_packet({home, 0, false, true, 1}).what, step::probe);
}

TEST(migration, without_changes_allowed_stays_where_it_is) {
  migration m(home, 0, {.changes = 0});
  EXPECT_TRUE(m.on_packet({abroad, 1, false, true, 100 * second}).refused);
  EXPECT_EQ(m.info(m.active()).address, home);
}

TEST(path_role, goes_where_the_drawing_shows_and_nowhere_else) {
  using role = path_role;
  using event = path_event;
  const std::set<std::tuple<role, event, role>> drawn{
      {role::unused, event::probe, role::candidate},     {role::unused, event::move, role::active},
      {role::candidate, event::probe, role::candidate},  {role::candidate, event::move, role::active},
      {role::candidate, event::failed, role::unused},    {role::candidate, event::evict, role::unused},
      {role::active, event::probe, role::active},        {role::active, event::move, role::active},
      {role::active, event::moved_away, role::previous}, {role::active, event::failed, role::unused},
      {role::previous, event::probe, role::previous},    {role::previous, event::move, role::active},
      {role::previous, event::failed, role::unused},     {role::previous, event::evict, role::unused}};
  std::set<std::tuple<role, event, role>> found;
  for (int r = 0; r < 4; ++r)
    for (int e = 0; e < 5; ++e)
      if (const auto to = next(static_cast<role>(r), static_cast<event>(e)))
        found.insert({static_cast<role>(r), static_cast<event>(e), *to});
  EXPECT_EQ(found, drawn);
}

TEST(migration, keeps_one_active_path_in_any_order_of_events) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    test::seeded random(seed);
    migration m(home, 0);
    m.on_validated(m.active(), 0);
    std::uint64_t now = 0;
    std::uint64_t number = 10;
    std::vector<path_slot> known{m.active()};
    for (int i = 0; i < 300; ++i) {
      now += random.below(2 * second);
      const std::size_t what = random.below(8);
      if (what < 5) {
        const auto from = random.below(4) == 0 ? home : other(static_cast<std::uint16_t>(random.below(9)));
        number += random.below(3);
        const path_slot before = m.active();
        const auto d = m.on_packet({from, number - random.below(4), random.below(2) == 0, random.below(9) != 0, now});
        if (d.what != step::move) {
          ASSERT_EQ(m.active(), before) << seed;
        } else {
          ASSERT_EQ(d.old, before);
          ASSERT_EQ(d.slot, m.active());
          ASSERT_EQ(m.info(d.slot).address, from);
        }
        if (d.has_evicted) {
          ASSERT_FALSE(m.is_current(d.evicted)) << seed;
          ASSERT_NE(d.evicted, before);
        }
        ASSERT_TRUE(m.is_current(d.slot)) << seed;
        known.push_back(d.slot);
      } else if (what < 7) {
        m.on_validated(known[random.below(known.size())], now);
      } else {
        static_cast<void>(m.on_failed(known[random.below(known.size())]));
      }
      int active = 0;
      for (const path_info& path : m.paths()) active += path.role == path_role::active ? 1 : 0;
      ASSERT_EQ(active, 1) << seed;
      ASSERT_EQ(m.info(m.active()).role, path_role::active);
    }
  }
}

}  // namespace
}  // namespace millrace::quic::path
