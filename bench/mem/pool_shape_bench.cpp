// The baseline's rows about how pools behave rather than how fast one get is: efficiency, release, expansion, long-run
// stability, overhead, many small users, shared objects, threads. Shape A rows (`_as_published`) time a heap slab that
// is made in the loop, as the baseline did, for the parity table only; shape B rows use pools made before.
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "../support/growing_slab.hpp"
#include "mem/object_pool.hpp"
#include "mem/packet_pool.hpp"
#include "mem/size_class_pool.hpp"
#include "rows.hpp"
#include "support/eal_bench.hpp"

namespace {

using namespace millrace;

struct counts {
  std::size_t after_gets;
  std::size_t after_gives;
  std::size_t after_release;
};

counts slab_round(std::size_t block_bytes, std::size_t step, std::size_t number, std::vector<void*>& held) {
  bench::growing_slab slab(block_bytes, step);
  counts seen{};
  for (std::size_t i = 0; i < number; ++i) held[i] = slab.get();
  seen.after_gets = slab.free_count();
  for (std::size_t i = 0; i < number; ++i) slab.give(held[i]);
  seen.after_gives = slab.free_count();
  slab.release_half();
  seen.after_release = slab.free_count();
  return seen;
}

// Shape A, checked against the counts that the baseline's pool was seen to have.
void slab_rows(benchmark::State& state, std::size_t step, std::size_t number, counts expected) {
  const auto block_bytes = static_cast<std::size_t>(state.range(0));
  std::vector<void*> held(number);
  const counts seen = slab_round(block_bytes, step, number, held);
  if (seen.after_gets != expected.after_gets || seen.after_gives != expected.after_gives)
    return state.SkipWithError("the slab does not count as the baseline's pool does");
  for (auto _ : state) benchmark::DoNotOptimize(slab_round(block_bytes, step, number, held));
  state.counters["free_after_gets"] = static_cast<double>(seen.after_gets);
  state.counters["free_after_gives"] = static_cast<double>(seen.after_gives);
  state.counters["free_after_release"] = static_cast<double>(seen.after_release);
}

mem::packet_pool& blocks(std::int64_t bytes) {
  static std::map<std::int64_t, mem::packet_pool> made;
  const auto found = made.find(bytes);
  if (found != made.end()) return found->second;
  auto pool = mem::packet_pool::make({.name = "shape" + std::to_string(bytes),
                                      .packets = 1023,
                                      .cache = 256,
                                      .data_room = static_cast<std::uint16_t>(bytes)});
  return made.emplace(bytes, std::move(pool.value())).first->second;
}

// 100 (or as many as told) out and back, one by one: shape B of efficiency, expansion and footprint. The overhead is
// the memory of one element over its payload.
void mempool_round(benchmark::State& state, std::size_t number) {
  mem::packet_pool& pool = blocks(state.range(0));
  std::vector<rte_mbuf*> held(number);
  for (auto _ : state) {
    for (rte_mbuf*& one : held) one = pool.alloc();
    benchmark::ClobberMemory();
    for (rte_mbuf* one : held) rte_pktmbuf_free(one);
  }
  for (rte_mbuf*& one : held) one = pool.alloc();
  if (pool.in_use() != number) state.SkipWithError("in use is not what was taken");
  for (rte_mbuf* one : held) rte_pktmbuf_free(one);
  if (!pool.is_whole()) state.SkipWithError("not all came back");
  const rte_mempool* raw = pool.raw();
  const auto element = static_cast<double>(raw->header_size + raw->elt_size + raw->trailer_size);
  state.counters["bytes_per_block"] = element;
  state.counters["overhead"] = element / static_cast<double>(state.range(0)) - 1;
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(number));
}

// Time to the first failed get, and that it is clean: refused is counted, all come back, a get works again.
void exhaustion_and_recovery(benchmark::State& state) {
  const auto number = static_cast<std::uint32_t>(state.range(0));
  auto made = mem::object_pool<std::array<std::byte, 64>>::make("exhaust", number);
  auto& pool = made.value();
  std::vector<std::array<std::byte, 64>*> held(number);
  for (auto _ : state) {
    for (auto*& one : held) one = pool.get();
    auto* none = pool.get();
    benchmark::DoNotOptimize(none);
    for (auto* one : held) pool.give(one);
  }
  if (!pool.is_whole() || pool.figures().refused != static_cast<std::uint64_t>(state.iterations()))
    state.SkipWithError("exhaustion was not counted once a round");
  state.SetItemsProcessed(state.iterations() * number);
}

