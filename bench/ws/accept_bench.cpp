// What one opening handshake costs beside its SHA-1.
#include <benchmark/benchmark.h>

#include "crypto/sha1.hpp"
#include "ws/accept.hpp"

namespace {

using namespace millrace;

constexpr std::string_view key = "dGhlIHNhbXBsZSBub25jZQ==";

void ws_accept(benchmark::State& state) {
  auto engine = crypto::engine::make();
  if (!engine || !ws::accept_of(*engine, key)) {
    state.SkipWithError("no accept value");
    return;
  }
  for (auto _ : state) {
    auto accept = ws::accept_of(*engine, key);
    benchmark::DoNotOptimize(accept);
  }
}
BENCHMARK(ws_accept);

void ws_accept__limit_sha1(benchmark::State& state) {
  auto engine = crypto::engine::make();
  if (!engine) {
    state.SkipWithError("no engine");
    return;
  }
  const std::array<std::uint8_t, 60> message{};
  crypto::sha1_digest digest;
  for (auto _ : state) {
    crypto::sha1(*engine, message, digest);
    benchmark::DoNotOptimize(digest);
  }
}
BENCHMARK(ws_accept__limit_sha1);

}  // namespace
