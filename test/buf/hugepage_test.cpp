// Growth and release on hugepages. Skipped, with the command that reserves some, where EAL finds none.
#include <gtest/gtest.h>
#include <rte_eal.h>
#include <rte_malloc.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "buf/block_pool.hpp"
#include "buf/large_block_pool.hpp"

namespace millrace::buf {
namespace {

bool eal_runs = false;

#define MILLRACE_NEEDS_HUGEPAGES() \
  if (!eal_runs) GTEST_SKIP() << "no free hugepages: echo 64 > /proc/sys/vm/nr_hugepages"

std::size_t eal_bytes() {
  rte_malloc_socket_stats stats{};
  std::size_t sum = 0;
  for (int socket = 0; socket < RTE_MAX_NUMA_NODES; ++socket)
    if (rte_malloc_get_socket_stats(socket, &stats) == 0) sum += stats.heap_totalsz_bytes;
  return sum;
}

constexpr std::size_t most_bytes_to_exhaust = std::size_t{6} << 30;

// Of the kernel, which EAL has not taken yet.
std::size_t free_hugepage_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  std::size_t pages = 0;
  std::size_t kib = 0;
  for (std::string line; std::getline(meminfo, line);) {
    std::sscanf(line.c_str(), "HugePages_Free: %zu", &pages);
    std::sscanf(line.c_str(), "Hugepagesize: %zu", &kib);
  }
  return pages * kib * 1024;
}

template <class Pool, class Config>
Pool must_make(const Config& config) {
  auto made = Pool::make(config);
  if (!made) ADD_FAILURE() << made.error().what;
  return std::move(made.value());
}

const block_pool_config growing = {.name = "grow",
                                   .size = block_size::kib_16,
                                   .blocks_per_mempool = 255,  // about 4 MiB: several pages of their own
                                   .cache = 32,
                                   .most_mempools = 4};

TEST(block_pool_on_hugepages, grows_by_whole_mempools_up_to_its_cap_and_serves_from_all) {
  MILLRACE_NEEDS_HUGEPAGES();
  auto pool = must_make<block_pool>(growing);
  std::vector<rte_mbuf*> held(255 * 4);
  ASSERT_TRUE(pool.alloc_bulk(held.data(), 255));
  EXPECT_EQ(pool.alloc(), nullptr);
  for (unsigned more = 1; more < 4; ++more) {
    ASSERT_EQ(pool.grow(), mem::pool_change::done);
    EXPECT_EQ(pool.size(), 255u * (more + 1));
    for (unsigned i = 0; i < 255; ++i) {
      held[255 * more + i] = pool.alloc();
      ASSERT_NE(held[255 * more + i], nullptr) << more << " " << i;
    }
  }
  EXPECT_EQ(pool.grow(), mem::pool_change::at_cap);
  EXPECT_EQ(pool.alloc(), nullptr);
  EXPECT_EQ(pool.sample(), 1020u);
  pool.put_bulk(held.data(), 1020);
  EXPECT_TRUE(pool.is_whole());
}

TEST(block_pool_on_hugepages, gives_idle_mempools_back_to_eal_and_grows_again) {
  MILLRACE_NEEDS_HUGEPAGES();
  auto pool = must_make<block_pool>(growing);
  const std::size_t before = eal_bytes();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(pool.grow(), mem::pool_change::done);
  EXPECT_GT(eal_bytes(), before);
  EXPECT_EQ(pool.release_half(), mem::pool_change::done);
  EXPECT_EQ(pool.set().mempools(), 2u);
  EXPECT_EQ(pool.release_half(), mem::pool_change::done);
  EXPECT_EQ(pool.set().mempools(), 1u);
  EXPECT_EQ(pool.release_half(), mem::pool_change::nothing_idle);  // the first stays
  EXPECT_LE(eal_bytes(), before);
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(pool.grow(), mem::pool_change::done);
    pool.put(pool.alloc());
    ASSERT_EQ(pool.release_half(), mem::pool_change::done);
  }
  EXPECT_LE(eal_bytes(), before);
  EXPECT_TRUE(pool.is_whole());
}

TEST(block_pool_on_hugepages, a_mempool_with_blocks_out_is_not_idle) {
  MILLRACE_NEEDS_HUGEPAGES();
  auto pool = must_make<block_pool>(growing);
  ASSERT_EQ(pool.grow(), mem::pool_change::done);
  std::vector<rte_mbuf*> held(256);
  for (rte_mbuf*& one : held) one = pool.alloc();  // one more than the first mempool has
  EXPECT_EQ(pool.release_half(), mem::pool_change::nothing_idle);
  EXPECT_EQ(pool.set().mempools(), 2u);
  pool.put_bulk(held.data(), 256);
  EXPECT_EQ(pool.release_half(), mem::pool_change::done);
  EXPECT_EQ(pool.set().mempools(), 1u);
}

