// A ClientHello of 500 bytes, and of 1700 as those are that carry a hybrid key share: the bulk of it is skipped whole.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "support/raw_limits.hpp"
#include "tls/wire/client_hello.hpp"
#include "tls/wire/client_hello_emit.hpp"

namespace {

using namespace millrace;
using namespace millrace::tls::wire;

struct hello_inputs {
  std::vector<std::uint8_t> random = std::vector<std::uint8_t>(32, 0x11);
  std::vector<std::uint8_t> share = std::vector<std::uint8_t>(32, 0x22);
  std::vector<std::uint8_t> parameters = std::vector<std::uint8_t>(90, 0x33);
  std::vector<std::uint8_t> more;
  std::uint16_t suites[4] = {0x2a2a, 0x1301, 0x1302, 0x1303};
  std::uint16_t versions[2] = {0x3a3a, 0x0304};
  std::uint16_t signatures[9] = {0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601, 0x0201};
  std::string_view alpn[1] = {"h3"};
  std::string host = "static-assets.cdn.example.com";

  explicit hello_inputs(std::size_t total) {
    const std::size_t now = encoded_size(values());
    // An application setting, then padding up to the size wanted.
    for (const auto& [type, size] : {std::pair{0x4469, std::size_t{5}}, std::pair{0x0015, total - now - 9 - 4}}) {
      more.push_back(static_cast<std::uint8_t>(type >> 8));
      more.push_back(static_cast<std::uint8_t>(type));
      more.push_back(static_cast<std::uint8_t>(size >> 8));
      more.push_back(static_cast<std::uint8_t>(size));
      more.resize(more.size() + size, 0);
    }
  }
  [[nodiscard]] client_hello_values values() const {
    return {.random = random,
            .cipher_suites = suites,
            .sni = host,
            .alpn = alpn,
            .versions = versions,
            .signatures = signatures,
            .x25519_share = share,
            .transport_parameters = parameters,
            .more = more};
  }
};

void parse_hello(benchmark::State& state) {
  const hello_inputs inputs(static_cast<std::size_t>(state.range(0)));
  std::vector<std::uint8_t> message(encoded_size(inputs.values()));
  base::byte_writer out(message);
  if (!emit(out, inputs.values()) || message.size() != static_cast<std::size_t>(state.range(0))) std::abort();
  client_hello h;
  for (auto _ : state) {
    benchmark::DoNotOptimize(parse_client_hello(message, h));
    benchmark::DoNotOptimize(h);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void emit_hello(benchmark::State& state) {
  const hello_inputs inputs(static_cast<std::size_t>(state.range(0)));
  const client_hello_values values = inputs.values();
  std::vector<std::uint8_t> room(encoded_size(values));
  for (auto _ : state) {
    base::byte_writer out(room);
    benchmark::DoNotOptimize(emit(out, values));
    benchmark::ClobberMemory();
  }
}

void copy_hello(benchmark::State& state) { raw_limit::copy(state, static_cast<std::size_t>(state.range(0))); }

BENCHMARK(parse_hello)->Name("tls_parse_client_hello")->Arg(500)->Arg(1700);
BENCHMARK(copy_hello)->Name("tls_parse_client_hello__limit_memcpy")->Arg(500)->Arg(1700);
BENCHMARK(emit_hello)->Name("tls_emit_client_hello")->Arg(500)->Arg(1700);
BENCHMARK(copy_hello)->Name("tls_emit_client_hello__limit_memcpy")->Arg(500)->Arg(1700);

}  // namespace

BENCHMARK_MAIN();
