// base/timer_wheel.hpp - millions of timers of one lcore: armed, moved and cancelled in O(1), in memory of the caller.
//
// Shape    11 levels of 64 slots. A timer stands at the level of the highest 6-bit digit in which its tick differs from
//          the wheel's, in the slot that digit names. So levels are in order of time, slots too, and a bit set a level
//          finds the next one however far away it is: a jump of the clock costs what is due, not the ticks between.
// Where    base, because protocol rooms keep timers too; whoever makes one puts the nodes in pool memory (mem::region).
// Time     passed in, in the caller's unit (TSC ticks, ns); a wheel tick is 2^tick_shift of them. A timer fires in the
//          first turn whose time has reached its deadline rounded up to a tick: never early, at most one tick late if
//          turns are. A deadline that has passed fires in the next turn, not in the turn that armed it. Time that goes
//          back stands still. No order among timers of one tick.
// Work     turn() does at most `max_steps` steps and carries the rest over; a step fires one timer or moves one a level
//          down. A timer is moved at most 10 times in its life, one armed within 64 ticks never.
// Owner    nodes are the caller's, outlive the wheel, and are its alone. A handle is a number: one that fired, was
//          cancelled or never was is refused, also after its node serves another timer (2^32 reuses later it is not).
// Errors   arm(): an empty handle when all nodes are in use, counted. cancel(), rearm(): false for a stale handle.
// Threads  one. Tests  test/base/timer_wheel_test.cpp      Bench  bench/base/timer_wheel_bench.cpp
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/fetch_ahead.hpp"

namespace millrace::base {

struct timer_node {
  std::uint64_t tick;      // of its deadline
  std::uint64_t cookie;    // the owner's
  std::uint32_t next;      // in its list, or among the free
  std::uint32_t previous;  // unused among the free
  std::uint32_t generation;
  std::uint32_t list;  // which it stands in
};
static_assert(sizeof(timer_node) == 32, "two to a cache line: a million timers are 32 MB");

class timer_handle {
  std::uint32_t node_ = 0;
  std::uint32_t generation_ = 0;  // 0: empty
  friend class timer_wheel;
  constexpr timer_handle(std::uint32_t node, std::uint32_t generation) noexcept
      : node_(node), generation_(generation) {}

 public:
  constexpr timer_handle() noexcept = default;
  [[nodiscard]] explicit constexpr operator bool() const noexcept { return generation_ != 0; }
  friend constexpr bool operator==(timer_handle, timer_handle) noexcept = default;
};

struct timer_turn {
  std::uint32_t fired = 0;
  std::uint32_t steps = 0;  // fired, and moved a level down
  bool carried = false;     // max_steps ended it: there may be more to do at this very time
};

class timer_wheel {
 public:
  static constexpr unsigned bits_per_level = 6;
  static constexpr unsigned slots = 1u << bits_per_level;
  static constexpr unsigned levels = 11;  // 66 bits: every tick has its place
  static constexpr std::uint64_t never = UINT64_MAX;

  // `now` is where time begins. Nodes need no content.
  timer_wheel(std::span<timer_node> nodes, unsigned tick_shift, std::uint64_t now) noexcept
      : nodes_(nodes), shift_(tick_shift & 63), at_(now >> shift_), now_(at_) {
    lists_.fill({none, none});
  }
  timer_wheel(const timer_wheel&) = delete;
  timer_wheel& operator=(const timer_wheel&) = delete;

  // The largest shift whose tick is at most `units` (at least 1) of the caller's time.
  [[nodiscard]] static constexpr unsigned shift_for(std::uint64_t units) noexcept {
    return units == 0 ? 0 : static_cast<unsigned>(std::bit_width(units)) - 1;
  }

