// Headers and classification: what every datagram costs before any key is touched.
#include <benchmark/benchmark.h>

#include <array>
#include <vector>

#include "quic/wire/gquic.hpp"
#include "quic/wire/header_emit.hpp"
#include "support/raw_limits.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic::wire;

const std::vector<std::uint8_t> cid(8, 0x5C);

// Many datagrams side by side, so that the branch predictor has to work as it would on a link.
constexpr std::size_t datagrams = 64;
constexpr std::size_t datagram_size = 1200;

std::vector<std::uint8_t> initials(version_number version) {
  std::vector<std::uint8_t> out(datagrams * datagram_size, 0xA7);
  for (std::size_t i = 0; i < datagrams; ++i) {
    base::byte_writer to(base::byte_span(out).subspan(i * datagram_size, datagram_size));
    base::byte_span number;
    const std::vector<std::uint8_t> token(i % 3 * 16, 0x70);
    long_header h{.version = version, .dcid = cid, .scid = cid, .token = token, .pn_size = 1 + i % 4};
    h.length = datagram_size - encoded_size(h);
    if (!emit(to, h, number)) std::abort();
  }
  return out;
}

std::vector<std::uint8_t> short_headers() {
  std::vector<std::uint8_t> out(datagrams * datagram_size, 0xA7);
  for (std::size_t i = 0; i < datagrams; ++i) out[i * datagram_size] = static_cast<std::uint8_t>(0x40 | i % 64);
  return out;
}

base::byte_view nth(const std::vector<std::uint8_t>& all, std::size_t i) {
  return base::byte_view(all).subspan(i % datagrams * datagram_size, datagram_size);
}

void parse_initial(benchmark::State& state) {
  const auto all = initials(static_cast<version_number>(state.range(0)));
  std::size_t i = 0;
  packet_header h;
  for (auto _ : state) {
    benchmark::DoNotOptimize(parse_packet(nth(all, i++), h));
    benchmark::DoNotOptimize(h);
  }
}

void parse_short_header(benchmark::State& state) {
  const auto all = short_headers();
  std::size_t i = 0;
  packet_header h;
  for (auto _ : state) {
    benchmark::DoNotOptimize(parse_packet(nth(all, i++), h));
    benchmark::DoNotOptimize(h);
  }
}

void classify_short_header(benchmark::State& state) {
  const auto all = short_headers();
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(classify(nth(all, i++)));
}

void classify_initial(benchmark::State& state) {
  const auto all = initials(static_cast<version_number>(state.range(0)));
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(classify(nth(all, i++)));
}

// What is not QUIC and looks least like it: zeros, and bytes with the top bit set.
void classify_other(benchmark::State& state) {
  const std::vector<std::uint8_t> all(datagrams * datagram_size, static_cast<std::uint8_t>(state.range(0)));
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(classify(nth(all, i++)));
}

void parse_gquic_client(benchmark::State& state) {
  std::array<std::uint8_t, 64> packet{0x0D, 1, 2, 3, 4, 5, 6, 7, 8, 'Q', '0', '4', '3', 1};
  gquic_header h;
  for (auto _ : state) {
    benchmark::DoNotOptimize(packet);
    benchmark::DoNotOptimize(parse_gquic(packet, h));
    benchmark::DoNotOptimize(h);
  }
}

void emit_initial(benchmark::State& state) {
  std::array<std::uint8_t, 64> room{};
  const long_header h{.dcid = cid, .scid = cid, .length = 1182, .pn_size = 2};
  base::byte_span number;
  for (auto _ : state) {
    base::byte_writer out(room);
    benchmark::DoNotOptimize(emit(out, h, number));
    benchmark::ClobberMemory();
  }
}

void emit_short(benchmark::State& state) {
  std::array<std::uint8_t, 64> room{};
  const short_header h{.dcid = cid, .pn_size = 2};
  base::byte_span number;
  for (auto _ : state) {
    base::byte_writer out(room);
    benchmark::DoNotOptimize(emit(out, h, number));
    benchmark::ClobberMemory();
  }
}

// As many bytes as such headers have: 24 to 60 of an Initial, read; 26 and 11, written.
void copy_long(benchmark::State& state) { raw_limit::copy(state, 40); }
void copy_written_long(benchmark::State& state) { raw_limit::copy(state, 26); }
void copy_short(benchmark::State& state) { raw_limit::copy(state, 11); }

BENCHMARK(copy_long)->Name("quic_parse_initial__limit_memcpy/v1")->Arg(version_1);
BENCHMARK(copy_long)->Name("quic_parse_initial__limit_memcpy/v2")->Arg(version_2);
BENCHMARK(copy_short)->Name("quic_parse_short_header__limit_memcpy");
BENCHMARK(copy_short)->Name("quic_classify_short_header__limit_memcpy");
BENCHMARK(copy_long)->Name("quic_classify_initial__limit_memcpy/v1")->Arg(version_1);
BENCHMARK(copy_written_long)->Name("quic_emit_initial__limit_memcpy");
BENCHMARK(copy_short)->Name("quic_emit_short_header__limit_memcpy");
BENCHMARK(parse_initial)->Name("quic_parse_initial/v1")->Arg(version_1);
BENCHMARK(parse_initial)->Name("quic_parse_initial/v2")->Arg(version_2);
BENCHMARK(parse_short_header)->Name("quic_parse_short_header");
BENCHMARK(classify_short_header)->Name("quic_classify_short_header");
BENCHMARK(classify_initial)->Name("quic_classify_initial/v1")->Arg(version_1);
BENCHMARK(classify_initial)->Name("quic_classify_initial/draft29")->Arg(0xff00001d);
BENCHMARK(classify_initial)->Name("quic_classify_initial/mvfst")->Arg(0xfaceb002);
BENCHMARK(classify_other)->Name("quic_classify_other/00")->Arg(0x00);
BENCHMARK(classify_other)->Name("quic_classify_other/ff")->Arg(0xFF);
BENCHMARK(parse_gquic_client)->Name("quic_parse_gquic");
BENCHMARK(emit_initial)->Name("quic_emit_initial");
BENCHMARK(emit_short)->Name("quic_emit_short_header");

}  // namespace

BENCHMARK_MAIN();
