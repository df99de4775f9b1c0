// Sealing 1-RTT packets: an ACK and the head of a STREAM frame in one place, the stream's data in another, gathered
// into the packet and protected. Beside it IPsec-MB, encrypting as many bytes from the data's memory to the packet's.
#include "quic/protect/one_rtt.hpp"

namespace {

using namespace millrace;
using namespace millrace::bench_quic;
using quic::protect::gather;
using quic::protect::seal_errc;

std::size_t size_of(const benchmark::State& state) { return static_cast<std::size_t>(state.range(0)); }

void seal_one_by_one(benchmark::State& state, cipher_suite suite, gather how) {
  workload w(size_of(state), suite);
  go_round(
      state, w, 1,
      [&](std::size_t i) {
        const auto payload = w.pieces(i);
        auto r = w.request(i, payload);
        r.how = how;
        return w.send.seal(w.engine, r) == seal_errc::ok;
      },
      [&] { w.begin(); });
}

// Time per 32.
void seal_bursts(benchmark::State& state) {
  workload w(size_of(state));
  std::array<quic::protect::seal_job, burst_size> jobs;
  std::array<std::array<base::byte_view, 2>, burst_size> payloads;
  go_round(
      state, w, burst_size,
      [&](std::size_t first) {
        for (std::size_t i = 0; i < burst_size; ++i) {
          payloads[i] = w.pieces(first + i);
          jobs[i].keys = &w.send;
          w.fill(jobs[i].request, first + i, payloads[i]);
        }
        return seal_burst(w.engine, jobs) == burst_size;
      },
      [&] { w.begin(); });
}

void encrypt(workload& w, raw_cipher& raw, std::size_t i) {
  std::uint8_t* const packet = w.packet(i).data();
  raw.seal(packet, w.data.data() + i * w.stride, packet + header_size, w.text_size());
  benchmark::ClobberMemory();
}
void cipher_one_by_one(benchmark::State& state, cipher_suite suite) {
  workload w(size_of(state), suite);
  raw_cipher raw(w);
  go_round(
      state, w, 1,
      [&](std::size_t i) {
        encrypt(w, raw, i);
        return true;
      },
      [&] { w.begin(); });
}
void cipher_bursts(benchmark::State& state) {
  workload w(size_of(state));
  raw_cipher raw(w);
  go_round(
      state, w, burst_size,
      [&](std::size_t first) {
        for (std::size_t i = 0; i < burst_size; ++i) encrypt(w, raw, first + i);
        return true;
      },
      [&] { w.begin(); });
}

void sizes(benchmark::internal::Benchmark* b) { b->Arg(64)->Arg(256)->Arg(1200)->Arg(1452); }
void large(benchmark::internal::Benchmark* b) { b->Arg(1200)->Arg(1452)->Arg(4096)->Arg(8900); }
void full(benchmark::internal::Benchmark* b) { b->Arg(1200); }

constexpr cipher_suite aes128 = cipher_suite::aes_128_gcm_sha256;
constexpr cipher_suite aes256 = cipher_suite::aes_256_gcm_sha384;
constexpr cipher_suite chacha20 = cipher_suite::chacha20_poly1305_sha256;

BENCHMARK_CAPTURE(seal_one_by_one, 0, aes128, gather::by_size)->Name("quic_seal")->Apply(sizes);
BENCHMARK_CAPTURE(cipher_one_by_one, 0, aes128)->Name("quic_seal__limit_ipsec_mb")->Apply(sizes);
BENCHMARK(seal_bursts)->Name("quic_seal_burst32")->Apply(sizes);
BENCHMARK(cipher_bursts)->Name("quic_seal_burst32__limit_ipsec_mb")->Apply(sizes);
BENCHMARK_CAPTURE(seal_one_by_one, 0, aes128, gather::copy)->Name("quic_seal_copy")->Apply(large);
BENCHMARK_CAPTURE(cipher_one_by_one, 0, aes128)->Name("quic_seal_copy__limit_ipsec_mb")->Apply(large);
BENCHMARK_CAPTURE(seal_one_by_one, 0, aes128, gather::in_parts)->Name("quic_seal_in_parts")->Apply(large);
BENCHMARK_CAPTURE(cipher_one_by_one, 0, aes128)->Name("quic_seal_in_parts__limit_ipsec_mb")->Apply(large);
BENCHMARK_CAPTURE(seal_one_by_one, 0, aes256, gather::by_size)->Name("quic_seal_aes256")->Apply(full);
BENCHMARK_CAPTURE(cipher_one_by_one, 0, aes256)->Name("quic_seal_aes256__limit_ipsec_mb")->Apply(full);
BENCHMARK_CAPTURE(seal_one_by_one, 0, chacha20, gather::by_size)->Name("quic_seal_chacha20")->Apply(full);
BENCHMARK_CAPTURE(cipher_one_by_one, 0, chacha20)->Name("quic_seal_chacha20__limit_ipsec_mb")->Apply(full);

}  // namespace
