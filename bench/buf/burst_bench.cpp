// A burst filled from the pool and given back: ours looks at the first cache line of each packet, DPDK's at both.
#include "buf/burst.hpp"

#include "support/eal_bench.hpp"

namespace {

using namespace millrace;

mem::packet_pool& pool() {
  static auto made = mem::packet_pool::make({.name = "bench", .packets = 16383});
  return made.value();
}

void fill_and_free_all(benchmark::State& state) {
  buf::burst packets;
  const auto count = static_cast<unsigned>(state.range(0));
  for (auto _ : state) {
    if (!packets.fill(pool(), count)) state.SkipWithError("pool empty");
    packets.free_all();
  }
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(fill_and_free_all)->Arg(32)->Arg(64)->Arg(512);

void fill_and_free_with_dpdk(benchmark::State& state) {
  buf::burst packets;
  const auto count = static_cast<unsigned>(state.range(0));
  for (auto _ : state) {
    if (!packets.fill(pool(), count)) state.SkipWithError("pool empty");
    rte_pktmbuf_free_bulk(packets.raw(), count);
    packets.forget_all();
  }
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(fill_and_free_with_dpdk)->Arg(32)->Arg(64)->Arg(512);

// One in eight dropped and the holes closed: what malformed traffic costs on top.
void drop_some_and_compact(benchmark::State& state) {
  buf::burst packets;
  stats::drop_counters drops;
  for (auto _ : state) {
    if (!packets.fill(pool(), 32)) state.SkipWithError("pool empty");
    for (unsigned i = 0; i < 32; i += 8) packets.drop(i, stats::drop_reason::ip_truncated, drops);
    packets.compact();
    packets.free_all();
  }
  state.SetItemsProcessed(state.iterations() * 32);
}
BENCHMARK(drop_some_and_compact);

}  // namespace

MILLRACE_EAL_BENCH_MAIN("-m", "320")