  [[nodiscard]] timer_handle arm(std::uint64_t deadline, std::uint64_t cookie) noexcept {
    std::uint32_t n = free_;
    if (n != none) {
      free_ = nodes_[n].next;
    } else if (fresh_ < nodes_.size() && fresh_ < node_limit) {
      n = fresh_++;
      nodes_[n].generation = 1;
    } else {
      ++refused_;
      return {};
    }
    timer_node& node = nodes_[n];
    node.cookie = cookie;
    place(n, tick_of(deadline));
    ++size_;
    return {n, node.generation};
  }

  bool cancel(timer_handle timer) noexcept {
    if (!is_armed(timer)) return false;
    unlink(timer.node_);
    release(timer.node_);
    return true;
  }

  // Another deadline, earlier or later, for the same timer.
  bool rearm(timer_handle timer, std::uint64_t deadline) noexcept {
    if (!is_armed(timer)) return false;
    const std::uint64_t tick = tick_of(deadline);
    if (nodes_[timer.node_].tick == tick && tick > now_) return true;
    unlink(timer.node_);
    place(timer.node_, tick);
    return true;
  }

  void fetch_ahead(timer_handle timer) const noexcept {
    if (timer.node_ < fresh_) base::fetch_ahead(&nodes_[timer.node_], sizeof(timer_node));
  }
  [[nodiscard]] bool is_armed(timer_handle timer) const noexcept {
    return timer.generation_ != 0 && timer.node_ < fresh_ && nodes_[timer.node_].generation == timer.generation_ &&
           nodes_[timer.node_].list != none;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }  // armed
  [[nodiscard]] std::size_t capacity() const noexcept { return nodes_.size(); }
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }

  // Calls on_due(cookie) for each timer that is due at `now`. The timer is gone by then: the call may arm, rearm and
  // cancel whatever it likes, also others that are due in this turn.
  template <class OnDue>
  timer_turn turn(std::uint64_t now, std::uint32_t max_steps, OnDue&& on_due) noexcept {
    if (now >> shift_ > now_) now_ = now >> shift_;
    if (lists_[overdue_].first == none) overdue_ ^= 1;  // what is armed from here on waits for the next turn
    timer_turn did;
    for (;; ++did.steps) {
      const std::uint32_t from = next_list();
      if (from == none) {
        at_ = now_;
        return did;
      }
      if (did.steps >= max_steps) {
        did.carried = true;
        return did;
      }
      const std::uint32_t n = lists_[from].first;
      __builtin_prefetch(&nodes_[nodes_[n].next == none ? n : nodes_[n].next]);
      unlink(n);
      if (from < slots || from >= first_overdue) {
        const std::uint64_t cookie = nodes_[n].cookie;
        release(n);
        ++did.fired;
        on_due(cookie);
      } else {
        link_ahead(n);
      }
    }
  }

