// The stages of `fwd` on bursts of generated frames, without ports: what a mode costs beyond moving pointers.
// `distinct` packets go round, so that small numbers show the caches' best case and large ones a real working set.
// Target of parse: at most 60 ns a packet.
#include <memory>
#include <vector>

#include "buf/burst.hpp"
#include "crypto/engine.hpp"
#include "loadgen/frame_generator.hpp"
#include "pipeline/stage_generate.hpp"
#include "pipeline/stage_mac.hpp"
#include "pipeline/stage_parse.hpp"
#include "support/eal_bench.hpp"

namespace {

using namespace millrace;

mem::packet_pool& pool() {
  static auto made = mem::packet_pool::make({.name = "bench", .packets = 16383});
  return made.value();
}

pipeline::frame_set make_frames(const char* kinds, std::uint32_t size, std::size_t count) {
  auto crypto = crypto::engine::make();
  loadgen::frame_options options;
  options.kinds = loadgen::parse_traffic_kinds(kinds).value();
  options.frame_size = size;
  options.flows = 256;
  auto generator = loadgen::frame_generator::make(options, *crypto);
  std::vector<std::uint8_t> room(loadgen::max_frame_size);
  pipeline::frame_set frames;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bytes = generator.value().fill(i, room);
    if (!frames.add(base::byte_view(room).first(bytes))) std::abort();
  }
  return frames;
}

// Packets of a frame set, taken in turn by bursts of 32.
class carousel {
  static constexpr unsigned burst_pkts = 32;
  std::vector<rte_mbuf*> packets_;
  std::size_t next_ = 0;

 public:
  explicit carousel(const pipeline::frame_set& frames) {
    pipeline::frame_cursor cursor(frames, 0);
    while (packets_.size() < frames.size()) {
      buf::burst some;
      if (cursor.fill(some, pool(), burst_pkts) == 0) std::abort();
      packets_.insert(packets_.end(), some.raw(), some.raw() + some.size());
      some.forget_all();
    }
  }
  ~carousel() { rte_pktmbuf_free_bulk(packets_.data(), static_cast<unsigned>(packets_.size())); }
  carousel(const carousel&) = delete;
  carousel& operator=(const carousel&) = delete;

  void deal(buf::burst& into) {
    std::copy_n(packets_.data() + next_, burst_pkts, into.raw());
    into.adopt(burst_pkts);
    next_ += burst_pkts;
    if (next_ == packets_.size()) next_ = 0;
  }
};

void fwd_parse(benchmark::State& state, const char* kinds, pipeline::verify_level verify) {
  const pipeline::frame_set frames =
      make_frames(kinds, static_cast<std::uint32_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
  carousel packets(frames);
  auto work = std::make_unique<pipeline::parse_work>();
  work->settings.verify = verify;
  auto counters = std::make_unique<pipeline::lcore_counters>();
  buf::burst some;
  for (auto _ : state) {
    packets.deal(some);
    std::uint64_t received = 0;
    auto left = pipeline::parse_burst(some, *work, received, *counters);
    benchmark::DoNotOptimize(left);
    some.forget_all();
  }
  if (counters->drops.total() != 0) state.SkipWithError("frames were dropped");
  state.SetItemsProcessed(state.iterations() * 32);
}

void parse_cases(benchmark::internal::Benchmark* b) {
  b->ArgNames({"size", "distinct"});
  for (const int distinct : {64, 4096}) b->Args({0, distinct});  // natural sizes
  b->Args({91, 64});
  b->Args({1400, 64});
}
using pipeline::verify_level;
BENCHMARK_CAPTURE(fwd_parse, mixed_unverified, "quic,srmp,udp,tcp", verify_level::none)->Apply(parse_cases);
BENCHMARK_CAPTURE(fwd_parse, mixed_ip, "quic,srmp,udp,tcp", verify_level::ip)->Apply(parse_cases);
BENCHMARK_CAPTURE(fwd_parse, mixed_full, "quic,srmp,udp,tcp", verify_level::full)->Apply(parse_cases);
BENCHMARK_CAPTURE(fwd_parse, quic, "quic", verify_level::none)->ArgNames({"size", "distinct"})->Args({0, 64});
BENCHMARK_CAPTURE(fwd_parse, srmp, "srmp", verify_level::none)->ArgNames({"size", "distinct"})->Args({0, 64});

void fwd_macswap(benchmark::State& state) {
  const pipeline::frame_set frames = make_frames("udp", 64, static_cast<std::size_t>(state.range(0)));
  carousel packets(frames);
  stats::drop_counters drops;
  buf::burst some;
  for (auto _ : state) {
    packets.deal(some);
    std::uint64_t received = 0;
    auto left = pipeline::swap_addresses(some, received, drops);
    benchmark::DoNotOptimize(left);
    some.forget_all();
  }
  state.SetItemsProcessed(state.iterations() * 32);
}
BENCHMARK(fwd_macswap)->ArgName("distinct")->Arg(64)->Arg(4096);

void fwd_generate(benchmark::State& state) {
  const pipeline::frame_set frames = make_frames("udp", static_cast<std::uint32_t>(state.range(0)), 64);
  pipeline::frame_cursor cursor(frames, static_cast<std::uint64_t>(state.range(1)));
  buf::burst some;
  for (auto _ : state) {
    auto bytes = cursor.fill(some, pool(), 32);
    benchmark::DoNotOptimize(bytes);
    some.free_all();
  }
  state.SetItemsProcessed(state.iterations() * 32);
}
BENCHMARK(fwd_generate)->ArgNames({"size", "flows"})->Args({64, 64})->Args({64, 1'000'000})->Args({1400, 64});

}  // namespace

MILLRACE_EAL_BENCH_MAIN("-m", "256")
