// The baseline's Huffman rows ("www.example.com", 12 bytes of code), and long values by the byte of decoded text.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "h3/qpack/huffman.hpp"

namespace {

using namespace millrace;
using namespace millrace::h3;

constexpr std::string_view short_text = "www.example.com";

std::string long_text() {
  std::string text;
  while (text.size() < 4096) text += "/assets/2026/scripts/application.min.js?session=0a1b2c3d4e&locale=en-us; ";
  return text;
}

std::vector<std::uint8_t> encoded(std::string_view text) {
  std::vector<std::uint8_t> out(qpack::huffman_size(text));
  qpack::huffman_encode(text, out.data());
  return out;
}

void encode(benchmark::State& state, std::string_view text) {
  std::vector<std::uint8_t> out(qpack::huffman_size(text));
  for (auto _ : state) {
    benchmark::DoNotOptimize(text);
    benchmark::DoNotOptimize(qpack::huffman_encode(text, out.data()));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
}

void decode(benchmark::State& state, std::string_view text) {
  const std::vector<std::uint8_t> code = encoded(text);
  std::vector<char> out(qpack::huffman_max_decoded(code.size()));
  for (auto _ : state) {
    const qpack::huffman_result r = qpack::huffman_decode(code, out);
    benchmark::DoNotOptimize(r.size);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
}

// Moving as many decoded bytes: no code takes less.
void copy(benchmark::State& state, std::string_view text) {
  std::vector<char> out(text.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(text);
    std::memcpy(out.data(), text.data(), text.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
}

void huffman_encode(benchmark::State& state) { encode(state, short_text); }
BENCHMARK(huffman_encode);

void huffman_encode_long(benchmark::State& state) { encode(state, long_text()); }
BENCHMARK(huffman_encode_long);

void huffman_decode(benchmark::State& state) { decode(state, short_text); }
BENCHMARK(huffman_decode);

void huffman_decode_long(benchmark::State& state) { decode(state, long_text()); }
BENCHMARK(huffman_decode_long);

void huffman_decode__limit_memcpy(benchmark::State& state) { copy(state, short_text); }
BENCHMARK(huffman_decode__limit_memcpy);

void huffman_decode_long__limit_memcpy(benchmark::State& state) { copy(state, long_text()); }
BENCHMARK(huffman_decode_long__limit_memcpy);

}  // namespace

BENCHMARK_MAIN();