TEST(block_pool_on_hugepages, sample_leads_allocation_back_to_the_lowest_mempool) {
  MILLRACE_NEEDS_HUGEPAGES();
  auto pool = must_make<block_pool>(growing);
  ASSERT_EQ(pool.grow(), mem::pool_change::done);
  std::vector<rte_mbuf*> held(300);
  for (rte_mbuf*& one : held) one = pool.alloc();
  const rte_mempool* low = held.front()->pool;
  const rte_mempool* high = held.back()->pool;
  ASSERT_NE(low, high);
  pool.put_bulk(held.data(), 300);
  rte_mbuf* one = pool.alloc();
  EXPECT_EQ(one->pool, high);  // it goes on where it was
  pool.put(one);
  pool.sample();
  one = pool.alloc();
  EXPECT_EQ(one->pool, low);
  pool.put(one);
}

TEST(block_pool_on_hugepages, frees_a_released_mempool_only_after_every_lcore_has_passed) {
  MILLRACE_NEEDS_HUGEPAGES();
  auto made = mem::quiescence::make();
  ASSERT_TRUE(made);
  mem::quiescence& lcores = made.value();
  auto pool = must_make<block_pool>(growing);
  pool.set_quiescence(&lcores);
  ASSERT_EQ(pool.grow(), mem::pool_change::done);
  lcores.enter(0);
  EXPECT_EQ(pool.release_half(), mem::pool_change::waiting);
  EXPECT_EQ(pool.set().mempools(), 1u);
  EXPECT_EQ(pool.set().retiring(), 1u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(pool.reap(), mem::pool_change::waiting);  // nobody passed
  int graces = 0;
  do {
    lcores.pass(0);
    ++graces;
  } while (pool.reap() == mem::pool_change::waiting && graces < 10);
  EXPECT_EQ(graces, 3);  // closed, out of reach, whole
  EXPECT_EQ(pool.set().retiring(), 0u);
  lcores.leave(0);
}

TEST(block_pool_on_hugepages, growth_without_memory_is_an_answer) {
  MILLRACE_NEEDS_HUGEPAGES();
  // Two fifths of what is free: the third does not fit, however many pages this machine has.
  const std::size_t free_bytes = free_hugepage_bytes();
  if (free_bytes > most_bytes_to_exhaust) GTEST_SKIP() << "more than 6 GiB of hugepages: exhausting them takes long";
  constexpr std::size_t block_bytes = 17 * 1024;  // with its headers
  auto pool = must_make<block_pool>(
      block_pool_config{.name = "much",
                        .size = block_size::kib_16,
                        .blocks_per_mempool = static_cast<std::uint32_t>(free_bytes / 5 * 2 / block_bytes),
                        .most_mempools = 16});
  mem::pool_change last = mem::pool_change::done;
  while (last == mem::pool_change::done) last = pool.grow();
  EXPECT_EQ(last, mem::pool_change::no_memory);
  EXPECT_GE(pool.set().mempools(), 2u);
  rte_mbuf* one = pool.alloc();
  EXPECT_NE(one, nullptr);
  pool.put(one);
}

TEST(large_block_pool_on_hugepages, grows_sends_from_every_mempool_and_shrinks) {
  MILLRACE_NEEDS_HUGEPAGES();
  auto pool = must_make<large_block_pool>(
      large_block_pool_config{.name = "large", .blocks_per_mempool = 31, .cache = 4, .most_mempools = 3});
  std::vector<packet> sent;
  for (int round = 0; round < 3; ++round) {
    if (round != 0) {
      ASSERT_EQ(pool.grow(), mem::pool_change::done);
    }
    for (int i = 0; i < 31; ++i) {
      sent.push_back(pool.send(pool.alloc(), large_block_bytes));
      ASSERT_TRUE(sent.back());
    }
  }
  EXPECT_EQ(pool.grow(), mem::pool_change::at_cap);
  EXPECT_FALSE(pool.alloc());
  sent.clear();
  EXPECT_TRUE(pool.is_whole());
  EXPECT_EQ(pool.release_half(), mem::pool_change::done);
  EXPECT_EQ(pool.size(), 62u);
  EXPECT_TRUE(pool.send(pool.alloc(), large_block_bytes));
}

}  // namespace
}  // namespace millrace::buf

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  unsigned free_pages = 0;
  std::ifstream("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages") >> free_pages;
  if (free_pages >= 32) {
    std::vector<std::string> words = {"test",
                                      "--no-pci",
                                      "--in-memory",
                                      "--no-telemetry",
                                      "--log-level=*:4",
                                      "-l",
                                      "0",
                                      "--file-prefix=mrhuge" + std::to_string(getpid())};
    std::vector<char*> raw;
    for (std::string& word : words) raw.push_back(word.data());
    millrace::buf::eal_runs = rte_eal_init(static_cast<int>(raw.size()), raw.data()) >= 0;
  }
  const int status = RUN_ALL_TESTS();
  if (millrace::buf::eal_runs) rte_eal_cleanup();
  return status;
}
