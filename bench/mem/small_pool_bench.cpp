// Small objects: one get and one give, and the mixed patterns, beside rte_mempool, rte_malloc and the general
// allocators that are installed. Rows of the published baseline's tables begin with s2_.
//   targets  get + give at most 2 ns for 16..256 bytes; mixed pattern at least 3 times faster than malloc.
#include <rte_malloc.h>
#include <rte_mempool.h>

#include <array>
#include <bit>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../support/allocators.hpp"
#include "mem/object_pool.hpp"
#include "mem/size_class_pool.hpp"
#include "rows.hpp"
#include "support/eal_bench.hpp"

namespace {

using namespace millrace;

constexpr std::array<std::size_t, 5> mixed_sizes = {16, 32, 64, 128, 256};
constexpr std::size_t bulk = 32;

mem::size_class_pool& classes() {
  static auto made = mem::size_class_pool::make({.name = "bench", .per_class = 4096});
  return made.value();
}

rte_mempool* mempool_of(std::size_t bytes, unsigned cache) {
  const std::string name = "raw" + std::to_string(bytes) + "." + std::to_string(cache);
  if (rte_mempool* there = rte_mempool_lookup(name.c_str()); there != nullptr) return there;
  return rte_mempool_create(name.c_str(), 4095, static_cast<unsigned>(bytes), cache, 0, nullptr, nullptr, nullptr,
                            nullptr, SOCKET_ID_ANY, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
}

template <class Get, class Give>
void get_and_give(benchmark::State& state, Get get, Give give) {
  void* proof = get();
  if (proof == nullptr) return state.SkipWithError("nothing to be had");
  std::memset(proof, 0x5a, static_cast<std::size_t>(state.range(0)));
  give(proof);
  for (auto _ : state) {
    void* one = get();
    benchmark::DoNotOptimize(one);
    give(one);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

// The argument is known at run time only, as it would be where sizes come from a message.
void with_pool(benchmark::State& state) {
  mem::size_class_pool& pool = classes();
  const auto bytes = static_cast<std::size_t>(state.range(0));
  get_and_give(state, [&] { return pool.get(bytes); }, [&](void* one) { pool.give(one, bytes); });
  if (!pool.is_whole()) state.SkipWithError("not all came back");
}

void with_pool_bulk(benchmark::State& state) {
  mem::size_class_pool& pool = classes();
  const auto bytes = static_cast<std::size_t>(state.range(0));
  std::array<void*, bulk> held{};
  for (auto _ : state) {
    for (void*& one : held) one = pool.get(bytes);
    benchmark::ClobberMemory();
    for (void* one : held) pool.give(one, bytes);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(bulk));
  if (!pool.is_whole()) state.SkipWithError("not all came back");
}

void with_mempool(benchmark::State& state, unsigned cache) {
  rte_mempool* pool = mempool_of(static_cast<std::size_t>(state.range(0)), cache);
  if (pool == nullptr) return state.SkipWithError("no mempool");
  get_and_give(
      state,
      [pool] {
        void* one = nullptr;
        return rte_mempool_get(pool, &one) == 0 ? one : nullptr;
      },
      [pool](void* one) { rte_mempool_put(pool, one); });
  if (rte_mempool_in_use_count(pool) != 0) state.SkipWithError("not all came back");
}

void with_mempool_bulk(benchmark::State& state) {
  rte_mempool* pool = mempool_of(static_cast<std::size_t>(state.range(0)), 256);
  std::array<void*, bulk> held{};
  for (auto _ : state) {
    if (rte_mempool_get_bulk(pool, held.data(), bulk) != 0) state.SkipWithError("pool empty");
    benchmark::ClobberMemory();
    rte_mempool_put_bulk(pool, held.data(), bulk);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(bulk));
}

void with_rte_malloc(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  get_and_give(state, [bytes] { return rte_malloc(nullptr, bytes, 0); }, [](void* one) { rte_free(one); });
}

void with_allocator(benchmark::State& state, bench::allocator heap) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  get_and_give(state, [&] { return heap.get(bytes); }, [&](void* one) { heap.give(one); });
}

// A typed object with a constructor and a destructor that do something, by handle.
struct session {
  std::uint64_t id;
  std::array<std::uint64_t, 15> rest{};
  explicit session(std::uint64_t its) noexcept : id(its) {}
  ~session() { benchmark::DoNotOptimize(id); }
};

void object_pool_handle(benchmark::State& state) {
  static auto made = mem::object_pool<session>::make("sessions", 1024);
  auto& pool = made.value();
  std::uint64_t next = 0;
  for (auto _ : state) {
    mem::pooled<session> one = pool.make_pooled(next++);
    benchmark::DoNotOptimize(one.get());
  }
  if (!pool.is_whole()) state.SkipWithError("not all came back");
}

// get 16, 32, 64, 128, 256; give back in reverse: ten operations, their sizes known to the compiler as in the baseline.
template <class Get, class Give, std::size_t... I>
void mixed_pattern(benchmark::State& state, Get get, Give give, std::index_sequence<I...> /*all*/) {
  constexpr std::size_t last = sizeof...(I) - 1;
  std::array<void*, sizeof...(I)> held{};
  void** escaped = held.data();
  benchmark::DoNotOptimize(escaped);  // from here on any clobber may have read and written it
  for (auto _ : state) {
    ((held[I] = get(mixed_sizes[I])), ...);
    benchmark::ClobberMemory();
    (give(held[last - I], mixed_sizes[last - I]), ...);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(sizeof...(I)));
}

template <class Get, class Give>
void mixed_pattern(benchmark::State& state, Get get, Give give) {
  mixed_pattern(state, get, give, std::make_index_sequence<mixed_sizes.size()>{});
}

// 10 of random size; 7 given back at random places; 5 more; the 8 that are left. Drawing is part of the published row;
// `drawn` replays numbers that were drawn before.
template <class Get, class Give>
void mixed_alloc_free(benchmark::State& state, bool drawn, Get get, Give give) {
  std::mt19937 random(42);
  std::vector<std::uint32_t> numbers(4096);
  for (std::uint32_t& one : numbers) one = static_cast<std::uint32_t>(random());
  std::size_t at = 0;
  const auto draw = [&]() -> std::uint32_t {
    return drawn ? numbers[at++ & 4095] : static_cast<std::uint32_t>(random());
  };
  struct entry {
    void* block;
    std::size_t bytes;
  };
  std::array<entry, 16> held{};
  std::size_t count = 0;
  const auto take = [&] {
    const std::size_t bytes = 8 + draw() % 249;
    held[count++] = {get(bytes), bytes};
  };
  const auto drop = [&](std::size_t i) {
    give(held[i].block, held[i].bytes);
    held[i] = held[--count];
  };
  for (auto _ : state) {
    for (int i = 0; i < 10; ++i) take();
    for (int i = 0; i < 7; ++i) drop(draw() % count);
    for (int i = 0; i < 5; ++i) take();
    while (count != 0) drop(count - 1);
    benchmark::ClobberMemory();
  }
}

template <class Row>
void pool_row(benchmark::State& state, Row row) {
  mem::size_class_pool& pool = classes();
  row([&](std::size_t bytes) { return pool.get(bytes); }, [&](void* one, std::size_t bytes) { pool.give(one, bytes); });
  if (!pool.is_whole()) state.SkipWithError("not all came back");
}

void mempool_mixed_pattern(benchmark::State& state) {
  std::array<rte_mempool*, mixed_sizes.size()> pools{};
  for (std::size_t i = 0; i < pools.size(); ++i) pools[i] = mempool_of(mixed_sizes[i], 256);
  const auto of = [&pools](std::size_t bytes) { return pools[static_cast<std::size_t>(std::countr_zero(bytes)) - 4]; };
  mixed_pattern(
      state,
      [&](std::size_t bytes) {
        void* one = nullptr;
        return rte_mempool_get(of(bytes), &one) == 0 ? one : nullptr;
      },
      [&](void* one, std::size_t bytes) { rte_mempool_put(of(bytes), one); });
}

void sizes_of(benchmark::internal::Benchmark* row) { row->Arg(16)->Arg(64)->Arg(128)->Arg(256); }

}  // namespace

void register_small_pool_rows() {
  using benchmark::RegisterBenchmark;
  RegisterBenchmark("s2_poolallocator", with_pool)->Apply(sizes_of);
  RegisterBenchmark("s2_poolallocator__limit_rte_mempool", [](benchmark::State& s) {
    with_mempool(s, 256);
  })->Apply(sizes_of);
  RegisterBenchmark("s2_poolallocator__limit_rte_mempool_uncached", [](benchmark::State& s) {
    with_mempool(s, 0);
  })->Apply(sizes_of);
  RegisterBenchmark("s2_poolallocator__limit_rte_malloc", with_rte_malloc)->Apply(sizes_of);
  RegisterBenchmark("s2_poolallocator_bulk32", with_pool_bulk)->Apply(sizes_of);
  RegisterBenchmark("s2_poolallocator_bulk32__limit_rte_mempool", with_mempool_bulk)->Apply(sizes_of);
  RegisterBenchmark("object_pool_handle", object_pool_handle);
  RegisterBenchmark("s2_mixed_pattern", [](benchmark::State& s) {
    pool_row(s, [&](auto get, auto give) { mixed_pattern(s, get, give); });
  });
  RegisterBenchmark("s2_mixed_pattern__limit_rte_mempool", mempool_mixed_pattern);
  for (const bool drawn : {false, true}) {
    const std::string name = drawn ? "s2_mixed_alloc_free_drawn" : "s2_mixed_alloc_free";
    RegisterBenchmark(name.c_str(), [drawn](benchmark::State& s) {
      pool_row(s, [&](auto get, auto give) { mixed_alloc_free(s, drawn, get, give); });
    });
    for (const bench::allocator& heap : bench::allocators())
      RegisterBenchmark((name + "__limit_" + heap.name).c_str(), [drawn, heap](benchmark::State& s) {
        mixed_alloc_free(s, drawn, heap.get, [&](void* one, std::size_t) { heap.give(one); });
      });
  }
  for (const bench::allocator& heap : bench::allocators()) {
    const std::string limit = std::string("__limit_") + heap.name;
    RegisterBenchmark(("s2_poolallocator" + limit).c_str(), with_allocator, heap)->Apply(sizes_of);
    RegisterBenchmark(("s2_mixed_pattern" + limit).c_str(), [heap](benchmark::State& s) {
      mixed_pattern(s, heap.get, [&](void* one, std::size_t) { heap.give(one); });
    });
  }
  RegisterBenchmark("s2_std_malloc", with_allocator, bench::allocators().front())
      ->Apply(sizes_of)
      ->Arg(1024)
      ->Arg(4096);
}
