#include "base/timer_wheel.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "support/seeded.hpp"

namespace millrace::base {
namespace {

constexpr std::uint32_t plenty = UINT32_MAX;

struct wheel {
  std::vector<timer_node> nodes;
  timer_wheel timers;

  explicit wheel(std::size_t capacity = 16, unsigned shift = 0, std::uint64_t now = 0)
      : nodes(capacity), timers(nodes, shift, now) {}

  // Cookies fired at `now`, in order.
  std::vector<std::uint64_t> at(std::uint64_t now) {
    std::vector<std::uint64_t> fired;
    const timer_turn did = timers.turn(now, plenty, [&](std::uint64_t cookie) { fired.push_back(cookie); });
    EXPECT_EQ(did.fired, fired.size());
    EXPECT_FALSE(did.carried);
    return fired;
  }
};

using cookies = std::vector<std::uint64_t>;

TEST(timer_wheel, fires_in_the_turn_that_reaches_the_deadline_and_not_before) {
  wheel w;
  ASSERT_TRUE(w.timers.arm(100, 7));
  EXPECT_EQ(w.at(99), cookies{});
  EXPECT_EQ(w.at(100), cookies{7});
  EXPECT_EQ(w.at(101), cookies{});
  EXPECT_EQ(w.timers.size(), 0u);
}

TEST(timer_wheel, fires_what_is_due_at_once_in_the_next_turn) {
  wheel w(16, 0, 1000);
  ASSERT_TRUE(w.timers.arm(1000, 1));  // now
  ASSERT_TRUE(w.timers.arm(3, 2));     // long gone
  EXPECT_LE(w.timers.next_turn(), 1000u);
  EXPECT_EQ(w.at(1000), (cookies{1, 2}));
}

TEST(timer_wheel, leaves_what_a_due_timer_arms_at_once_to_the_next_turn) {
  wheel w;
  int fired = 0;
  const auto again = [&](std::uint64_t) {
    ++fired;
    ASSERT_TRUE(w.timers.arm(5, 1));
  };
  ASSERT_TRUE(w.timers.arm(5, 1));
  for (int turn = 1; turn <= 3; ++turn) {
    const timer_turn did = w.timers.turn(10, plenty, again);
    EXPECT_EQ(fired, turn);
    EXPECT_FALSE(did.carried);
  }
}

TEST(timer_wheel, rounds_deadlines_up_and_time_down_to_a_tick) {
  wheel w(16, 10);  // ticks of 1024
  ASSERT_TRUE(w.timers.arm(1024, 1));
  ASSERT_TRUE(w.timers.arm(1025, 2));
  ASSERT_TRUE(w.timers.arm(2048, 3));
  EXPECT_EQ(w.timers.next_turn(), 1024u);
  EXPECT_EQ(w.at(1023), cookies{});
  EXPECT_EQ(w.at(1024), cookies{1});
  EXPECT_EQ(w.at(2047), cookies{});
  EXPECT_EQ(w.at(2048), (cookies{2, 3}));
}

TEST(timer_wheel, refuses_handles_of_timers_that_are_gone) {
  wheel w(1);
  const timer_handle first = w.timers.arm(10, 1);
  EXPECT_TRUE(w.timers.is_armed(first));
  EXPECT_TRUE(w.timers.cancel(first));
  EXPECT_FALSE(w.timers.cancel(first));
  const timer_handle second = w.timers.arm(20, 2);  // the same node
  ASSERT_TRUE(second);
  EXPECT_FALSE(w.timers.is_armed(first));
  EXPECT_FALSE(w.timers.cancel(first));
  EXPECT_FALSE(w.timers.rearm(first, 99));
  EXPECT_EQ(w.at(20), cookies{2});
  EXPECT_FALSE(w.timers.is_armed(second));
  EXPECT_FALSE(w.timers.rearm(second, 99));
  EXPECT_FALSE(w.timers.cancel(timer_handle{}));
}

TEST(timer_wheel, refuses_and_counts_when_every_node_is_in_use) {
  wheel w(2);
  const timer_handle one = w.timers.arm(10, 1);
  ASSERT_TRUE(w.timers.arm(11, 2));
  EXPECT_FALSE(w.timers.arm(12, 3));
  EXPECT_EQ(w.timers.refused(), 1u);
  EXPECT_TRUE(w.timers.cancel(one));
  EXPECT_TRUE(w.timers.arm(12, 3));
  EXPECT_EQ(w.at(12), (cookies{2, 3}));
  std::span<timer_node> no_memory;
  timer_wheel nothing(no_memory, 0, 0);
  EXPECT_FALSE(nothing.arm(1, 1));
}

TEST(timer_wheel, stands_still_when_time_goes_back) {
  wheel w;
  ASSERT_TRUE(w.timers.arm(100, 1));
  ASSERT_TRUE(w.timers.arm(300, 3));
  EXPECT_EQ(w.at(200), cookies{1});
  EXPECT_EQ(w.at(0), cookies{});
  ASSERT_TRUE(w.timers.arm(250, 2));
  EXPECT_EQ(w.at(249), cookies{});
  EXPECT_EQ(w.at(250), cookies{2});
  EXPECT_EQ(w.at(10), cookies{});
  EXPECT_EQ(w.at(300), cookies{3});
}

TEST(timer_wheel, jumps_over_all_levels_at_once) {
  wheel w(128);
  cookies all;
  for (unsigned bit = 0; bit < 64; ++bit) {
    ASSERT_TRUE(w.timers.arm(std::uint64_t{1} << bit, bit));
    all.push_back(bit);
  }
  ASSERT_TRUE(w.timers.arm(UINT64_MAX, 64));
  all.push_back(64);
  EXPECT_EQ(w.at(UINT64_MAX), all) << "in the order of their ticks";
  EXPECT_EQ(w.timers.next_turn(), timer_wheel::never);
}

TEST(timer_wheel, says_when_to_look_again_never_too_late) {
  wheel w(128, 3);
  EXPECT_EQ(w.timers.next_turn(), timer_wheel::never);
  for (unsigned bit = 63; bit >= 4; --bit) ASSERT_TRUE(w.timers.arm((std::uint64_t{1} << bit) + 8, bit));
  std::uint64_t now = 0;
  unsigned expected = 4;
  for (int turns = 0; expected < 64; ++turns) {
    ASSERT_LT(turns, 64 * 11) << "a level a wake-up at most";
    now = w.timers.next_turn();
    ASSERT_LE(now, (std::uint64_t{1} << expected) + 8);
    for (const std::uint64_t cookie : w.at(now)) {
      EXPECT_EQ(cookie, expected++);
      EXPECT_EQ(now, (std::uint64_t{1} << cookie) + 8);
    }
  }
}

TEST(timer_wheel, lets_a_due_timer_cancel_and_move_its_neighbours) {
  wheel w;
  std::vector<timer_handle> handles(5);
  for (std::uint64_t i = 0; i < 5; ++i) handles[i] = w.timers.arm(50, i);
  cookies fired;
  w.timers.turn(60, plenty, [&](std::uint64_t cookie) {
    fired.push_back(cookie);
    if (cookie != 0) return;
    EXPECT_TRUE(w.timers.cancel(handles[1]));
    EXPECT_TRUE(w.timers.rearm(handles[2], 70));
    EXPECT_TRUE(w.timers.rearm(handles[3], 55));  // has passed: next turn
    EXPECT_FALSE(w.timers.cancel(handles[0]));
  });
  EXPECT_EQ(fired, (cookies{0, 4}));
  EXPECT_EQ(w.at(60), cookies{3});
  EXPECT_EQ(w.at(70), cookies{2});
}

TEST(timer_wheel, bounds_the_work_of_a_turn_and_carries_the_rest) {
  constexpr std::size_t count = 10'000;
  wheel w(count);
  for (std::size_t i = 0; i < count; ++i) ASSERT_TRUE(w.timers.arm(1'000'000, i));
  std::size_t fired = 0;
  std::size_t turns = 0;
  for (bool carried = true; carried; ++turns) {
    const timer_turn did = w.timers.turn(1'000'000, 100, [&](std::uint64_t) { ++fired; });
    EXPECT_LE(did.steps, 100u);
    carried = did.carried;
    if (carried) {
      EXPECT_LE(w.timers.next_turn(), 1'000'000u);
    }
    ASSERT_LT(turns, count);
  }
  EXPECT_EQ(fired, count);
  EXPECT_GE(turns, count / 100);
}

TEST(timer_wheel, keeps_order_of_time_while_work_is_carried) {
  wheel w(64);
  ASSERT_TRUE(w.timers.arm(4096 * 2 + 7, 2));  // both in one slot two levels up, the later one first
  ASSERT_TRUE(w.timers.arm(4096 * 2 + 3, 1));
  ASSERT_TRUE(w.timers.arm(4096 * 3, 3));
  cookies fired;
  for (int i = 0; i < 50; ++i) w.timers.turn(20'000, 1, [&](std::uint64_t cookie) { fired.push_back(cookie); });
  EXPECT_EQ(fired, (cookies{1, 2, 3}));
}

// The same operations on a sorted map, which says what must have fired after every turn.
struct model {
  std::multimap<std::uint64_t, std::uint64_t> due;  // tick, cookie
  std::unordered_map<std::uint64_t, std::multimap<std::uint64_t, std::uint64_t>::iterator> by_cookie;

  void arm(std::uint64_t tick, std::uint64_t cookie) { by_cookie[cookie] = due.emplace(tick, cookie); }
  void cancel(std::uint64_t cookie) {
    due.erase(by_cookie.at(cookie));
    by_cookie.erase(cookie);
  }
  std::set<std::uint64_t> pop(std::uint64_t tick) {
    std::set<std::uint64_t> out;
    while (!due.empty() && due.begin()->first <= tick) {
      out.insert(due.begin()->second);
      by_cookie.erase(due.begin()->second);
      due.erase(due.begin());
    }
    return out;
  }
};

void compare_with_model(std::uint64_t seed, unsigned shift) {
  SCOPED_TRACE("seed " + std::to_string(seed) + " shift " + std::to_string(shift));
  test::seeded random(seed);
  constexpr std::size_t capacity = 500;
  const std::uint64_t start = random.below(2) == 0 ? 0 : random.next() >> random.below(64);
  wheel w(capacity, shift, start);
  model m;
  std::unordered_map<std::uint64_t, timer_handle> handles;
  std::vector<timer_handle> stale;
  std::uint64_t now = start;
  std::uint64_t latest = start >> shift;
  std::uint64_t next_cookie = 0;
  const std::uint64_t mask = (std::uint64_t{1} << shift) - 1;
  const auto deadline = [&] {
    const std::uint64_t ahead = random.next() >> random.below(64);
    if (random.below(16) == 0) return ahead;  // anywhere, also long gone
    return now > UINT64_MAX - ahead ? UINT64_MAX : now + ahead;
  };
  const auto tick = [&](std::uint64_t at) { return (at >> shift) + ((at & mask) != 0 ? 1 : 0); };
  const auto any = [&] {
    auto it = handles.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random.below(std::min<std::size_t>(handles.size(), 20))));
    return it;
  };
  for (int step = 0; step < 3000; ++step) {
    const std::size_t what = random.below(10);
    if (what < 5) {
      const std::uint64_t at = deadline();
      const timer_handle made = w.timers.arm(at, next_cookie);
      ASSERT_EQ(static_cast<bool>(made), handles.size() < capacity);
      if (!made) continue;
      m.arm(tick(at), next_cookie);
      handles[next_cookie++] = made;
    } else if (what < 6 && !handles.empty()) {
      const auto it = any();
      ASSERT_TRUE(w.timers.cancel(it->second));
      m.cancel(it->first);
      stale.push_back(it->second);
      handles.erase(it);
    } else if (what < 7 && !handles.empty()) {
      const auto it = any();
      const std::uint64_t at = deadline();
      ASSERT_TRUE(w.timers.rearm(it->second, at));
      m.cancel(it->first);
      m.arm(tick(at), it->first);
    } else {
      if (random.below(8) == 0) {
        now -= std::min(now, random.next() >> random.below(64));  // back
      } else {
        const std::uint64_t ahead = random.next() >> (random.below(40) == 0 ? random.below(64) : 40 + random.below(24));
        now = now > UINT64_MAX - ahead ? UINT64_MAX : now + ahead;
      }
      latest = std::max(latest, now >> shift);
      std::set<std::uint64_t> fired;
      const auto on_due = [&](std::uint64_t cookie) { EXPECT_TRUE(fired.insert(cookie).second); };
      while (w.timers.turn(now, 1 + static_cast<std::uint32_t>(random.below(50)), on_due).carried) {
      }
      ASSERT_EQ(fired, m.pop(latest)) << "step " << step;
      for (const std::uint64_t cookie : fired) {
        stale.push_back(handles.at(cookie));
        handles.erase(cookie);
      }
    }
    ASSERT_EQ(w.timers.size(), handles.size());
    if (!stale.empty()) {
      const timer_handle gone = stale[random.below(stale.size())];
      ASSERT_FALSE(w.timers.is_armed(gone));
      ASSERT_FALSE(w.timers.cancel(gone));
    }
    if (!m.due.empty() && m.due.begin()->first <= UINT64_MAX >> shift) {
      ASSERT_LE(w.timers.next_turn(), std::max(m.due.begin()->first, latest) << shift);
    }
  }
}

TEST(timer_wheel, does_what_a_sorted_map_does) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    for (const unsigned shift : {0u, 10u, 21u}) compare_with_model(seed, shift);
}

TEST(timer_wheel, finds_the_shift_of_a_tick) {
  EXPECT_EQ(timer_wheel::shift_for(0), 0u);
  EXPECT_EQ(timer_wheel::shift_for(1), 0u);
  EXPECT_EQ(timer_wheel::shift_for(1'000'000), 19u);
  EXPECT_EQ(timer_wheel::shift_for(UINT64_MAX), 63u);
}

}  // namespace
}  // namespace millrace::base
