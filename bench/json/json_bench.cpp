// What JSON costs: a line of inspect written, a small request read. No heap in either.
#include <benchmark/benchmark.h>

#include <array>

#include "json/reader.hpp"
#include "json/writer.hpp"
#include "support/raw_limits.hpp"

namespace {

using namespace millrace;

constexpr std::array<std::uint8_t, 8> cid = {0x83, 0xA4, 0xF2, 0xC0, 0x1B, 0xD9, 0x5E, 0x67};

void json_write_line(benchmark::State& state) {
  std::array<char, 2048> room;
  json::buffer_sink out(room);
  json::writer w(out);
  std::uint64_t n = 1;
  for (auto _ : state) {
    out.reset();
    w.begin_object();
    w.member("proto", "quic");
    w.member("src", "198.18.0.7:50123");
    w.member("dst", "[2001:db8::443]:443");
    w.member("role_known", true);
    w.member("version", "0x00000001");
    w.key("dcid");
    w.hex(cid);
    w.member("sni", "www.millrace.test");
    w.key("alpn");
    w.begin_array();
    w.value("h3");
    w.end_array();
    w.key("packets");
    w.begin_object();
    for (const char* kind : {"initial", "zero_rtt", "handshake", "retry", "version_negotiation", "one_rtt"})
      w.member(kind, n++);
    w.end_object();
    w.member("bytes", n * 1000);
    w.key("first_ts");
    w.fixed(1'700'000'000.25, 6);
    w.end_object();
    auto status = w.end_line();
    benchmark::DoNotOptimize(status);
    benchmark::DoNotOptimize(room);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(out.text().size()));
}
BENCHMARK(json_write_line);

// As many bytes as that line has.
void json_write_line__limit_memcpy(benchmark::State& state) { raw_limit::copy(state, 330); }
BENCHMARK(json_write_line__limit_memcpy);

void json_write_string(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const std::string text = state.range(1) == 0 ? std::string(size, 'x') : std::string(size, '\n');
  std::array<char, 8192> room;
  json::buffer_sink out(room);
  json::writer w(out);
  for (auto _ : state) {
    out.reset();
    w.value(text);
    auto status = w.end_line();
    benchmark::DoNotOptimize(status);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(json_write_string)->ArgNames({"size", "escaped"})->Args({16, 0})->Args({1024, 0})->Args({1024, 1});

void json_write_string__limit_memcpy(benchmark::State& state) {
  raw_limit::copy(state, static_cast<std::size_t>(state.range(0) * (state.range(1) == 0 ? 1 : 2)));
}
BENCHMARK(json_write_string__limit_memcpy)
    ->ArgNames({"size", "escaped"})
    ->Args({16, 0})
    ->Args({1024, 0})
    ->Args({1024, 1});

class counter final : public json::handler {
 public:
  std::int64_t sum = 0;

 private:
  bool on_integer(std::int64_t v) noexcept override {
    sum += v;
    return true;
  }
};

constexpr std::string_view request = R"({"id":17,"name":"echo","args":[1,2,3,"four"],"ratio":0.25,"deep":{"ok":true}})";

void json_read_request(benchmark::State& state) {
  constexpr std::string_view text = request;
  constexpr json::read_limits limits{.max_bytes = 4096, .max_depth = 16};
  std::array<std::byte, json::reader::scratch_size(limits)> scratch;
  json::reader in(limits, scratch);
  counter events;
  for (auto _ : state) {
    auto got = in.read(base::as_bytes(text), events);
    benchmark::DoNotOptimize(got);
  }
  benchmark::DoNotOptimize(events.sum);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(json_read_request);

void json_read_request__limit_memcpy(benchmark::State& state) { raw_limit::copy(state, request.size()); }
BENCHMARK(json_read_request__limit_memcpy);

}  // namespace

BENCHMARK_MAIN();
