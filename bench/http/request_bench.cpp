// What a request costs before its handler: the path made normal, the route found, the date written. Beside each what
// reading the same bytes by the C library costs.
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <ctime>
#include <unordered_map>

#include "http/router.hpp"
#include "http/wire/date.hpp"
#include "http/wire/field.hpp"
#include "http/wire/target.hpp"

namespace {

using namespace millrace;
using http::wire::method;

constexpr std::array<std::string_view, 6> paths = {
    "/json", "/stats", "/bytes/1048576", "/static/app/main.js", "/api/users/17/orders/23", "/"};

http::router made() {
  constexpr std::array<std::string_view, 12> patterns = {"/",
                                                         "/stats",
                                                         "/json",
                                                         "/bytes/{size}",
                                                         "/echo",
                                                         "/ws",
                                                         "/static/{path...}",
                                                         "/api/users",
                                                         "/api/users/{id}",
                                                         "/api/orders",
                                                         "/api/orders/{id}",
                                                         "/api/users/{id}/orders/{order}"};
  http::router_builder builder;
  for (std::uint32_t i = 0; i < patterns.size(); ++i)
    if (!builder.add(method::get, patterns[i], i)) std::abort();
  return std::move(builder.build().value());
}

void http_route(benchmark::State& state) {
  const http::router r = made();
  std::size_t i = 0;
  for (auto _ : state) {
    auto found = r.match(method::get, paths[i]);
    benchmark::DoNotOptimize(found);
    i = i + 1 == paths.size() ? 0 : i + 1;
  }
}
BENCHMARK(http_route);

// The least any table can do that knows whole paths only.
void http_route__limit_hash_map(benchmark::State& state) {
  std::unordered_map<std::string_view, std::uint32_t> map;
  for (std::uint32_t i = 0; i < paths.size(); ++i) map.emplace(paths[i], i);
  std::size_t i = 0;
  for (auto _ : state) {
    auto found = map.find(paths[i]);
    benchmark::DoNotOptimize(found);
    i = i + 1 == paths.size() ? 0 : i + 1;
  }
}
BENCHMARK(http_route__limit_hash_map);

void normalize(benchmark::State& state, std::string_view path) {
  std::array<char, 1024> scratch;
  for (auto _ : state) {
    benchmark::DoNotOptimize(path);
    auto out = http::wire::normalize_path(path, scratch);
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK_CAPTURE(normalize, normal, "/static/app/main.js")->Name("http_normalize_path/normal");
BENCHMARK_CAPTURE(normalize, dots, "/static/../static/./app%2Fmain.js")->Name("http_normalize_path/dots");

void field_value(benchmark::State& state) {
  const std::string value(static_cast<std::size_t>(state.range(0)), 'v');
  for (auto _ : state) {
    benchmark::DoNotOptimize(value.data());
    benchmark::DoNotOptimize(http::wire::is_field_value(value));
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(field_value)->Name("http_is_field_value")->Arg(16)->Arg(64)->Arg(1024);

void memchr_of_it(benchmark::State& state) {
  const std::string value(static_cast<std::size_t>(state.range(0)), 'v');
  for (auto _ : state) {
    benchmark::DoNotOptimize(value.data());
    benchmark::DoNotOptimize(std::memchr(value.data(), '\n', value.size()));
  }
}
BENCHMARK(memchr_of_it)->Name("http_is_field_value__limit_memchr")->Arg(16)->Arg(64)->Arg(1024);

void http_emit_date(benchmark::State& state) {
  std::int64_t at = 1'800'000'000;
  for (auto _ : state) {
    auto text = http::wire::emit_date(at++);
    benchmark::DoNotOptimize(text);
  }
}
BENCHMARK(http_emit_date);

void http_emit_date__limit_strftime(benchmark::State& state) {
  std::time_t at = 1'800'000'000;
  std::array<char, 64> text;
  for (auto _ : state) {
    std::tm parts{};
    gmtime_r(&at, &parts);
    benchmark::DoNotOptimize(std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts));
    ++at;
  }
}
BENCHMARK(http_emit_date__limit_strftime);

}  // namespace

BENCHMARK_MAIN();
