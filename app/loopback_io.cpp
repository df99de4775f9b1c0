// `loopback --workload io`: packets circulate between two joined ports, what each receives it sends back. testpmd's io
// mode on crossed rings: the least that a packet costs.
#include <algorithm>
#include <optional>

#include "app/build_info.hpp"
#include "app/engine_run.hpp"
#include "app/loopback.hpp"
#include "app/ring_pair.hpp"
#include "app/startup.hpp"
#include "crypto/engine.hpp"
#include "env/lcore.hpp"
#include "loadgen/frame_generator.hpp"

namespace millrace::app {
namespace {

using base::failure;
using base::outcome;

constexpr std::uint32_t ring_slots = 1024;
constexpr unsigned seed_bursts = 8;
constexpr std::uint64_t distinct_frames = 64;

outcome make_frames(std::uint64_t size, pipeline::frame_set& frames) {
  auto crypto = crypto::engine::make();
  if (!crypto) return failure{"IPsec-MB cannot start on this CPU", ""};
  loadgen::frame_options wish;
  (void)wish.kinds.push_back(loadgen::traffic_kind::udp);
  wish.frame_size = static_cast<std::uint32_t>(size);
  wish.ipv6 = false;  // whose headers are longer than the shortest frames
  auto made = loadgen::frame_generator::make(wish, *crypto);
  if (!made) return made.error();
  std::vector<std::uint8_t> room(made.value().largest_frame());
  for (std::uint64_t i = 0; i < distinct_frames; ++i) {
    const std::size_t bytes = made.value().fill(i, room);
    if (bytes == 0 || !frames.add(base::byte_view(room).first(bytes)))
      return failure{"frames of " + std::to_string(size) + " bytes cannot be made", ""};
  }
  return base::done{};
}

pipeline::engine_settings settings_of(const loopback_call& call) {
  pipeline::engine_settings settings;
  settings.work.burst_pkts = call.options.burst_pkts;
  settings.work.idle = static_cast<pipeline::idle_policy>(call.options.common.idle);
  settings.topology = port::topology::loop;
  settings.lcores = call.eal.worker_lcores();
  return settings;
}

int conclude(loopback_call& call, const fwd_end& end, unsigned queues) {
  std::fputs(summary_text("loopback io over two ports joined by rings", end).c_str(), call.people);
  if (call.json) {
    run_result result;
    result.role = "loopback";
    result.build = build_info(call.eal.hugepages());
    add_loopback_workload(call.options, result.workload);
    result.workload.add("queues", queues);
    result.workload.add("bytes", "sampled");
    fill_result(end, result);
    if (auto written = write_result(result, call.json); !written) return report(written.error());
  }
  if (const std::string broken = broken_promise(end); !broken.empty()) return report({broken, "", false});
  return exit_done;
}

}  // namespace

ring_pair_wish io_wish(const loopback_options& options, unsigned workers) {
  ring_pair_wish wish;
  // A worker takes a receive queue at least: two ports have two of them a queue pair.
  wish.queues = static_cast<std::uint16_t>(std::clamp(workers / 2, 1u, 16u));
  wish.slots = ring_slots;
  wish.burst_pkts = options.burst_pkts;
  wish.mtu = static_cast<std::uint16_t>(std::max<std::uint64_t>(1500, options.size));
  return wish;
}

int run_loopback_io(loopback_call& call) {
  const std::vector<unsigned> lcores = call.eal.worker_lcores();
  ring_pair_wish wish = io_wish(call.options, static_cast<unsigned>(lcores.size()));
  for (const unsigned lcore : lcores) wish.workers.push_back({lcore, env::socket_of_lcore(lcore)});
  auto pair = ring_pair::make(wish);
  if (!pair) return report(pair.error());
  pipeline::frame_set frames;
  if (auto made = make_frames(call.options.size, frames); !made) return report(made.error());
  const std::vector<const port::port*> ports = {&pair.value()->first(), &pair.value()->second()};
  std::optional<pipeline::engine> engine;
  auto made = pipeline::engine::make(settings_of(call), ports, pair.value()->pool(), frames);
  if (!made) return report(made.error());
  engine.emplace(std::move(made.value()));
  if (call.options.common.verbose)
    std::fprintf(call.people, "%s%s", describe(pair.value()->plan()).c_str(), engine->describe().c_str());
  (void)engine->seed(std::max(1u, std::min(seed_bursts, (ring_slots - 1) / 2 / call.options.burst_pkts)));
  const auto seconds = run_engine({.engine = *engine,
                                   .pool = pair.value()->pool(),
                                   .bytes_counted = false,
                                   .duration_s = call.options.duration_s,
                                   .stats_period_s = call.options.common.stats_period_s,
                                   .people = call.people});
  if (!seconds) return report(seconds.error());
  fwd_end end;
  read_end(*engine, pair.value()->ports(), seconds.value(), false, end);
  engine.reset();
  pair.value()->close();
  end.pool = read_pool(pair.value()->pool());
  return conclude(call, end, wish.queues);
}

}  // namespace millrace::app
