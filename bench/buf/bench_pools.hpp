// bench/buf/bench_pools.hpp - the pools of this binary: made once, before any timing, and whole after each benchmark.
#pragma once

#include "buf/block_pool.hpp"
#include "buf/large_block_pool.hpp"
#include "support/eal_bench.hpp"

namespace millrace::bench_buf {

inline mem::packet_pool& packets() {
  static auto made = mem::packet_pool::make({.name = "packets", .packets = 4095});
  return made.value();
}
inline buf::block_pool& blocks_4k() {
  static auto made = buf::block_pool::make({.name = "blocks4k", .size = buf::block_size::kib_4});
  return made.value();
}
inline buf::block_pool& blocks_16k() {
  static auto made =
      buf::block_pool::make({.name = "blocks16k", .size = buf::block_size::kib_16, .blocks_per_mempool = 1023});
  return made.value();
}
inline buf::large_block_pool& blocks_64k() {
  static auto made = buf::large_block_pool::make({.name = "blocks64k"});
  return made.value();
}

// After the loop: what was taken is back, or the benchmark says so.
inline void must_be_whole(benchmark::State& state) {
  if (!packets().is_whole() || !blocks_4k().is_whole() || !blocks_16k().is_whole() || !blocks_64k().is_whole())
    state.SkipWithError("buffers leaked");
}

// Different bytes at different places, the same in each run.
inline std::vector<std::uint8_t> payload(std::size_t size) {
  std::vector<std::uint8_t> out(size);
  std::uint32_t word = 42;
  for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>((word = word * 1664525 + 1013904223) >> 24);
  return out;
}

inline bool same(base::byte_view a, base::byte_view b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

}  // namespace millrace::bench_buf
