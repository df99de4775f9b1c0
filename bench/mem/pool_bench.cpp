// What a packet buffer costs, singly and in bulk, beside rte_mempool's own calls. Target: at most 10 ns a buffer, and
// 2 ns in bulk (targets of the pools).
#include <rte_mbuf.h>

#include <array>

#include "mem/packet_pool.hpp"
#include "support/eal_bench.hpp"

namespace {

using namespace millrace;

mem::packet_pool& pool() {
  static auto made = mem::packet_pool::make({.name = "bench", .packets = 8191});
  return made.value();
}

void one_allocated_and_freed(benchmark::State& state) {
  mem::packet_pool& from = pool();
  for (auto _ : state) {
    rte_mbuf* one = from.alloc();
    benchmark::DoNotOptimize(one);
    rte_pktmbuf_free(one);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(one_allocated_and_freed);

void bulk_allocated_and_freed(benchmark::State& state) {
  mem::packet_pool& from = pool();
  const auto count = static_cast<unsigned>(state.range(0));
  std::array<rte_mbuf*, 512> held{};
  for (auto _ : state) {
    if (!from.alloc_bulk(held.data(), count)) state.SkipWithError("pool empty");
    benchmark::ClobberMemory();
    rte_pktmbuf_free_bulk(held.data(), count);
  }
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(bulk_allocated_and_freed)->Arg(8)->Arg(32)->Arg(64);

// The floor: pointers out of the lcore's cache and back, no packet touched.
void mempool_get_and_put(benchmark::State& state) {
  rte_mempool* raw = pool().raw();
  const auto count = static_cast<unsigned>(state.range(0));
  std::array<void*, 512> held{};
  for (auto _ : state) {
    if (rte_mempool_get_bulk(raw, held.data(), count) != 0) state.SkipWithError("pool empty");
    benchmark::ClobberMemory();
    rte_mempool_put_bulk(raw, held.data(), count);
  }
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(mempool_get_and_put)->Arg(8)->Arg(32)->Arg(64);

}  // namespace

MILLRACE_EAL_BENCH_MAIN("-m", "128")
