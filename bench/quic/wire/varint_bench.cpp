// Variable-length integers, in the mix a packet has: mostly one and two bytes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "base/byte_reader.hpp"
#include "base/byte_writer.hpp"
#include "quic/wire/packet_number.hpp"
#include "support/raw_limits.hpp"

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

// S2's values 0x3F, 0x3FFF, 0x3FFFFFFF: as integers of fixed width (what its benchmark writes), and as varints.
constexpr std::array<std::uint8_t, 7> s2_fixed = {0x3f, 0x3f, 0xff, 0x3f, 0xff, 0xff, 0xff};
constexpr std::array<std::uint8_t, 7> s2_varints = {0x3f, 0x7f, 0xff, 0xbf, 0xff, 0xff, 0xff};

template <class Write>
void write_three(benchmark::State& state, base::byte_view expected, Write&& write) {
  std::array<std::uint64_t, 3> values = {0x3F, 0x3FFF, 0x3FFF'FFFF};
  std::array<std::uint8_t, 32> room{};
  base::byte_writer first(room);
  if (!write(first, values) || !std::ranges::equal(first.written(), expected))
    state.SkipWithError("not the published bytes");
  for (auto _ : state) {
    benchmark::DoNotOptimize(values);
    base::byte_writer out(room);
    bool ok = write(out, values);
    benchmark::DoNotOptimize(ok);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 3);
}

void s2_fixed_int_encode(benchmark::State& state) {
  write_three(state, s2_fixed, [](base::byte_writer& out, const std::array<std::uint64_t, 3>& v) {
    return out.u8(static_cast<std::uint8_t>(v[0])) && out.u16(static_cast<std::uint16_t>(v[1])) &&
           out.u32(static_cast<std::uint32_t>(v[2]));
  });
}

void s2_varint_encode(benchmark::State& state) {
  write_three(state, s2_varints, [](base::byte_writer& out, const std::array<std::uint64_t, 3>& v) {
    return out.varint(v[0]) && out.varint(v[1]) && out.varint(v[2]);
  });
}

// One varint of eight bytes.
void s2_varint_encode_8_bytes(benchmark::State& state) {
  std::uint64_t value = base::varint_max;
  std::array<std::uint8_t, 8> room{};
  for (auto _ : state) {
    benchmark::DoNotOptimize(value);
    base::byte_writer out(room);
    bool ok = out.varint(value);
    benchmark::DoNotOptimize(ok);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

void store_three(benchmark::State& state) { raw_limit::store_each(state, 3, 4); }
void store_one(benchmark::State& state) { raw_limit::store_each(state, 1, 8); }
std::size_t step_of(const benchmark::State& state) {
  return state.range(0) != 0 ? static_cast<std::size_t>(state.range(0)) : sizeof(std::uint64_t);
}
void store_1024(benchmark::State& state) { raw_limit::store_each(state, count, step_of(state)); }
void load_1024(benchmark::State& state) { raw_limit::load_each(state, count, step_of(state)); }

BENCHMARK(s2_fixed_int_encode);
BENCHMARK(store_three)->Name("s2_fixed_int_encode__limit_store");
BENCHMARK(s2_varint_encode);
BENCHMARK(store_three)->Name("s2_varint_encode__limit_store");
BENCHMARK(s2_varint_encode_8_bytes);
BENCHMARK(store_one)->Name("s2_varint_encode_8_bytes__limit_store");
BENCHMARK(store_1024)->Name("quic_varint_encode_1024__limit_store")->Arg(0)->Arg(1)->Arg(2)->Arg(4)->Arg(8);
BENCHMARK(load_1024)->Name("quic_varint_decode_1024__limit_load")->Arg(0)->Arg(1)->Arg(2)->Arg(4)->Arg(8);
BENCHMARK(encode)->Name("quic_varint_encode_1024")->Arg(0)->Arg(1)->Arg(2)->Arg(4)->Arg(8);
BENCHMARK(decode)->Name("quic_varint_decode_1024")->Arg(0)->Arg(1)->Arg(2)->Arg(4)->Arg(8);
BENCHMARK(decode_packet_numbers)->Name("quic_decode_packet_number");

}  // namespace
