#include "mem/mempool_set.hpp"

#include <gtest/gtest.h>
#include <rte_mbuf.h>

#include <vector>

namespace millrace::mem {
namespace {

mempool_set must_make(const mempool_set_config& config) {
  auto made = mempool_set::make(config);
  if (!made) ADD_FAILURE() << made.error().what;
  return std::move(made.value());
}

TEST(mempool_set, gives_plain_elements_of_the_size_and_initialises_each_once) {
  static unsigned initialised = 0;
  initialised = 0;
  mempool_set set = must_make({.name = "plain",
                               .elements = 20,
                               .element_bytes = 200,
                               .cache = 4,
                               .init = [](rte_mempool*, void*, void* element,
                                          unsigned) { *static_cast<std::uint32_t*>(element) = ++initialised; },
                               .kept_bytes = 8});
  EXPECT_EQ(initialised, 20u);
  EXPECT_GE(set.bytes_per_element(), 200u);
  EXPECT_GE(set.memory_bytes(), 20 * set.bytes_per_element());
  void* one = set.get();
  ASSERT_NE(one, nullptr);
  EXPECT_GE(*static_cast<std::uint32_t*>(one), 1u);
  EXPECT_EQ(set.in_use(), 1u);
  rte_mempool_put(rte_mempool_from_obj(one), one);
  EXPECT_TRUE(set.is_whole());
}

TEST(mempool_set, exhaustion_is_counted_and_passes) {
  mempool_set set = must_make({.name = "dry", .elements = 10, .element_bytes = 64, .cache = 0});
  std::vector<void*> held(10);
  ASSERT_TRUE(set.get_bulk(held.data(), 8));
  void* more[3] = {};
  EXPECT_FALSE(set.get_bulk(more, 3));
  ASSERT_TRUE(set.get_bulk(held.data() + 8, 2));
  EXPECT_EQ(set.get(), nullptr);
  EXPECT_EQ(set.refused(), 4u);
  EXPECT_EQ(set.sample(), 10u);
  for (void* one : held) rte_mempool_put(rte_mempool_from_obj(one), one);
  EXPECT_EQ(set.sample(), 0u);
  EXPECT_EQ(set.high_water(), 10u);
  void* again = set.get();
  EXPECT_NE(again, nullptr);
  rte_mempool_put(rte_mempool_from_obj(again), again);
}

TEST(mempool_set, knows_its_own_mempools) {
  mempool_set set = must_make({.name = "own", .elements = 4, .element_bytes = 64});
  mempool_set other = must_make({.name = "other", .elements = 4, .data_room = 64});
  void* mine = set.get();
  auto* foreign = static_cast<rte_mbuf*>(other.get());
  EXPECT_TRUE(set.owns(rte_mempool_from_obj(mine)));
  EXPECT_FALSE(set.owns(foreign->pool));
  EXPECT_FALSE(set.owns(nullptr));
  rte_mempool_put(rte_mempool_from_obj(mine), mine);
  rte_pktmbuf_free(foreign);
}

TEST(mempool_set, refuses_shapes_that_cannot_be) {
  EXPECT_FALSE(mempool_set::make({.name = "neither", .elements = 4}));
  EXPECT_FALSE(mempool_set::make({.name = "both", .elements = 4, .element_bytes = 64, .data_room = 64}));
  EXPECT_FALSE(mempool_set::make({.name = "none", .elements = 0, .element_bytes = 64}));
  EXPECT_FALSE(mempool_set::make({.name = "never", .elements = 4, .element_bytes = 64, .most = 0}));
  EXPECT_FALSE(mempool_set::make({.name = "many", .elements = 4, .element_bytes = 64, .most = 17}));
  EXPECT_FALSE(mempool_set::make({.name = "wide", .elements = 4, .data_room = 65'500}));
  const auto twice = must_make({.name = "twice", .elements = 4, .element_bytes = 64});
  EXPECT_FALSE(mempool_set::make({.name = "twice", .elements = 4, .element_bytes = 64}));  // the name is taken
}

TEST(mempool_set, is_fixed_without_hugepages) {
  mempool_set set = must_make({.name = "fixed", .elements = 4, .element_bytes = 64, .most = 4});
  EXPECT_EQ(set.grow(), pool_change::fixed);
  EXPECT_EQ(set.release_half(), pool_change::fixed);
  EXPECT_EQ(set.reap(), pool_change::done);
  EXPECT_EQ(set.mempools(), 1u);
}

}  // namespace
}  // namespace millrace::mem
