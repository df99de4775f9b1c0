// Opening 1-RTT packets: header protection off, decrypted in place, frames walked. Beside it IPsec-MB, decrypting the
// same bytes in the same memory and no more. Packets are put back behind each round, outside of the timed part.
#include "quic/protect/one_rtt.hpp"

namespace {

using namespace millrace;
using namespace millrace::bench_quic;
using quic::protect::open_errc;

std::size_t size_of(const benchmark::State& state) { return static_cast<std::size_t>(state.range(0)); }

void open_one_by_one(benchmark::State& state, cipher_suite suite) {
  workload w(size_of(state), suite);
  std::uint64_t largest = quic::wire::no_packet_number;
  go_round(
      state, w, 1,
      [&](std::size_t i) {
        const base::byte_span packet = w.packet(i);
        quic::protect::opened_packet opened;
        const bool ok = w.receive.open(w.engine, packet, pn_offset, largest, opened) == open_errc::ok;
        largest = opened.packet_number;
        return ok && walk(packet, opened);
      },
      [&] {
        w.restore();
        largest = quic::wire::no_packet_number;
      });
}

// Time per 32.
void open_bursts(benchmark::State& state, cipher_suite suite) {
  workload w(size_of(state), suite);
  std::uint64_t largest = quic::wire::no_packet_number;
  std::array<quic::protect::open_request, burst_size> requests;
  go_round(
      state, w, burst_size,
      [&](std::size_t first) {
        for (std::size_t i = 0; i < burst_size; ++i) {
          quic::protect::open_request& r = requests[i];
          r.keys = &w.receive;
          r.largest_pn = &largest;
          r.packet = w.packet(first + i);
          r.pn_offset = pn_offset;
        }
        open_burst(w.engine, requests);
        bool ok = true;
        for (const quic::protect::open_request& r : requests)
          ok = ok && r.code == open_errc::ok && walk(r.packet, r.opened);
        return ok;
      },
      [&] {
        w.restore();
        largest = quic::wire::no_packet_number;
      });
}

void cipher_one_by_one(benchmark::State& state, cipher_suite suite) {
  workload w(size_of(state), suite);
  raw_cipher raw(w);
  go_round(
      state, w, 1,
      [&](std::size_t i) {
        raw.open(w.packet(i).data(), w.text_size());
        benchmark::DoNotOptimize(raw.tag);
        benchmark::ClobberMemory();
        return true;
      },
      [&] { w.restore(); });
}
void cipher_bursts(benchmark::State& state, cipher_suite suite) {
  workload w(size_of(state), suite);
  raw_cipher raw(w);
  go_round(
      state, w, burst_size,
      [&](std::size_t first) {
        for (std::size_t i = 0; i < burst_size; ++i) {
          raw.open(w.packet(first + i).data(), w.text_size());
          benchmark::DoNotOptimize(raw.tag);
          benchmark::ClobberMemory();
        }
        return true;
      },
      [&] { w.restore(); });
}

void sizes(benchmark::internal::Benchmark* b) { b->Arg(64)->Arg(256)->Arg(1200)->Arg(1452); }
void full(benchmark::internal::Benchmark* b) { b->Arg(1200); }

constexpr cipher_suite aes128 = cipher_suite::aes_128_gcm_sha256;
constexpr cipher_suite aes256 = cipher_suite::aes_256_gcm_sha384;
constexpr cipher_suite chacha20 = cipher_suite::chacha20_poly1305_sha256;

BENCHMARK_CAPTURE(open_one_by_one, 0, aes128)->Name("quic_open")->Apply(sizes);
BENCHMARK_CAPTURE(cipher_one_by_one, 0, aes128)->Name("quic_open__limit_ipsec_mb")->Apply(sizes);
BENCHMARK_CAPTURE(open_bursts, 0, aes128)->Name("quic_open_burst32")->Apply(sizes);
BENCHMARK_CAPTURE(cipher_bursts, 0, aes128)->Name("quic_open_burst32__limit_ipsec_mb")->Apply(sizes);
BENCHMARK_CAPTURE(open_one_by_one, 0, aes256)->Name("quic_open_aes256")->Apply(full);
BENCHMARK_CAPTURE(cipher_one_by_one, 0, aes256)->Name("quic_open_aes256__limit_ipsec_mb")->Apply(full);
BENCHMARK_CAPTURE(open_one_by_one, 0, chacha20)->Name("quic_open_chacha20")->Apply(full);
BENCHMARK_CAPTURE(cipher_one_by_one, 0, chacha20)->Name("quic_open_chacha20__limit_ipsec_mb")->Apply(full);

}  // namespace
