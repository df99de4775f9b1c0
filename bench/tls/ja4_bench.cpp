// A browser's ClientHello, as Chrome sends it over QUIC and over TCP, to its fingerprint.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <initializer_list>

#include "tls/ja4.hpp"

namespace {

using namespace millrace;

template <class List>
void fill(List& list, std::initializer_list<std::uint16_t> values) {
  for (const std::uint16_t value : values) {
    if (!list.push_back(value)) std::abort();
  }
}

void tls_ja4(benchmark::State& state) {
  std::optional<crypto::engine> engine = crypto::engine::make();
  if (!engine.has_value()) std::abort();
  const bool quic = state.range(0) != 0;
  tls::wire::client_hello hello;
  if (!hello.alpn.push_back(quic ? "h3" : "h2")) std::abort();
  fill(hello.supported_versions, {0x0304});
  fill(hello.signature_algorithms, {0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601});
  if (quic) {
    fill(hello.cipher_suites, {0x1301, 0x1302, 0x1303});
    fill(hello.extensions, {0x001b, 0x0000, 0x0033, 0x0010, 0x4469, 0x002d, 0x000d, 0x0039, 0x002b, 0x000a});
  } else {
    fill(hello.cipher_suites, {0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc013, 0xc014,
                               0x009c, 0x009d, 0x002f, 0x0035});
    fill(hello.extensions, {0x001b, 0x0000, 0x0033, 0x0010, 0x4469, 0x0017, 0x002d, 0x000d, 0x0005, 0x0023, 0x0012,
                            0x002b, 0xff01, 0x000b, 0x000a, 0x0015});
  }
  std::array<char, tls::ja4_size> out;
  for (auto _ : state) {
    tls::ja4(*engine, hello, quic ? tls::ja4_transport::quic : tls::ja4_transport::tcp, out);
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(tls_ja4)->ArgName("quic")->Arg(1)->Arg(0);

}  // namespace
