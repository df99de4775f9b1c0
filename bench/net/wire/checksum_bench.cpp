// The checksum beside a memcpy of the same bytes: what summing while copying could at best save.

#include <benchmark/benchmark.h>

#include <vector>

#include "net/wire/checksum.hpp"
#include "support/raw_limits.hpp"

namespace {

using namespace millrace;
using namespace millrace::net::wire;

void net_checksum(benchmark::State& state) {
  const std::vector<std::uint8_t> in(static_cast<std::size_t>(state.range(0)), 0x5A);
  for (auto _ : state) benchmark::DoNotOptimize(internet_checksum(base::byte_view(in)));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void net_checksum_word_by_word(benchmark::State& state) {
  const std::vector<std::uint8_t> in(static_cast<std::size_t>(state.range(0)), 0x5A);
  for (auto _ : state) benchmark::DoNotOptimize(fold_sum(sum_words_plain(in)));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void net_checksum__limit_memcpy(benchmark::State& state) {
  raw_limit::copy(state, static_cast<std::size_t>(state.range(0)));
}

void net_update_checksum_of_a_port(benchmark::State& state) {
  std::uint16_t value = 0x1234;
  for (auto _ : state)
    benchmark::DoNotOptimize(value = update_checksum(value, std::uint16_t{443}, std::uint16_t{8443}));
}

BENCHMARK(net_checksum)->Arg(20)->Arg(64)->Arg(1500);
BENCHMARK(net_checksum_word_by_word)->Arg(20)->Arg(64)->Arg(1500);
BENCHMARK(net_checksum__limit_memcpy)->Arg(20)->Arg(64)->Arg(1500);
BENCHMARK(net_update_checksum_of_a_port);

}  // namespace

BENCHMARK_MAIN();
