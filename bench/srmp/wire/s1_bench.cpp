// The rows of S1's section 4.4 that need no pipe: reading a frame's header whole and cut, building it, building a
// frame.
//
// Args     the payload's bytes: 64, 4096, 65536 (the last in the long form, as there). Sequence, flags and the lowest
//          bits of the length differ from one frame to the next, so that neither the compiler nor the branch predictor
//          knows the answer; _mixed rows draw the form at random too.
// Limits   __limit_load reads (or writes) the same bytes from the same places and does nothing else.
#include <benchmark/benchmark.h>

#include <array>
#include <random>
#include <vector>

#include "srmp/wire/frame.hpp"
#include "srmp/wire/length_field.hpp"

namespace {

using namespace millrace;
namespace wire = srmp::wire;

constexpr std::size_t count = 8192;  // more than a predictor remembers; 128 KiB of buffers
constexpr std::size_t stride = 16;

struct headers {
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(count * stride);
  std::vector<wire::frame_header> expected = std::vector<wire::frame_header>(count);

  [[nodiscard]] base::byte_view at(std::size_t i) const { return base::byte_view(bytes).subspan(i * stride, stride); }
};

// `long_percent` of them with a payload of 65536 and more, the others around `size`.
headers make_headers(std::uint32_t size, unsigned long_percent) {
  headers out;
  std::mt19937 random(size + long_percent);
  for (std::size_t i = 0; i < count; ++i) {
    const auto here = static_cast<std::uint32_t>((random() % 100 < long_percent ? 65536u : size) + random() % 16);
    const auto flags = static_cast<std::uint8_t>(random());
    const auto seq = static_cast<std::uint8_t>(random());
    const std::size_t used = wire::emit_header(out.bytes.data() + i * stride, flags, seq, here);
    out.expected[i] = {flags, seq, static_cast<std::uint16_t>(used), here};
  }
  return out;
}

bool parses(const headers& in, benchmark::State& state) {
  for (std::size_t i = 0; i < count; ++i) {
    wire::frame_header got;
    if (wire::parse_header(in.at(i), wire::max_payload, got).outcome != base::progress::done || got != in.expected[i]) {
      state.SkipWithError("a header reads wrong");
      return false;
    }
  }
  return true;
}

void run_parse(benchmark::State& state, const headers& in) {
  if (!parses(in, state)) return;
  std::size_t i = 0;
  for (auto _ : state) {
    wire::frame_header header;
    auto got = wire::parse_header(in.at(i), wire::default_ceiling, header);
    benchmark::DoNotOptimize(got);
    benchmark::DoNotOptimize(header);
    i = (i + 1) % count;
  }
}

void s1_4_4_srmp_try_parse(benchmark::State& state) {
  run_parse(state, make_headers(static_cast<std::uint32_t>(state.range(0)), 0));
}
BENCHMARK(s1_4_4_srmp_try_parse)->Arg(64)->Arg(4096)->Arg(65536);

void srmp_try_parse_mixed(benchmark::State& state) {
  run_parse(state, make_headers(64, static_cast<unsigned>(state.range(0))));
}
BENCHMARK(srmp_try_parse_mixed)->ArgName("long%")->Arg(10)->Arg(50);

void run_load(benchmark::State& state, const headers& in) {
  std::size_t i = 0;
  for (auto _ : state) {
    auto opening = base::load_le64(in.at(i).data());
    benchmark::DoNotOptimize(opening);
    i = (i + 1) % count;
  }
}

void s1_4_4_srmp_try_parse__limit_load(benchmark::State& state) {
  run_load(state, make_headers(static_cast<std::uint32_t>(state.range(0)), 0));
}
BENCHMARK(s1_4_4_srmp_try_parse__limit_load)->Arg(64)->Arg(4096)->Arg(65536);

void srmp_try_parse_mixed__limit_load(benchmark::State& state) {
  run_load(state, make_headers(64, static_cast<unsigned>(state.range(0))));
}
BENCHMARK(srmp_try_parse_mixed__limit_load)->ArgName("long%")->Arg(10)->Arg(50);

// Each header in two buffers, cut at random behind its first, second or third byte (long ones: up to the seventh), as
// "cut before its last byte" of the published row.
using two_parts = std::array<base::byte_view, 2>;

std::vector<two_parts> cut(const headers& in) {
  std::vector<two_parts> out(count);
  std::mt19937 random(7);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t behind = 1 + random() % (in.expected[i].header_size - 1u);
    out[i] = {in.at(i).first(behind), in.at(i).subspan(behind)};
  }
  return out;
}

