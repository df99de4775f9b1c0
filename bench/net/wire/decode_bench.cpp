// Decoding one frame that stays in cache: what the data path pays a packet before it knows whose it is.

#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "net/wire/headers.hpp"
#include "support/raw_limits.hpp"

namespace {

using namespace millrace;
using namespace millrace::net::wire;

using bytes = std::vector<std::uint8_t>;

frame_spec spec_of(bool v6, transport l4, std::size_t tags) {
  frame_spec spec;
  for (std::size_t i = 0; i < tags; ++i) static_cast<void>(spec.tags.push_back({.id = 7}));
  spec.src = base::ip_address::parse(v6 ? "2001:db8::1" : "192.0.2.1").value();
  spec.dst = base::ip_address::parse(v6 ? "2001:db8::2" : "192.0.2.2").value();
  spec.src_port = 40000;
  spec.dst_port = 443;
  spec.l4 = l4;
  return spec;
}

bytes make(const frame_spec& spec, const bytes& payload) {
  bytes room(2048);
  base::byte_writer out(room);
  if (!emit_frame(spec, payload, out)) std::abort();
  room.resize(out.size());
  return room;
}

bytes plain(bool v6, transport l4, std::size_t tags, std::size_t frame_size) {
  const frame_spec spec = spec_of(v6, l4, tags);
  return make(spec, bytes(frame_size - frame_headers_size(spec)));
}

bytes in_vxlan() {
  const bytes inner = plain(false, transport::udp, 0, 1242);
  bytes payload = {0x08, 0, 0, 0, 0, 0, 100, 0};
  payload.insert(payload.end(), inner.begin(), inner.end());
  frame_spec outer = spec_of(false, transport::udp, 0);
  outer.dst_port = udp_port::vxlan;
  return make(outer, payload);
}

void run_fast(benchmark::State& state, const bytes& frame) {
  decoded out;
  for (auto _ : state) {
    benchmark::DoNotOptimize(decode_fast(frame, out));
    benchmark::ClobberMemory();
  }
}

void run_full(benchmark::State& state, const bytes& frame) {
  decoded out;
  for (auto _ : state) {
    benchmark::DoNotOptimize(decode(frame, link_type::ethernet, out));
    benchmark::ClobberMemory();
  }
}

void net_decode_fast_udp_ipv4_64(benchmark::State& state) { run_fast(state, plain(false, transport::udp, 0, 64)); }
void net_decode_fast_tcp_ipv4_64(benchmark::State& state) { run_fast(state, plain(false, transport::tcp, 0, 64)); }
void net_decode_fast_udp_ipv6_1262(benchmark::State& state) { run_fast(state, plain(true, transport::udp, 0, 1262)); }
void net_decode_fast_vlan_udp_ipv4_68(benchmark::State& state) { run_fast(state, plain(false, transport::udp, 1, 68)); }
void net_decode_fast_qinq_udp_ipv6_1270(benchmark::State& state) {
  run_fast(state, plain(true, transport::udp, 2, 1270));
}
void net_decode_fast_vxlan(benchmark::State& state) { run_fast(state, in_vxlan()); }
void net_decode_udp_ipv4_64(benchmark::State& state) { run_full(state, plain(false, transport::udp, 0, 64)); }
void net_decode_vxlan(benchmark::State& state) { run_full(state, in_vxlan()); }

// Four frame shapes in turn, as a port delivers them; time is a frame's.
void net_decode_fast_mix(benchmark::State& state) {
  const std::array<bytes, 4> frames = {plain(false, transport::udp, 0, 64), plain(true, transport::udp, 0, 1262),
                                       plain(false, transport::tcp, 0, 90), plain(false, transport::udp, 1, 1266)};
  decoded out;
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(decode_fast(frames[i++ % frames.size()], out));
    benchmark::ClobberMemory();
  }
}

void net_emit_frame_udp_ipv4_64(benchmark::State& state) {
  const frame_spec spec = spec_of(false, transport::udp, 0);
  const bytes payload(22);
  bytes room(128);
  for (auto _ : state) {
    base::byte_writer out(room);
    benchmark::DoNotOptimize(emit_frame(spec, payload, out));
    benchmark::ClobberMemory();
  }
}

// The headers that each has to read, copied.
void net_decode_fast_udp_ipv4_64__limit_memcpy(benchmark::State& state) { raw_limit::copy(state, 42); }
void net_decode_fast_tcp_ipv4_64__limit_memcpy(benchmark::State& state) { raw_limit::copy(state, 54); }
void net_decode_fast_udp_ipv6_1262__limit_memcpy(benchmark::State& state) { raw_limit::copy(state, 62); }
void net_decode_fast_vlan_udp_ipv4_68__limit_memcpy(benchmark::State& state) { raw_limit::copy(state, 46); }
void net_decode_fast_qinq_udp_ipv6_1270__limit_memcpy(benchmark::State& state) { raw_limit::copy(state, 70); }
void net_decode_fast_vxlan__limit_memcpy(benchmark::State& state) { raw_limit::copy(state, 92); }
void net_decode_fast_mix__limit_memcpy(benchmark::State& state) { raw_limit::copy(state, 54); }
void net_decode_udp_ipv4_64__limit_memcpy(benchmark::State& state) { raw_limit::copy(state, 42); }
void net_decode_vxlan__limit_memcpy(benchmark::State& state) { raw_limit::copy(state, 92); }
void net_emit_frame_udp_ipv4_64__limit_memcpy(benchmark::State& state) { raw_limit::copy(state, 64); }

BENCHMARK(net_decode_fast_udp_ipv4_64__limit_memcpy);
BENCHMARK(net_decode_fast_tcp_ipv4_64__limit_memcpy);
BENCHMARK(net_decode_fast_udp_ipv6_1262__limit_memcpy);
BENCHMARK(net_decode_fast_vlan_udp_ipv4_68__limit_memcpy);
BENCHMARK(net_decode_fast_qinq_udp_ipv6_1270__limit_memcpy);
BENCHMARK(net_decode_fast_vxlan__limit_memcpy);
BENCHMARK(net_decode_fast_mix__limit_memcpy);
BENCHMARK(net_decode_udp_ipv4_64__limit_memcpy);
BENCHMARK(net_decode_vxlan__limit_memcpy);
BENCHMARK(net_emit_frame_udp_ipv4_64__limit_memcpy);
BENCHMARK(net_decode_fast_udp_ipv4_64);
BENCHMARK(net_decode_fast_tcp_ipv4_64);
BENCHMARK(net_decode_fast_udp_ipv6_1262);
BENCHMARK(net_decode_fast_vlan_udp_ipv4_68);
BENCHMARK(net_decode_fast_qinq_udp_ipv6_1270);
BENCHMARK(net_decode_fast_vxlan);
BENCHMARK(net_decode_fast_mix);
BENCHMARK(net_decode_udp_ipv4_64);
BENCHMARK(net_decode_vxlan);
BENCHMARK(net_emit_frame_udp_ipv4_64);

}  // namespace
