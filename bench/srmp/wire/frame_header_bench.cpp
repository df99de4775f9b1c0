// What one SRMP header costs to read, whole and cut, and to write; and a datagram to classify.
#include <benchmark/benchmark.h>

#include <array>
#include <vector>

#include "srmp/wire/datagram.hpp"

namespace {

using namespace millrace;

// Headers of many lengths, so that the branch on the form is not always the same; `long_share` in per cent.
std::vector<std::array<std::uint8_t, 8>> headers(unsigned long_share) {
  std::vector<std::array<std::uint8_t, 8>> out(1024);
  std::uint32_t state = 1;
  for (auto& header : out) {
    state = state * 1'664'525 + 1'013'904'223;
    const std::uint32_t size = state >> 16;
    srmp::wire::emit_header(header.data(), 0x01, static_cast<std::uint8_t>(state >> 8),
                            size % 100 < long_share ? 65535 + size : size % 1400);
  }
  return out;
}

void parse_header(benchmark::State& state) {
  const auto in = headers(static_cast<unsigned>(state.range(0)));
  std::size_t i = 0;
  for (auto _ : state) {
    srmp::wire::frame_header header;
    auto got = srmp::wire::parse_header(in[i++ & 1023], srmp::wire::default_ceiling, header);
    benchmark::DoNotOptimize(got);
    benchmark::DoNotOptimize(header);
  }
}
BENCHMARK(parse_header)->ArgName("long%")->Arg(0)->Arg(10)->Arg(100);

// The header lies across two buffers, cut behind its third byte, which the compiler does not know.
void parse_header_split(benchmark::State& state) {
  const auto in = headers(static_cast<unsigned>(state.range(0)));
  std::size_t i = 0;
  std::size_t cut = 3;
  for (auto _ : state) {
    benchmark::DoNotOptimize(cut);
    const base::byte_view whole(in[i++ & 1023]);
    std::array<base::byte_view, 2> parts = {whole.first(cut), whole.subspan(cut)};
    benchmark::DoNotOptimize(parts);
    srmp::wire::frame_header header;
    auto got = srmp::wire::parse_header(base::segments(parts), 0, srmp::wire::default_ceiling, header);
    benchmark::DoNotOptimize(got);
    benchmark::DoNotOptimize(header);
  }
}
BENCHMARK(parse_header_split)->ArgName("long%")->Arg(0)->Arg(100);

void emit_header(benchmark::State& state) {
  std::array<std::uint8_t, 8> out;
  std::uint32_t size = 1;
  const auto mask = static_cast<std::uint32_t>(state.range(0));
  for (auto _ : state) {
    auto used = srmp::wire::emit_header(out.data(), 0x81, static_cast<std::uint8_t>(size), size & mask);
    benchmark::DoNotOptimize(used);
    benchmark::DoNotOptimize(out);
    size = size * 5 + 1;
  }
}
BENCHMARK(emit_header)->ArgName("mask")->Arg(0x7FFF)->Arg(0x1'FFFF);

// `range(0)` frames that fill a datagram of 1200 bytes.
void classify_datagram(benchmark::State& state) {
  const auto frames = static_cast<std::uint32_t>(state.range(0));
  std::vector<std::uint8_t> datagram(1200);
  const std::uint32_t each = 1200 / frames;
  for (std::uint32_t i = 0; i < frames; ++i) srmp::wire::emit_header(datagram.data() + i * each, 0x01, 1, each - 4);
  for (auto _ : state) {
    auto exact = srmp::wire::fills_exactly(datagram);
    benchmark::DoNotOptimize(exact);
  }
}
BENCHMARK(classify_datagram)->ArgName("frames")->Arg(1)->Arg(4)->Arg(40);

}  // namespace
