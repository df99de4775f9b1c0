// test/support/raw_limits.hpp - the least a machine can do for the same effect, to be measured beside a benchmark.
//
// Shape    each runs the loop of a whole benchmark; name it CASE__limit_WHAT with the arguments of CASE.
// Units    bytes. Owner  its own memory, in cache after the first turn.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/endian.hpp"

namespace millrace::raw_limit {

// Copies `size` bytes, which the compiler does not know.
inline void copy(benchmark::State& state, std::size_t size) {
  const std::vector<std::uint8_t> from(size, 0x5A);
  std::vector<std::uint8_t> to(size);
  for (auto _ : state) {
    benchmark::DoNotOptimize(size);
    std::memcpy(to.data(), from.data(), size);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(size));
}

// Stores `count` integers in wire order, `step` bytes apart: what any encoder does at least.
inline void store_each(benchmark::State& state, std::size_t count, std::size_t step) {
  std::vector<std::uint8_t> room(count * step + sizeof(std::uint64_t));
  std::uint64_t value = 0x3FFF;
  for (auto _ : state) {
    benchmark::DoNotOptimize(value);
    std::uint8_t* at = room.data();
    for (std::size_t i = 0; i < count; ++i, at += step) {
      base::store_be64(at, value);
      benchmark::DoNotOptimize(at);
    }
    benchmark::ClobberMemory();
  }
}

// Loads `count` integers in wire order, `step` bytes apart.
inline void load_each(benchmark::State& state, std::size_t count, std::size_t step) {
  const std::vector<std::uint8_t> room(count * step + sizeof(std::uint64_t), 0x11);
  for (auto _ : state) {
    const std::uint8_t* at = room.data();
    for (std::size_t i = 0; i < count; ++i, at += step) benchmark::DoNotOptimize(base::load_be64(at));
  }
}

}  // namespace millrace::raw_limit
