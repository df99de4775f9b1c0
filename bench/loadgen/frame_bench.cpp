// What one generated frame costs, by kind and size: templates are made before a run is measured, so this is the
// start-up time of `fwd`, not its data path.
#include <benchmark/benchmark.h>

#include <array>

#include "loadgen/frame_generator.hpp"

namespace {

using namespace millrace;

void loadgen_fill(benchmark::State& state, const char* kinds, bool initials_only) {
  auto engine = crypto::engine::make();
  loadgen::frame_options options;
  options.kinds = loadgen::parse_traffic_kinds(kinds).value();
  options.frame_size = static_cast<std::uint32_t>(state.range(0));
  options.flows = 256;
  options.order = loadgen::frame_order::life;
  auto from = loadgen::frame_generator::make(options, *engine);
  const std::uint64_t first = initials_only ? 0 : std::uint64_t{3} * options.flows;  // steps 0 and 3 .. 15
  const std::uint64_t last = initials_only ? options.flows : from.value().cycle_frames();
  alignas(64) std::array<std::uint8_t, loadgen::max_frame_size> room;
  std::uint64_t i = first;
  for (auto _ : state) {
    auto size = from.value().fill(i, room);
    benchmark::DoNotOptimize(size);
    benchmark::DoNotOptimize(room);
    if (++i == last) i = first;
  }
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

BENCHMARK_CAPTURE(loadgen_fill, quic_initial, "quic", true)->ArgName("size")->Arg(1262);
BENCHMARK_CAPTURE(loadgen_fill, quic_one_rtt, "quic", false)->ArgName("size")->Arg(91)->Arg(1262);
BENCHMARK_CAPTURE(loadgen_fill, srmp, "srmp", false)->ArgName("size")->Arg(91)->Arg(1262);
BENCHMARK_CAPTURE(loadgen_fill, udp, "udp", false)->ArgName("size")->Arg(91)->Arg(1262);
BENCHMARK_CAPTURE(loadgen_fill, tcp, "tcp", false)->ArgName("size")->Arg(91)->Arg(1262);

}  // namespace