// 10 000 rounds of get 16, 32, 64, 128, 256 and back in reverse: 100 000 operations an iteration.
void long_term_stability(benchmark::State& state) {
  constexpr std::array<std::size_t, 5> sizes = {16, 32, 64, 128, 256};
  auto made = mem::size_class_pool::make({.name = "stable", .per_class = 64});
  auto& pool = made.value();
  std::array<void*, sizes.size()> held{};
  for (auto _ : state) {
    for (int round = 0; round < 10'000; ++round) {
      for (std::size_t i = 0; i < sizes.size(); ++i) held[i] = pool.get(sizes[i]);
      benchmark::ClobberMemory();
      for (std::size_t i = sizes.size(); i-- > 0;) pool.give(held[i], sizes[i]);
    }
  }
  const mem::pool_figures figures = pool.figures();
  if (figures.in_use != 0 || figures.high_water != sizes.size() || figures.refused != 0)
    state.SkipWithError("the pool is not as it was");
  state.SetItemsProcessed(state.iterations() * 100'000);
}

// A new pool (before the timed part), N objects of 64 bytes out and back; the overhead is exact, from its geometry.
void pool_overhead(benchmark::State& state) {
  const auto number = static_cast<std::uint32_t>(state.range(0));
  auto made = mem::slot_pool::make("overhead", number, 64);
  auto& pool = made.value();
  std::vector<void*> held(number);
  for (auto _ : state) {
    for (void*& one : held) one = pool.get();
    benchmark::ClobberMemory();
    for (void* one : held) pool.put(one);
  }
  if (!pool.is_whole()) state.SkipWithError("not all came back");
  state.counters["overhead"] = static_cast<double>(pool.memory_bytes()) / (64.0 * number) - 1;
  state.SetItemsProcessed(state.iterations() * number);
}

// N users with a 128-byte write each. As published each has a pool and a buffer of its own; here they share one.
void many_small_buffers(benchmark::State& state) {
  mem::packet_pool& pool = blocks(1024);
  const auto number = static_cast<std::size_t>(state.range(0));
  std::vector<rte_mbuf*> held(number);
  std::array<char, 128> bytes{};
  for (auto _ : state) {
    for (rte_mbuf*& one : held) {
      one = pool.alloc();
      std::memcpy(rte_pktmbuf_append(one, sizeof bytes), bytes.data(), sizeof bytes);
    }
    benchmark::ClobberMemory();
    for (rte_mbuf* one : held) rte_pktmbuf_free(one);
  }
  if (!pool.is_whole()) state.SkipWithError("not all came back");
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(number));
}