  // Not later than the first deadline, rounded up to a tick; earlier when that one has to be moved down first. `never`
  // when nothing is armed; a time that has passed when something is due.
  [[nodiscard]] std::uint64_t next_turn() const noexcept {
    if (size_ == 0) return never;
    if (lists_[first_overdue].first != none || lists_[first_overdue + 1].first != none || opened_ != none)
      return now_ << shift_;
    const std::uint64_t tick = first_slot().start;
    return tick > never >> shift_ ? never : tick << shift_;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::uint32_t node_limit = none - 1;  // node numbers are 32 bits
  static constexpr std::uint32_t first_overdue = levels * slots;
  static constexpr std::uint32_t list_count = first_overdue + 2;

  struct list {
    std::uint32_t first;
    std::uint32_t last;
  };
  struct place_in_time {
    std::uint64_t start;  // its first tick
    std::uint32_t list;
  };

  std::span<timer_node> nodes_;
  unsigned shift_;
  std::uint64_t at_;   // every slot that begins at or before this tick has been emptied, opened_ apart
  std::uint64_t now_;  // latest tick that a turn was given; at_ follows when nothing is carried
  std::uint32_t free_ = none;
  std::uint32_t fresh_ = 0;  // nodes from here on were never used
  std::uint32_t opened_ = none;
  std::uint32_t overdue_ = first_overdue;  // list of deadlines that had passed when they were armed, being fired
  std::size_t size_ = 0;
  std::uint64_t refused_ = 0;
  std::uint32_t levels_used_ = 0;             // a bit a level
  std::array<std::uint64_t, levels> used_{};  // a bit a slot
  std::array<list, list_count> lists_;
  static_assert(first_overdue % 2 == 0, "the two overdue lists differ in one bit");

  [[nodiscard]] std::uint64_t tick_of(std::uint64_t deadline) const noexcept {
    const std::uint64_t tick = deadline >> shift_;
    return tick << shift_ == deadline ? tick : tick + 1;
  }

  void place(std::uint32_t n, std::uint64_t tick) noexcept {
    nodes_[n].tick = tick;
    if (tick <= now_)
      link(n, overdue_ ^ 1);
    else
      link_ahead(n);
  }
  void link_ahead(std::uint32_t n) noexcept {
    const std::uint64_t tick = nodes_[n].tick;
    const unsigned level = (static_cast<unsigned>(std::bit_width((tick ^ at_) | (slots - 1))) - 1) / bits_per_level;
    const unsigned slot = static_cast<unsigned>(tick >> (level * bits_per_level)) & (slots - 1);
    levels_used_ |= 1u << level;
    used_[level] |= std::uint64_t{1} << slot;
    link(n, level * slots + slot);
  }
  void link(std::uint32_t n, std::uint32_t to) noexcept {
    list& in = lists_[to];
    timer_node& node = nodes_[n];
    node.list = to;
    node.next = none;
    node.previous = in.last;
    (in.last == none ? in.first : nodes_[in.last].next) = n;
    in.last = n;
  }
  void unlink(std::uint32_t n) noexcept {
    const timer_node& node = nodes_[n];
    list& in = lists_[node.list];
    (node.previous == none ? in.first : nodes_[node.previous].next) = node.next;
    (node.next == none ? in.last : nodes_[node.next].previous) = node.previous;
    if (in.first == none && node.list < first_overdue) empty_slot(node.list);
  }
  void empty_slot(std::uint32_t at) noexcept {
    const unsigned level = at / slots;
    used_[level] &= ~(std::uint64_t{1} << (at % slots));
    if (used_[level] == 0) levels_used_ &= ~(1u << level);
    if (opened_ == at) opened_ = none;
  }
  void release(std::uint32_t n) noexcept {
    timer_node& node = nodes_[n];
    if (++node.generation == 0) node.generation = 1;
    node.list = none;
    node.next = free_;
    free_ = n;
    --size_;
  }

  // Something is in a slot. The lowest level holds the nearest, its lowest slot the very nearest: all of them lie
  // behind at_, and share with it what is above their level.
  [[nodiscard]] place_in_time first_slot() const noexcept {
    const auto level = static_cast<unsigned>(std::countr_zero(levels_used_));
    const auto slot = static_cast<unsigned>(std::countr_zero(used_[level]));
    const unsigned below = level * bits_per_level;
    const std::uint64_t above = below + bits_per_level >= 64 ? 0 : at_ >> (below + bits_per_level) << bits_per_level;
    return {(above | slot) << below, level * slots + slot};
  }
  // The list whose first timer is to be fired or moved now; none when nothing is due. A slot that was opened is emptied
  // before time goes on: what it holds may be nearer than what stands below it.
  [[nodiscard]] std::uint32_t next_list() noexcept {
    if (lists_[overdue_].first != none) return overdue_;
    if (opened_ != none) return opened_;
    if (levels_used_ == 0) return none;
    const place_in_time next = first_slot();
    if (next.start > now_) return none;
    at_ = next.start;
    opened_ = next.list;
    return opened_;
  }
};

}  // namespace millrace::base
