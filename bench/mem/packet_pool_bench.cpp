// What a received packet's buffer costs, singly and in bulk, beside rte_mempool's own calls.
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

void packet_pool_alloc_free(benchmark::State& state) {
  mem::packet_pool& from = pool();
  for (auto _ : state) {
    rte_mbuf* one = from.alloc();
    benchmark::DoNotOptimize(one);
    rte_pktmbuf_free(one);
  }
  state.SetItemsProcessed(state.iterations());
  if (!from.is_whole()) state.SkipWithError("not all came back");
}
BENCHMARK(packet_pool_alloc_free);

void packet_pool_bulk(benchmark::State& state) {
  mem::packet_pool& from = pool();
  const auto count = static_cast<unsigned>(state.range(0));
  std::array<rte_mbuf*, 512> held{};
  for (auto _ : state) {
    if (!from.alloc_bulk(held.data(), count)) state.SkipWithError("pool empty");
    benchmark::ClobberMemory();
    rte_pktmbuf_free_bulk(held.data(), count);
  }
  state.SetItemsProcessed(state.iterations() * count);
  if (!from.is_whole()) state.SkipWithError("not all came back");
}
BENCHMARK(packet_pool_bulk)->Arg(8)->Arg(32)->Arg(64);

// The floor: pointers out of the lcore's cache and back, no packet touched.
void packet_pool_bulk__limit_rte_mempool(benchmark::State& state) {
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
BENCHMARK(packet_pool_bulk__limit_rte_mempool)->Arg(8)->Arg(32)->Arg(64);

}  // namespace