void many_small_buffers_as_published(benchmark::State& state) {
  const auto number = static_cast<std::size_t>(state.range(0));
  std::array<char, 128> bytes{};
  for (auto _ : state) {
    std::vector<std::unique_ptr<bench::growing_slab>> slabs;
    for (std::size_t i = 0; i < number; ++i) {
      slabs.push_back(std::make_unique<bench::growing_slab>(4096, 4));
      void* block = slabs.back()->get();
      std::memcpy(block, bytes.data(), sizeof bytes);
      slabs.back()->give(block);
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(number));
}

// N empty counted objects: ours are pooled and counted by a plain number; the limit is std::make_shared.
struct counted {
  std::uint32_t holders = 1;
};

void shared_object_overhead(benchmark::State& state) {
  const auto number = static_cast<std::uint32_t>(state.range(0));
  static auto made = mem::object_pool<counted>::make("counted", 1024);
  auto& pool = made.value();
  std::vector<counted*> held(number);
  for (auto _ : state) {
    for (counted*& one : held) one = pool.get();
    benchmark::ClobberMemory();
    for (counted* one : held)
      if (--one->holders == 0) pool.give(one);
  }
  if (!pool.is_whole()) state.SkipWithError("not all came back");
  state.counters["bytes_each"] = pool.slot_bytes() + sizeof(void*);
  state.SetItemsProcessed(state.iterations() * number);
}

void shared_object_make_shared(benchmark::State& state) {
  const auto number = static_cast<std::size_t>(state.range(0));
  std::vector<std::shared_ptr<counted>> held(number);
  for (auto _ : state) {
    for (auto& one : held) one = std::make_shared<counted>();
    benchmark::ClobberMemory();
    for (auto& one : held) one.reset();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(number));
}

// Each thread has its own pool, as an lcore has: 1000 gets and gives of 4096 bytes and one shared atomic add each. The
// time is a thread's own; as published the threads' start is in it too.
void thread_work(std::atomic<std::uint64_t>& done, mem::slot_pool& pool) {
  for (int i = 0; i < 1000; ++i) {
    void* one = pool.get();
    benchmark::DoNotOptimize(one);
    pool.put(one);
    done.fetch_add(1, std::memory_order_relaxed);
  }
}

std::atomic<std::uint64_t> shared_count{0};

void multi_thread_alloc(benchmark::State& state) {
  auto made = mem::slot_pool::make("thread", 256, 4096);
  for (auto _ : state) thread_work(shared_count, made.value());
  if (!made.value().is_whole()) state.SkipWithError("not all came back");
  state.SetItemsProcessed(state.iterations() * 1000);
}

void multi_thread_alloc_as_published(benchmark::State& state) {
  const auto number = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < number; ++i)
      threads.emplace_back([] {
        bench::growing_slab slab(4096, 256);
        for (int round = 0; round < 1000; ++round) {
          void* one = slab.get();
          benchmark::DoNotOptimize(one);
          slab.give(one);
          shared_count.fetch_add(1, std::memory_order_relaxed);
        }
      });
    for (std::thread& one : threads) one.join();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(number) * 1000);
}

}  // namespace

void register_pool_shape_rows() {
  using benchmark::RegisterBenchmark;
  for (const std::int64_t bytes : {1024, 2048, 4096, 16384}) {
    RegisterBenchmark("s2_block_pool_efficiency_as_published", [](benchmark::State& s) {
      slab_rows(s, 32, 100, {28, 14, 7});
    })->Arg(bytes);
    RegisterBenchmark("s2_block_pool_efficiency", [](benchmark::State& s) { mempool_round(s, 100); })->Arg(bytes);
    RegisterBenchmark("s2_release_half_as_published", [](benchmark::State& s) {
      slab_rows(s, 64, 200, {56, 13, 7});
    })->Arg(bytes);
  }
  for (const std::int64_t number : {10, 50, 200, 500}) {
    const counts expected{number < 200 ? std::size_t{2} : 0, number < 200 ? std::size_t{12} : 20, 0};
    RegisterBenchmark(("s2_pool_expansion_as_published/" + std::to_string(number)).c_str(), [number, expected](
                                                                                                benchmark::State& s) {
      slab_rows(s, 4, static_cast<std::size_t>(number), expected);
    })->Arg(4096);
    RegisterBenchmark("s2_pool_expansion", exhaustion_and_recovery)->Arg(number);
  }
  RegisterBenchmark("s2_long_term_stability", long_term_stability)->Unit(benchmark::kMicrosecond);
  for (const std::int64_t number : {100, 1000, 10'000})
    RegisterBenchmark("s2_pool_overhead", pool_overhead)->Arg(number);
  for (const std::int64_t number : {10, 100, 1000}) {
    RegisterBenchmark("s2_many_small_buffers", many_small_buffers)->Arg(number);
    RegisterBenchmark("s2_many_small_buffers_as_published", many_small_buffers_as_published)->Arg(number);
    RegisterBenchmark("s2_shared_object_overhead", shared_object_overhead)->Arg(number);
    RegisterBenchmark("s2_shared_object_overhead__limit_make_shared", shared_object_make_shared)->Arg(number);
  }
  for (const int number : {1, 2, 4, 8}) {
    RegisterBenchmark("s2_multi_thread_alloc", multi_thread_alloc)->Threads(number)->UseRealTime();
    RegisterBenchmark("s2_multi_thread_alloc_as_published", multi_thread_alloc_as_published)
        ->Arg(number)
        ->UseRealTime();
  }
}
