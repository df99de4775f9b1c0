// Variable-length integers, in the mix a packet has: mostly one and two bytes.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "base/byte_reader.hpp"
#include "base/byte_writer.hpp"
#include "quic/wire/packet_number.hpp"

namespace {

using namespace millrace;

constexpr std::size_t count = 1024;

// All of one size (1, 2, 4, 8), or (0) a mix of half one byte, a quarter two, and so on.
std::vector<std::uint64_t> values(std::int64_t size) {
  std::mt19937_64 random(16);
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t take = size;
    if (take == 0) take = i % 2 == 0 ? 1 : i % 4 == 1 ? 2 : i % 8 == 3 ? 4 : 8;
    out.push_back((random() >> (64 - 8 * take)) & (base::varint_max >> (62 - (8 * take - 2))));
  }
  return out;
}

void encode(benchmark::State& state) {
  const auto in = values(state.range(0));
  std::vector<std::uint8_t> room(count * base::max_varint_size);
  for (auto _ : state) {
    base::byte_writer out(room);
    for (const std::uint64_t v : in) benchmark::DoNotOptimize(out.varint(v));
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * count);
}

void decode(benchmark::State& state) {
  std::vector<std::uint8_t> room(count * base::max_varint_size);
  base::byte_writer out(room);
  for (const std::uint64_t v : values(state.range(0)))
    if (!out.varint(v)) std::abort();
  for (auto _ : state) {
    base::byte_reader in(out.written());
    std::uint64_t v = 0;
    while (in.varint(v)) benchmark::DoNotOptimize(v);
  }
  state.SetItemsProcessed(state.iterations() * count);
}

void decode_packet_numbers(benchmark::State& state) {
  std::uint64_t largest = 1'000'000;
  for (auto _ : state)
    benchmark::DoNotOptimize(largest = quic::wire::decode_packet_number(largest, (largest + 1) & 0xFFFF, 2));
}

BENCHMARK(encode)->Name("quic_varint_encode_1024")->Arg(0)->Arg(1)->Arg(2)->Arg(4)->Arg(8);
BENCHMARK(decode)->Name("quic_varint_decode_1024")->Arg(0)->Arg(1)->Arg(2)->Arg(4)->Arg(8);
BENCHMARK(decode_packet_numbers)->Name("quic_decode_packet_number");

}  // namespace
