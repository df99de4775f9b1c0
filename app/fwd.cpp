// The role `fwd`: ports and pool by plan, an engine, and a control loop that prints.
//
// Order of the end, because each step needs the one before: workers stop, figures are read, rings are drained, the
// engine goes, ports close (drivers give their packets back), the pool is counted, EAL goes.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <optional>

#include "app/build_info.hpp"
#include "app/engine_run.hpp"
#include "app/fwd_options.hpp"
#include "app/fwd_report.hpp"
#include "app/role.hpp"
#include "app/signals.hpp"
#include "app/startup.hpp"
#include "crypto/engine.hpp"
#include "env/lcore.hpp"
#include "loadgen/frame_generator.hpp"
#include "port/packet_socket.hpp"

namespace millrace::app {
namespace {

using base::failure;
using base::outcome;
using pipeline::forward_mode;

constexpr std::uint64_t max_distinct_frames = 4096;
constexpr unsigned default_seed_bursts = 8;
constexpr unsigned ring_slots = 1023;  // what a net_ring holds

// Everything of a run, in the order it is made; it goes in the opposite order.
struct fwd_run {
  fwd_options options;
  std::FILE* people = stdout;  // stderr where the JSON object has stdout to itself
  output_file json;
  port::plan plan;
  std::optional<mem::packet_pool> pool;
  std::deque<port::port> ports;
  pipeline::frame_set frames;
  std::optional<pipeline::engine> engine;
  unsigned seed_bursts = 0;
};

// Ports that the arguments name, for the memory estimate before EAL knows them.
unsigned expected_ports(const std::vector<std::string>& eal_args) {
  unsigned ports = 0;
  for (const std::string& word : eal_args)
    if (word.starts_with("--vdev") || word.starts_with("-a") || word.starts_with("--allow")) ++ports;
  return ports == 0 ? 2 : ports;
}

// Files that net_pcap ports read or write.
std::vector<std::string> capture_files(const std::vector<std::string>& eal_args) {
  std::vector<std::string> files;
  for (const std::string& word : eal_args)
    for (const std::string_view key : {"rx_pcap=", "tx_pcap="})
      for (std::size_t at = word.find(key); at != std::string::npos; at = word.find(key, at + 1)) {
        const std::size_t begin = at + key.size();
        files.push_back(word.substr(begin, word.find(',', begin) - begin));
      }
  return files;
}

// The frames that seeding and generating modes copy from: as many as there are, up to a few thousand.
outcome make_frames(fwd_run& run) {
  auto crypto = crypto::engine::make();
  if (!crypto) return failure{"IPsec-MB cannot start on this CPU", ""};
  auto made = loadgen::frame_generator::make(run.options.frames, *crypto);
  if (!made) return made.error();
  loadgen::frame_generator& generator = made.value();
  std::vector<std::uint8_t> room(generator.largest_frame());
  const std::uint64_t distinct = std::min(generator.cycle_frames(), max_distinct_frames);
  for (std::uint64_t i = 0; i < distinct; ++i) {
    const std::size_t size = generator.fill(i, room);
    if (size == 0 || !run.frames.add(base::byte_view(room).first(size)))
      return failure{"frame " + std::to_string(i) + " of --traffic cannot be made", ""};
  }
  return base::done{};
}

bool any_ring(const fwd_run& run) {
  for (const port::port_plan& p : run.plan.ports)
    if (p.facts.is_software_ring()) return true;
  return false;
}

outcome open_ports(fwd_run& run, const env::eal& eal) {
  auto facts = port::discover();
  if (!facts) return facts.error();
  for (const unsigned lcore : eal.worker_lcores()) run.options.engine.lcores.push_back(lcore);
  const std::vector<unsigned>& lcores = run.options.engine.lcores;
  for (const unsigned lcore : lcores) run.options.plan.workers.push_back({lcore, env::socket_of_lcore(lcore)});
  if (lcores.empty()) run.options.plan.workers.push_back({eal.main_lcore(), env::socket_of_lcore(eal.main_lcore())});
  auto planned = port::make_plan(facts.value(), run.options.plan);
  if (!planned) return planned.error();
  run.plan = std::move(planned.value());
  auto pool = mem::packet_pool::make(run.plan.pool);
  if (!pool) return pool.error();
  run.pool.emplace(std::move(pool.value()));
  for (const port::port_plan& how : run.plan.ports) {
    auto opened = port::port::open(how, *run.pool);
    if (!opened) return opened.error();
    run.ports.push_back(std::move(opened.value()));
    if (auto started = run.ports.back().start(); !started) return started.error();
  }
  return base::done{};
}

// Seeds, if asked, or if nothing would ever move without.
void seed(fwd_run& run) {
  const forward_mode mode = run.options.engine.work.mode;
  const unsigned burst = run.options.engine.work.burst_pkts;
  const bool needed = forwards(mode) && any_ring(run);
  unsigned bursts = 0;
  if (run.options.tx_first)
    bursts = *run.options.tx_first;
  else if (needed)
    bursts = std::max(1u, std::min(default_seed_bursts, ring_slots / 2 / burst));
  run.seed_bursts = bursts;
  if (bursts == 0) {
    if (needed) std::fputs("rings are empty and --tx-first is 0: nothing will move\n", run.people);
    return;
  }
  const pipeline::seeded done = run.engine->seed(bursts);
  std::fprintf(run.people, "%s %u burst%s of %u packets into each transmit queue: %llu queued, %llu refused (%s)\n",
               run.options.tx_first ? "put" : "rings need packets to move: put", bursts, bursts == 1 ? "" : "s", burst,
               static_cast<unsigned long long>(done.queued), static_cast<unsigned long long>(done.made - done.queued),
               run.options.traffic.c_str());
}

// Takes the run apart and counts what is left.
fwd_end finish(fwd_run& run, double seconds) {
  fwd_end end;
  read_end(*run.engine, run.ports, seconds, counts_bytes(run.options.engine.work.mode), end);
  run.engine.reset();
  run.ports.clear();
  end.pool = read_pool(*run.pool);
  return end;
}

void add_workload(const fwd_run& run, run_result& result) {
  const pipeline::worker_settings& work = run.options.engine.work;
  workload_parameters& w = result.workload;
  w.add("mode", to_string(work.mode));
  w.add("topology", to_string(run.options.engine.topology));
  w.add("burst", work.burst_pkts);
  std::vector<std::string> names;
  for (const port::port_plan& p : run.plan.ports) names.push_back(p.facts.name);
  w.add("ports", names);
  w.add("rxq", run.options.plan.rxq);
  w.add("txq", run.options.plan.txq);
  w.add("tx_first", run.seed_bursts);
  w.add("traffic", run.options.traffic);
  w.add("flows", run.options.frames.flows);
  w.add("size", run.options.frames.frame_size);
  w.add("tx_retries", work.tx_retries);
  w.add("record_core_cycles", work.exact_cycles);
  w.add("verify", to_string(work.parse.verify));
  w.add("srmp_port", work.parse.ports.srmp);
  w.add("mbufs", run.plan.pool.packets);
  w.add("mtu", run.options.plan.mtu);
  w.add("rxd", run.plan.ports.empty() ? 0 : run.plan.ports.front().rxd);
  w.add("txd", run.plan.ports.empty() ? 0 : run.plan.ports.front().txd);
  w.add("idle", to_string(run.options.common.idle));
  w.add("duration", run.options.duration_s);
  w.add("bytes", counts_bytes(work.mode) ? "counted" : "sampled");
}

int conclude(fwd_run& run, const fwd_end& end, bool hugepages) {
  const std::string mode(to_string(run.options.engine.work.mode));
  std::string title = "fwd " + mode + " over";
  for (const port::port_plan& p : run.plan.ports) title += " " + p.facts.name;
  std::fputs(summary_text(title, end).c_str(), run.people);
  if (receives(run.options.engine.work.mode) && end.window.total()[pipeline::count::rx_pkts] == 0)
    std::fputs(any_ring(run)
                   ? "  nothing was received: rings are empty at the start, --tx-first N puts bursts into them\n"
                   : "  nothing was received: are the ports linked, and does anybody send?\n",
               run.people);
  if (end.window.total()[pipeline::count::tx_pkts] != 0 && run.options.engine.work.mode == forward_mode::txonly &&
      any_ring(run))
    std::fputs("  rings are full after 1023 packets and nobody empties them: @null takes everything\n", run.people);
  if (run.json) {
    run_result result;
    result.role = "fwd";
    result.build = build_info(hugepages);
    add_workload(run, result);
    fill_result(end, result);
    if (auto written = write_result(result, run.json); !written) return report(written.error());
  }
  if (const std::string broken = broken_promise(end); !broken.empty()) return report({broken, "", false});
  return exit_done;
}

base::result<env::eal> start(const invocation& call, const fwd_options& options) {
  eal_wish wish;
  wish.verbose = options.common.verbose;
  if (call.eal_args.empty()) {
    auto loopback = profile_args("loopback");
    if (!loopback) return loopback.error();
    wish.default_args = std::move(loopback.value());
  }
  const unsigned ports = expected_ports(call.eal_args.empty() ? wish.default_args : call.eal_args);
  const unsigned workers = expected_lcores(call);
  wish.memory_bytes =
      mem::estimated_bytes(port::expected_pool(ports, workers, options.plan, port::largest_ring_frame(call.eal_args)));
  return start_eal(call, wish);
}

// With EAL running: from ports to the final figures. Everything made here is gone before EAL is.
int forward(const fwd_options& options, const env::eal& eal, output_file json) {
  fwd_run run;
  run.options = options;
  run.json = std::move(json);
  if (run.json.is_stdout()) run.people = stderr;
  if (auto made = make_frames(run); !made) return report(made.error());
  if (auto opened = open_ports(run, eal); !opened) return report(opened.error());
  std::vector<const port::port*> ports;
  for (const port::port& p : run.ports) ports.push_back(&p);
  run.options.engine.flows = options.frames.flows;
  auto engine = pipeline::engine::make(run.options.engine, ports, *run.pool, run.frames);
  if (!engine) return report(engine.error());
  run.engine.emplace(std::move(engine.value()));
  if (options.common.verbose)
    std::fprintf(run.people, "%s%s", describe(run.plan).c_str(), run.engine->describe().c_str());
  else
    for (const std::string& warning : run.plan.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  seed(run);
  const auto seconds = run_engine({.engine = *run.engine,
                                   .pool = *run.pool,
                                   .bytes_counted = counts_bytes(options.engine.work.mode),
                                   .duration_s = options.duration_s,
                                   .stats_period_s = options.common.stats_period_s,
                                   .people = run.people});
  if (!seconds) return report(seconds.error());
  const fwd_end end = finish(run, seconds.value());
  return conclude(run, end, eal.hugepages());
}

}  // namespace

int run_fwd(const invocation& call) {
  fwd_options options;
  if (const auto status = parse_fwd_options(call, options)) return *status;
  const std::vector<std::string> captures = capture_files(call.eal_args);
  auto json = output_file::open("fwd: --json", options.common.json, identities_of(captures));
  if (!json) return report(json.error());
  install_stop_signals();
  auto eal = start(call, options);
  if (!eal) return report(eal.error());
  return forward(options, eal.value(), std::move(json.value()));
}

}  // namespace millrace::app
