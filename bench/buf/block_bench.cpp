// Blocks of 1 to 64 KiB: one out and back, bulks of 32, and a 64 KiB block sent without a copy, beside raw mempools and
// the C library's malloc. Rows of the published baseline's tables begin with s2_.
//   targets  at most 8 ns singly, 4 ns a block in bulk.
#include <rte_malloc.h>

#include <array>
#include <map>

#include "buf/block_pool.hpp"
#include "buf/large_block_pool.hpp"
#include "support/eal_bench.hpp"

extern "C" {
void* __libc_malloc(std::size_t size);
void __libc_free(void* block);
}

namespace {

using namespace millrace;

constexpr unsigned bulk = 32;

buf::block_pool& blocks(std::int64_t bytes) {
  static std::map<std::int64_t, buf::block_pool> made;
  const auto found = made.find(bytes);
  if (found != made.end()) return found->second;
  auto pool = buf::block_pool::make({.name = "blocks" + std::to_string(bytes),
                                     .size = static_cast<buf::block_size>(bytes),
                                     .blocks_per_mempool = 511});
  return made.emplace(bytes, std::move(pool.value())).first->second;
}

buf::large_block_pool& large() {
  static auto made = buf::large_block_pool::make({.name = "large", .blocks_per_mempool = 127});
  return made.value();
}

rte_mempool* raw_mempool(std::int64_t bytes) {
  const std::string name = "raw" + std::to_string(bytes);
  if (rte_mempool* there = rte_mempool_lookup(name.c_str()); there != nullptr) return there;
  return rte_mempool_create(name.c_str(), 511, static_cast<unsigned>(bytes), 128, 0, nullptr, nullptr, nullptr, nullptr,
                            SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
}

// 2 KiB: what a received packet lies in.
void received_packet_row(benchmark::State& state) {
  static auto made = mem::packet_pool::make({.name = "received", .packets = 511});
  mem::packet_pool& pool = made.value();
  for (auto _ : state) {
    rte_mbuf* one = pool.alloc();
    benchmark::DoNotOptimize(one);
    rte_pktmbuf_free(one);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
  if (!pool.is_whole()) state.SkipWithError("not all came back");
}

void s2_block_memory_pool(benchmark::State& state) {
  if (state.range(0) == mem::default_data_room) return received_packet_row(state);
  buf::block_pool& pool = blocks(state.range(0));
  for (auto _ : state) {
    rte_mbuf* one = pool.alloc();
    benchmark::DoNotOptimize(one);
    pool.put(one);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
  if (!pool.is_whole()) state.SkipWithError("not all came back");
}
BENCHMARK(s2_block_memory_pool)->Arg(1024)->Arg(2048)->Arg(4096)->Arg(16384);

void s2_block_memory_pool__limit_rte_mempool(benchmark::State& state) {
  rte_mempool* pool = raw_mempool(state.range(0));
  for (auto _ : state) {
    void* one = nullptr;
    if (rte_mempool_get(pool, &one) != 0) state.SkipWithError("pool empty");
    benchmark::DoNotOptimize(one);
    rte_mempool_put(pool, one);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(s2_block_memory_pool__limit_rte_mempool)->Arg(1024)->Arg(2048)->Arg(4096)->Arg(16384);

// DPDK's own pair of calls on the same pool.
void s2_block_memory_pool__limit_rte_pktmbuf(benchmark::State& state) {
  rte_mempool* pool = nullptr;
  {
    rte_mbuf* one = blocks(state.range(0)).alloc();
    pool = one->pool;
    rte_pktmbuf_free(one);
  }
  for (auto _ : state) {
    rte_mbuf* one = rte_pktmbuf_alloc(pool);
    benchmark::DoNotOptimize(one);
    rte_pktmbuf_free(one);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(s2_block_memory_pool__limit_rte_pktmbuf)->Arg(1024)->Arg(4096)->Arg(16384);

void s2_block_memory_pool__limit_malloc(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    void* one = __libc_malloc(bytes);
    benchmark::DoNotOptimize(one);
    __libc_free(one);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(s2_block_memory_pool__limit_malloc)->Arg(1024)->Arg(2048)->Arg(4096)->Arg(16384);

void s2_block_memory_pool__limit_rte_malloc(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    void* one = rte_malloc(nullptr, bytes, 0);
    benchmark::DoNotOptimize(one);
    rte_free(one);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(s2_block_memory_pool__limit_rte_malloc)->Arg(1024)->Arg(2048)->Arg(4096)->Arg(16384);

void s2_block_memory_pool_bulk32(benchmark::State& state) {
  buf::block_pool& pool = blocks(state.range(0));
  std::array<rte_mbuf*, bulk> held{};
  for (auto _ : state) {
    if (!pool.alloc_bulk(held.data(), bulk)) state.SkipWithError("pool empty");
    benchmark::ClobberMemory();
    pool.put_bulk(held.data(), bulk);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * bulk);
  if (!pool.is_whole()) state.SkipWithError("not all came back");
}
BENCHMARK(s2_block_memory_pool_bulk32)->Arg(1024)->Arg(4096)->Arg(16384);

void s2_block_memory_pool_bulk32__limit_rte_mempool(benchmark::State& state) {
  rte_mempool* pool = raw_mempool(state.range(0));
  std::array<void*, bulk> held{};
  for (auto _ : state) {
    if (rte_mempool_get_bulk(pool, held.data(), bulk) != 0) state.SkipWithError("pool empty");
    benchmark::ClobberMemory();
    rte_mempool_put_bulk(pool, held.data(), bulk);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * bulk);
}
BENCHMARK(s2_block_memory_pool_bulk32__limit_rte_mempool)->Arg(1024)->Arg(4096)->Arg(16384);

// 64 KiB: the block alone, then the block as a packet of two segments (or one), then a range of a block that stays.
void large_block_pool_get_give(benchmark::State& state) {
  buf::large_block_pool& pool = large();
  for (auto _ : state) {
    buf::large_block one = pool.alloc();
    benchmark::DoNotOptimize(one);
  }
  if (!pool.is_whole()) state.SkipWithError("not all came back");
}
BENCHMARK(large_block_pool_get_give)->Arg(65536);

void large_block_pool_get_give__limit_rte_mempool(benchmark::State& state) {
  s2_block_memory_pool__limit_rte_mempool(state);
}
BENCHMARK(large_block_pool_get_give__limit_rte_mempool)->Arg(65536);

void large_block_pool_send(benchmark::State& state) {
  buf::large_block_pool& pool = large();
  const auto used = static_cast<std::uint32_t>(state.range(0));
  for (auto _ : state) {
    buf::packet sent = pool.send(pool.alloc(), used);
    benchmark::DoNotOptimize(sent);
  }
  if (!pool.is_whole()) state.SkipWithError("not all came back");
}
BENCHMARK(large_block_pool_send)->Arg(1)->Arg(65535)->Arg(65536);

void large_block_pool_share(benchmark::State& state) {
  buf::large_block_pool& pool = large();
  {
    const buf::large_block source = pool.alloc();
    for (auto _ : state) {
      buf::packet sent = pool.share(source, 1200, 1200);
      benchmark::DoNotOptimize(sent);
    }
  }
  if (!pool.is_whole()) state.SkipWithError("not all came back");
}
BENCHMARK(large_block_pool_share);

}  // namespace
