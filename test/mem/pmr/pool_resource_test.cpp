#include "mem/pmr/pool_resource.hpp"

#include <gtest/gtest.h>

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mem/heap_counter.hpp"

namespace millrace::mem {
namespace {

size_class_pool must_make(std::uint32_t per_class) {
  auto made = size_class_pool::make({.per_class = per_class});
  if (!made) ADD_FAILURE() << made.error().what;
  return std::move(made.value());
}

TEST(pool_resource, carries_containers_without_touching_the_heap) {
  size_class_pool pool = must_make(256);
  pool_resource resource(pool);
  heap_tally tally;
  {
    heap_watch watch(tally);
    std::pmr::map<int, std::pmr::string> names(&resource);
    for (int i = 0; i < 100; ++i) names.emplace(i, "a name too long for the string's own buffer");
    EXPECT_EQ(names.size(), 100u);
    EXPECT_EQ(pool.in_use(), 200u);
  }
  EXPECT_EQ(tally.calls.get(), 0u);
  EXPECT_TRUE(pool.is_whole());
}

TEST(pool_resource, says_exhausted_by_bad_alloc_and_leaks_nothing_whichever_request_fails) {
  for (std::uint32_t room = 1; room <= 12; ++room) {
    size_class_pool pool = must_make(room);
    pool_resource resource(pool);
    bool failed = false;
    try {
      std::pmr::list<std::pmr::string> texts(&resource);
      for (int i = 0; i < 10; ++i) texts.emplace_back("a text of more than sixteen bytes");
      EXPECT_EQ(texts.size(), 10u);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    EXPECT_EQ(failed, room < 10) << room;
    EXPECT_TRUE(pool.is_whole());
  }
}

TEST(pool_resource, refuses_what_no_class_serves_unless_another_resource_stands_behind_it) {
  size_class_pool pool = must_make(4);
  pool_resource alone(pool);
  EXPECT_THROW(static_cast<void>(alone.allocate(257)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(alone.allocate(16, 64)), std::bad_alloc);
  pool_resource backed(pool, std::pmr::new_delete_resource());
  void* large = backed.allocate(1000, 64);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large) % 64, 0u);
  backed.deallocate(large, 1000, 64);
  void* nothing = alone.allocate(0);
  EXPECT_NE(nothing, nullptr);
  alone.deallocate(nothing, 0);
  EXPECT_TRUE(pool.is_whole());
}

TEST(pool_resource, equals_one_on_the_same_pool_only) {
  size_class_pool one = must_make(1);
  size_class_pool two = must_make(1);
  const pool_resource a(one);
  const pool_resource b(one);
  const pool_resource c(two);
  const pool_resource d(one, std::pmr::new_delete_resource());
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == c);
  EXPECT_FALSE(a == d);
  EXPECT_FALSE(a == *std::pmr::new_delete_resource());
}

}  // namespace
}  // namespace millrace::mem
