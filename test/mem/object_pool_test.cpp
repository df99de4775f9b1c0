#include "mem/object_pool.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "mem/heap_counter.hpp"

namespace millrace::mem {
namespace {

// Counts its lives, and holds another object of a pool, so that nothing can be forgotten or done twice unnoticed.
struct tracked {
  static inline int alive = 0;
  int value;
  explicit tracked(int v) noexcept : value(v) { ++alive; }
  tracked(const tracked&) = delete;
  ~tracked() { --alive; }
};

template <class T>
object_pool<T> must_make(std::uint32_t count) {
  auto made = object_pool<T>::make("objects", count);
  if (!made) ADD_FAILURE() << made.error().what;
  return std::move(made.value());
}

TEST(object_pool, constructs_on_get_and_destroys_on_give) {
  auto pool = must_make<tracked>(3);
  tracked* one = pool.get(17);
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->value, 17);
  EXPECT_EQ(tracked::alive, 1);
  pool.give(one);
  EXPECT_EQ(tracked::alive, 0);
  pool.give(nullptr);
  EXPECT_TRUE(pool.is_whole());
}

TEST(object_pool, exhaustion_is_a_value_and_constructs_nothing) {
  auto pool = must_make<tracked>(2);
  std::vector<pooled<tracked>> held;
  held.push_back(pool.make_pooled(1));
  held.push_back(pool.make_pooled(2));
  EXPECT_FALSE(pool.make_pooled(3));
  EXPECT_EQ(pool.get(4), nullptr);
  EXPECT_EQ(tracked::alive, 2);
  EXPECT_EQ(pool.figures().refused, 2u);
  held.pop_back();
  EXPECT_TRUE(pool.make_pooled(5));
  held.clear();
  EXPECT_EQ(tracked::alive, 0);
  EXPECT_TRUE(pool.is_whole());
  EXPECT_EQ(pool.figures().high_water, 2u);
}

TEST(object_pool, a_handle_owns_its_object_through_moves_and_gives_it_once) {
  auto pool = must_make<tracked>(4);
  {
    pooled<tracked> a = pool.make_pooled(1);
    pooled<tracked> b = std::move(a);
    EXPECT_FALSE(a);
    ASSERT_TRUE(b);
    EXPECT_EQ(b->value, 1);
    pooled<tracked> c = pool.make_pooled(2);
    c = std::move(b);
    EXPECT_EQ((*c).value, 1);
    EXPECT_EQ(pool.in_use(), 1u);
    pooled<tracked>& same = c;
    c = std::move(same);
    EXPECT_TRUE(c);
    tracked* raw = c.release();
    EXPECT_FALSE(c);
    EXPECT_EQ(pool.in_use(), 1u);
    pool.give(raw);
    c.reset();
  }
  EXPECT_EQ(tracked::alive, 0);
  EXPECT_TRUE(pool.is_whole());
}

TEST(object_pool, keeps_the_alignment_of_its_type) {
  struct alignas(128) wide {
    std::byte bytes[200];
  };
  auto pool = must_make<wide>(5);
  std::vector<wide*> held;
  while (wide* one = pool.get()) held.push_back(one);
  EXPECT_EQ(held.size(), 5u);
  for (wide* one : held) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one) % 128, 0u);
    pool.give(one);
  }
}

TEST(object_pool, a_handle_that_ends_elsewhere_goes_home_by_its_own_way) {
  auto pool = must_make<tracked>(1);
  pooled<tracked> one = pool.make_pooled(1);
  std::thread([&] { one.send_home(); }).join();
  EXPECT_FALSE(one);
  EXPECT_EQ(tracked::alive, 0);
  EXPECT_EQ(pool.in_use(), 1u);  // not collected yet
  pooled<tracked> again = pool.make_pooled(2);
  EXPECT_TRUE(again);
  EXPECT_EQ(pool.figures().refused, 0u);
}

// Checked builds end at the fault: slot_pool_fault_test.cpp.
#if !MILLRACE_POOL_FAULTS_ABORT
TEST(object_pool, a_faulty_give_destroys_nothing) {
  auto pool = must_make<tracked>(2);
  tracked* one = pool.get(1);
  {
    tracked stranger(5);
    pool.give(&stranger);
    pool.give_from_elsewhere(&stranger);
    EXPECT_EQ(tracked::alive, 2);
  }
  pool.give(one);
  pool.give(one);
  EXPECT_EQ(tracked::alive, 0);
  EXPECT_EQ(pool.figures().count(pool_fault::foreign_object), 2u);
  EXPECT_EQ(pool.figures().count(pool_fault::double_give), 1u);
}
#endif

// A scenario that takes objects of two pools, one inside the other: with room for n objects only, the n + 1st request
// is the one that fails. Whatever point that is, nothing may stay behind.
struct node {
  pooled<tracked> inner;
};

std::optional<int> build_and_sum(object_pool<node>& nodes, object_pool<tracked>& inner) {
  std::vector<pooled<node>> built;
  int sum = 0;
  for (int i = 0; i < 6; ++i) {
    pooled<tracked> leaf = inner.make_pooled(i);
    if (!leaf) return std::nullopt;
    sum += leaf->value;
    pooled<node> one = nodes.make_pooled(node{std::move(leaf)});
    if (!one) return std::nullopt;
    built.push_back(std::move(one));
  }
  return sum;
}

TEST(object_pool, exhaustion_at_every_point_in_turn_leaks_nothing) {
  int failures = 0;
  for (std::uint32_t leaves = 1; leaves <= 7; ++leaves) {
    for (std::uint32_t branches = 1; branches <= 7; ++branches) {
      auto inner = must_make<tracked>(leaves);
      auto nodes = must_make<node>(branches);
      const std::optional<int> sum = build_and_sum(nodes, inner);
      EXPECT_EQ(sum.has_value(), leaves >= 6 && branches >= 6);
      EXPECT_EQ(sum.value_or(15), 15);
      failures += sum ? 0 : 1;
      EXPECT_TRUE(inner.is_whole());
      EXPECT_TRUE(nodes.is_whole());
      EXPECT_EQ(tracked::alive, 0);
      EXPECT_EQ(inner.figures().refused + nodes.figures().refused, sum ? 0u : 1u);
    }
  }
  EXPECT_EQ(failures, 45);
}

TEST(object_pool, calls_no_heap) {
  if (!heap_counter_present()) GTEST_SKIP() << "this build's sanitizer brings its own heap";
  auto pool = must_make<tracked>(8);
  heap_tally tally;
  {
    heap_watch watch(tally);
    for (int i = 0; i < 1000; ++i) {
      pooled<tracked> a = pool.make_pooled(i);
      pooled<tracked> b = pool.make_pooled(i);
      b.send_home();
    }
  }
  EXPECT_EQ(tally.calls.get(), 0u);
  EXPECT_TRUE(pool.is_whole());
}

}  // namespace
}  // namespace millrace::mem