void s1_4_4_srmp_try_parse_split(benchmark::State& state) {
  const headers in = make_headers(static_cast<std::uint32_t>(state.range(0)), 0);
  const std::vector<two_parts> parts = cut(in);
  for (std::size_t i = 0; i < count; ++i) {
    wire::frame_header got;
    if (wire::parse_header(base::segments(parts[i]), 0, wire::max_payload, got).outcome != base::progress::done ||
        got != in.expected[i]) {
      state.SkipWithError("a cut header reads wrong");
      return;
    }
  }
  std::size_t i = 0;
  for (auto _ : state) {
    wire::frame_header header;
    auto got = wire::parse_header(base::segments(parts[i]), 0, wire::default_ceiling, header);
    benchmark::DoNotOptimize(got);
    benchmark::DoNotOptimize(header);
    i = (i + 1) % count;
  }
}
BENCHMARK(s1_4_4_srmp_try_parse_split)->Arg(64)->Arg(4096)->Arg(65536);

// The limit copies the header's bytes together from both parts, whose sizes it has to look at as well.
void s1_4_4_srmp_try_parse_split__limit_load(benchmark::State& state) {
  const headers in = make_headers(static_cast<std::uint32_t>(state.range(0)), 0);
  const std::vector<two_parts> parts = cut(in);
  std::size_t i = 0;
  for (auto _ : state) {
    std::uint8_t joined[stride];
    std::memcpy(joined, parts[i][0].data(), parts[i][0].size());
    std::memcpy(joined + parts[i][0].size(), parts[i][1].data(), 8);
    auto opening = base::load_le64(joined);
    benchmark::DoNotOptimize(opening);
    i = (i + 1) % count;
  }
}
BENCHMARK(s1_4_4_srmp_try_parse_split__limit_load)->Arg(64)->Arg(4096)->Arg(65536);

void run_build(benchmark::State& state, const headers& in) {
  if (!parses(in, state)) return;
  std::array<std::uint8_t, 8> out{};
  std::size_t i = 0;
  for (auto _ : state) {
    const wire::frame_header& want = in.expected[i];
    auto used = wire::emit_header(out.data(), want.flags, want.seq, want.payload_size);
    benchmark::DoNotOptimize(used);
    benchmark::DoNotOptimize(out);
    i = (i + 1) % count;
  }
}

void s1_4_4_build_header(benchmark::State& state) {
  run_build(state, make_headers(static_cast<std::uint32_t>(state.range(0)), 0));
}
BENCHMARK(s1_4_4_build_header)->Arg(64)->Arg(4096)->Arg(65536);

void srmp_build_header_mixed(benchmark::State& state) {
  run_build(state, make_headers(64, static_cast<unsigned>(state.range(0))));
}
BENCHMARK(srmp_build_header_mixed)->ArgName("long%")->Arg(10)->Arg(50);

void run_store(benchmark::State& state, const headers& in) {
  std::array<std::uint8_t, 8> out{};
  std::size_t i = 0;
  for (auto _ : state) {
    const wire::frame_header& want = in.expected[i];
    base::store_le32(out.data(), want.flags | static_cast<std::uint32_t>(want.seq) << 8);
    base::store_le32(out.data() + 4, want.payload_size);
    benchmark::DoNotOptimize(out);
    i = (i + 1) % count;
  }
}

