// Chains and slices: what a shared reference costs with a private count and with DPDK's atomic one, and what a reader
// pays for not knowing where segments end.
#include "base/byte_reader.hpp"
#include "bench_pools.hpp"
#include "buf/chain.hpp"

namespace {

using namespace millrace;
using namespace millrace::bench_buf;

// One more reference and its release, while somebody else holds the mbuf as well: the usual state of a received packet.
void share_and_release(benchmark::State& state) {
  buf::packet whole = buf::packet::alloc(packets());
  const bool fits = whole.append_copy(payload(1200));
  const buf::slice held = buf::slice::of(whole, whole.first());
  if (!fits || held.empty()) state.SkipWithError("no slice");
  for (auto _ : state) {
    buf::slice one = held.part(10, 100);
    benchmark::DoNotOptimize(one.bytes().data());
  }
}
BENCHMARK(share_and_release);

void share_and_release__limit_rte_refcnt(benchmark::State& state) {
  buf::packet whole = buf::packet::alloc(packets());
  rte_mbuf_refcnt_update(whole.raw(), 1);
  for (auto _ : state) {
    rte_mbuf_refcnt_update(whole.raw(), 1);
    benchmark::DoNotOptimize(whole.raw()->buf_addr);
    rte_mbuf_refcnt_update(whole.raw(), -1);
  }
  rte_mbuf_refcnt_update(whole.raw(), -1);
}
BENCHMARK(share_and_release__limit_rte_refcnt);

// The way without slices: an indirect mbuf for each part.
void share_and_release__limit_indirect_mbuf(benchmark::State& state) {
  buf::packet whole = buf::packet::alloc(packets());
  for (auto _ : state) {
    rte_mbuf* part = packets().alloc();
    rte_pktmbuf_attach(part, whole.raw());
    benchmark::DoNotOptimize(part->buf_addr);
    rte_pktmbuf_free(part);
  }
}
BENCHMARK(share_and_release__limit_indirect_mbuf);

// 32 numbers of 4 bytes: out of one segment, out of segments of 48 bytes, and by the reader of flat bytes.
void cursor_read(benchmark::State& state) {
  const std::vector<std::uint8_t> bytes = payload(128);
  const auto segment = static_cast<std::size_t>(state.range(0));
  buf::chain all;
  for (std::size_t at = 0; at < bytes.size(); at += segment) {
    buf::packet one = buf::packet::alloc(packets());
    const std::size_t count = std::min(segment, bytes.size() - at);
    if (!one.append_copy(base::byte_view(bytes).subspan(at, count)) || !all.append(std::move(one)))
      state.SkipWithError("not built");
  }
  for (auto _ : state) {
    buf::cursor in = all.read();
    std::uint32_t sum = 0;
    for (std::uint32_t word = 0; in.u32(word);) sum += word;
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(cursor_read)->Arg(128)->Arg(48);
void cursor_read__limit_byte_reader(benchmark::State& state) {
  const std::vector<std::uint8_t> bytes = payload(128);
  for (auto _ : state) {
    base::byte_reader in{base::byte_view(bytes)};
    std::uint32_t sum = 0;
    for (std::uint32_t word = 0; in.u32(word);) sum += word;
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(cursor_read__limit_byte_reader)->Arg(128)->Arg(48);

}  // namespace