void s1_4_4_build_header__limit_store(benchmark::State& state) {
  run_store(state, make_headers(static_cast<std::uint32_t>(state.range(0)), 0));
}
BENCHMARK(s1_4_4_build_header__limit_store)->Arg(64)->Arg(4096)->Arg(65536);

void srmp_build_header_mixed__limit_store(benchmark::State& state) {
  run_store(state, make_headers(64, static_cast<unsigned>(state.range(0))));
}
BENCHMARK(srmp_build_header_mixed__limit_store)->ArgName("long%")->Arg(10)->Arg(50);

// Header and a copy of the payload into room that stays in cache.
void s1_4_4_build(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  std::vector<std::uint8_t> payload(size);
  std::mt19937 random(3);
  for (std::uint8_t& byte : payload) byte = static_cast<std::uint8_t>(random());
  std::vector<std::uint8_t> room(size + wire::long_header_size);
  const std::size_t used = wire::emit_frame(room, 1, 1, payload);
  wire::frame back;
  if (wire::parse_frame(base::byte_view(room).first(used), wire::max_payload, back).outcome != base::progress::done ||
      !std::equal(payload.begin(), payload.end(), back.payload.begin(), back.payload.end())) {
    state.SkipWithError("a frame does not read back");
    return;
  }
  std::uint8_t seq = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(payload.data());
    auto written = wire::emit_frame(room, 1, ++seq, payload);
    benchmark::DoNotOptimize(written);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(s1_4_4_build)->Arg(64)->Arg(4096)->Arg(65536);

void s1_4_4_build__limit_memcpy(benchmark::State& state) {
  auto size = static_cast<std::size_t>(state.range(0));
  const std::vector<std::uint8_t> payload(size, 0x5A);
  std::vector<std::uint8_t> room(size + wire::long_header_size);
  for (auto _ : state) {
    benchmark::DoNotOptimize(payload.data());
    std::memcpy(room.data() + (size > wire::max_short_payload ? 8 : 4), payload.data(), size);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(s1_4_4_build__limit_memcpy)->Arg(64)->Arg(4096)->Arg(65536);

// Arg: the length's form as the other stack writes it (2, -2, 4, 0 = varint); payloads up to 16 KiB.
void length_field_parse(benchmark::State& state) {
  const auto format = wire::length_format::make(static_cast<int>(state.range(0)));
  std::vector<std::uint8_t> bytes(count * stride);
  std::vector<std::uint32_t> sizes(count);
  std::mt19937 random(5);
  for (std::size_t i = 0; i < count; ++i) {
    sizes[i] = static_cast<std::uint32_t>(random() >> (18 + random() % 14));
    wire::length_header got;
    const base::byte_span room = base::byte_span(bytes).subspan(i * stride, stride);
    if (!format || wire::emit_length_field(room, *format, sizes[i]) == 0 ||
        wire::parse_length_field(room, *format, wire::max_length_payload, got).outcome != base::progress::done ||
        got.payload_size != sizes[i]) {
      state.SkipWithError("a length reads wrong");
      return;
    }
  }
  std::size_t i = 0;
  for (auto _ : state) {
    wire::length_header header;
    auto got = wire::parse_length_field(base::byte_view(bytes).subspan(i * stride, stride), *format, 16u << 20, header);
    benchmark::DoNotOptimize(got);
    benchmark::DoNotOptimize(header);
    i = (i + 1) % count;
  }
}
BENCHMARK(length_field_parse)->Arg(2)->Arg(-2)->Arg(4)->Arg(0);

void length_field_parse__limit_load(benchmark::State& state) {
  std::vector<std::uint8_t> bytes(count * stride, 1);
  std::size_t i = 0;
  for (auto _ : state) {
    auto word = base::load_le32(bytes.data() + i * stride);
    if (state.range(0) < 0) word = __builtin_bswap32(word);
    benchmark::DoNotOptimize(word);
    i = (i + 1) % count;
  }
}
BENCHMARK(length_field_parse__limit_load)->Arg(2)->Arg(-2)->Arg(4)->Arg(0);

}  // namespace
