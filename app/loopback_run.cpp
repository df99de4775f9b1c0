// `loopback` of every workload but `io`: from the rings to the report.
//
// Order of the end: the clients are done, the server stops, the clients finish, rings are drained, loops go, ports go,
// the pool is counted.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>

#include "app/build_info.hpp"
#include "app/engine_run.hpp"
#include "app/loopback.hpp"
#include "app/loopback_ends.hpp"
#include "app/signals.hpp"
#include "app/startup.hpp"
#include "env/lcore.hpp"

namespace millrace::app {
namespace {

using base::failure;
using clock = std::chrono::steady_clock;
using pipeline::count;
using pipeline::figures;

constexpr std::uint32_t fewest_slots = 1024;
constexpr std::uint32_t kept_pkts = 2048;  // that outputs, hosts and services have at hand
constexpr unsigned steps_a_look = 64;      // at the clock
constexpr double sample_s = 0.005;         // of the pool

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

bool is_stream(const loopback_options& options) { return options.workload == loopback_workload::srmp_stream; }
bool is_bodies(const loopback_options& options) { return options.is_fetch(); }

std::uint16_t queues_of(std::size_t workers) noexcept {
  return static_cast<std::uint16_t>(std::clamp<std::size_t>(workers, 1, 16));
}

// Everything of a run, in the order it is made; it goes in the opposite order.
struct ends_run {
  loopback_options options;
  std::FILE* people = stdout;
  std::unique_ptr<ring_pair> pair;
  std::unique_ptr<loopback_ends> ends;
};

struct run_end {
  fwd_end packets;     // of both halves
  figures server;      // of its lcores
  std::string broken;  // the promise that was, or nothing
  load_end echoes;     // of srmp-echo
  stream_end streams;  // of srmp-stream
  fetch_end bodies;    // of quic-stream, h3-get, h3-json
  std::uint64_t handshake_heap = 0;
  std::string wires;  // a line of text, or nothing
  double seconds = 0;
};

void print_period(const ends_run& run, double now, double& printed, load_end& echoes, stream_end& streams,
                  fetch_end& bodies) {
  std::string text;
  if (is_bodies(run.options)) {
    fetch_end reading = run.ends->bodies();
    text = fetch_period_text(now, now - printed, bodies.did, reading.did);
    bodies = std::move(reading);
  } else if (is_stream(run.options)) {
    stream_end reading = run.ends->streams();
    text = stream_period_text(now, now - printed, streams.did, reading.did);
    streams = std::move(reading);
  } else {
    load_end reading = run.ends->echoes();
    text = load_period_text(now, now - printed, echoes.did, reading.did);
    echoes = std::move(reading);
  }
  std::fputs(text.c_str(), run.people);
  std::fflush(run.people);
  printed = now;
}

// Until the clients are done. A signal ends their asking.
base::result<double> drive(ends_run& run) {
  const double period = run.options.common.stats_period_s;
  if (run.options.duration_s == 0 && run.options.requests == 0) {
    std::fputs("running until SIGINT (Ctrl-C) or SIGTERM\n", run.people);
    std::fflush(run.people);
  }
  const clock::time_point start = clock::now();
  if (auto started = run.ends->start(); !started) return started.error();
  load_end echoes;
  stream_end streams;
  fetch_end bodies;
  double printed = 0;
  double sampled = 0;
  bool told = false;
  while (!run.ends->is_done()) {
    for (unsigned i = 0; i < steps_a_look; ++i) run.ends->step();
    if (stop_requested() && !std::exchange(told, true)) run.ends->tell_to_stop();
    const double now = seconds_since(start);
    if (now - sampled >= sample_s) {
      run.pair->pool().sample();
      sampled = now;
    }
    if (period > 0 && now - printed >= period) print_period(run, now, printed, echoes, streams, bodies);
  }
  run.pair->pool().sample();
  const double seconds = seconds_since(start);
  run.ends->finish();
  return seconds;
}

// What was sent by one end has been received by the other, or lay in the rings.
std::string between_the_ends(const figures& total) {
  const std::uint64_t sent = total[count::tx_pkts];
  const std::uint64_t received = total[count::rx_pkts];
  if (sent == received) return {};
  return fmt::format("packets are missing between the two ends: {} were sent, {} received", sent, received);
}

// Takes the run apart and counts what is left.
run_end finish(ends_run& run, double seconds) {
  run_end end;
  end.seconds = seconds;
  end.echoes = run.ends->echoes();
  end.streams = run.ends->streams();
  end.bodies = run.ends->bodies();
  end.handshake_heap = run.ends->handshake_heap_calls();
  end.wires = run.ends->wires_text();
  fwd_end& p = end.packets;
  p.window.seconds = seconds;
  for (loopback_ends::half& half : run.ends->halves()) {
    p.total += half.did;
    if (half.is_server) {
      end.server += half.did;
    } else {  // the stages that are told are the server's
      for (const count stage : {count::staged_pkts, count::staged_rx_cycles, count::staged_classify_cycles,
                                count::staged_work_cycles, count::staged_timer_cycles, count::staged_tx_cycles})
        half.did.counts[static_cast<std::size_t>(stage)] = 0;
    }
    if (!p.window.lcores.empty() && p.window.lcores.back().lcore == half.lcore)
      p.window.lcores.back().did += half.did;
    else
      p.window.lcores.push_back({half.lcore, half.did});
  }
  figures drained;
  drained.counts[static_cast<std::size_t>(count::rx_pkts)] = run.pair->drain();
  drained.counts[static_cast<std::size_t>(count::held_pkts)] = drained[count::rx_pkts];
  p.total += drained;
  p.service_errors = run.ends->server_errors();
  for (const port::port& one : run.pair->ports()) p.ports.push_back({one.facts().name, one.stats()});
  run.ends.reset();
  run.pair->close();
  p.pool = read_pool(run.pair->pool());
  end.broken = broken_promise(p);
  if (end.broken.empty()) end.broken = between_the_ends(p.total);
  return end;
}

std::string failure_of(const ends_run& run, const run_end& end) {
  if (!end.broken.empty()) return end.broken;
  const bool good_wire = !run.options.wire.is_needed();
  if (is_bodies(run.options)) return stop_requested() ? std::string{} : fetch_failure(end.bodies);
  if (is_stream(run.options)) return stop_requested() ? std::string{} : stream_failure(end.streams, good_wire);
  if (const std::uint64_t wrong = end.echoes.did[loadgen::load_error::mismatch]; wrong != 0)
    return fmt::format("{} replies were not what was asked", wrong);
  if (end.echoes.quic && end.echoes.quic->lost != 0 && !stop_requested())
    return fmt::format("{} connections were lost", end.echoes.quic->lost);
  return stop_requested() ? std::string{} : load_failure(end.echoes);
}

void add_workload(const ends_run& run, const run_end& end, workload_parameters& w) {
  const loopback_options& o = run.options;
  add_loopback_workload(o, w);
  w.add("mtu", o.mtu);
  w.add("connections", o.connections);
  w.add("streams", o.streams);
  if (is_stream(o)) {
    w.add("method", stream_method_name);
    w.add("item", stream_item(o));
  } else if (!is_bodies(o)) {
    add_load_workload(end.echoes.asked, w);
    if (o.is_srmp_quic()) w.add("window", o.window);
    w.add("streams", o.streams);
  }
  w.add("checksums", o.software_checksums ? "software" : "offload");
  w.add("requests", o.requests);
  if (!is_bodies(o)) w.add("timeout", o.timeout_s);
  w.add("loss", o.wire.loss_percent);
  w.add("reorder", o.wire.reorder_percent);
  w.add("delay", static_cast<double>(o.wire.delay_ns) / 1e6);
  w.add("seed", o.wire.seed);
  w.add("server_lcores", run.pair->plan().ports.front().rxq);
}

void fill(const ends_run& run, const run_end& end, run_result& result) {
  result.role = "loopback";
  add_workload(run, end, result.workload);
  fill_result(end.packets, result);
  // "total" as the stages: of the server.
  for (auto& [stage, cycles] : result.cycles_per_packet)
    if (stage == "total" && end.server[count::measured_pkts] != 0)
      cycles = static_cast<double>(end.server[count::measured_busy_cycles]) /
               static_cast<double>(end.server[count::measured_pkts]);
  if (result.heap_calls) result.heap_calls->handshake = end.handshake_heap;
  if (is_bodies(run.options))
    fill_fetch_result(end.bodies, result);
  else if (is_stream(run.options))
    fill_stream_result(end.streams, result);
  else
    fill_load_result(end.echoes, result);
}

int conclude(loopback_call& call, ends_run& run, const run_end& end) {
  const std::string title = "loopback " + std::string(to_string(run.options.workload)) +
                            (run.options.is_srmp_quic() ? " with QUIC" : "") + " over two joined ports\n" +
                            (is_bodies(run.options)   ? fetch_text(end.bodies)
                             : is_stream(run.options) ? stream_text(end.streams)
                                                      : load_text(end.echoes)) +
                            end.wires;
  std::fputs((title + summary_text("packets of both ends", end.packets)).c_str(), run.people);
  if (call.json) {
    run_result result;
    result.build = build_info(call.eal.hugepages());
    fill(run, end, result);
    if (auto written = write_result(result, call.json); !written) return report(written.error());
  }
  if (const std::string failed = failure_of(run, end); !failed.empty()) return report({failed, "", false});
  return exit_done;
}

}  // namespace

ring_pair_wish ends_wish(const loopback_options& options, unsigned workers) {
  ring_pair_wish wish;
  wish.queues = queues_of(workers);
  const auto packets = static_cast<std::uint32_t>(std::min<std::uint64_t>(most_in_flight(options), most_ring_packets));
  wish.slots = std::max(fewest_slots, std::bit_ceil(2 * packets));
  wish.mtu = options.mtu;
  wish.burst_pkts = options.burst_pkts;
  wish.budget_pkts = (kept_pkts + (options.is_quic() ? kept_packets(options) : 0)) * (1u + wish.queues);
  return wish;
}

int run_loopback_ends(loopback_call& call) {
  std::vector<unsigned> lcores = call.eal.worker_lcores();
  lcores.resize(std::min<std::size_t>(lcores.size(), queues_of(lcores.size())));
  ends_run run{.options = call.options, .people = call.people, .pair = nullptr, .ends = nullptr};
  run.options.connections = std::max(run.options.connections, queues_of(lcores.size()));  // at least one a server
  run.options.wire.most_held =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(2 * most_in_flight(run.options), 1024, 1u << 16));
  ring_pair_wish wish = ends_wish(run.options, static_cast<unsigned>(lcores.size()));
  for (const unsigned lcore : lcores) wish.workers.push_back({lcore, env::socket_of_lcore(lcore)});
  auto pair = ring_pair::make(wish);
  if (!pair) return report(pair.error());
  run.pair = std::move(pair.value());
  auto ends = loopback_ends::make(run.options, *run.pair, run.pair->pool(), lcores, call.eal.main_lcore());
  if (!ends) return report(ends.error());
  run.ends = std::move(ends.value());
  if (call.options.common.verbose)
    std::fprintf(run.people, "%s%s", describe(run.pair->plan()).c_str(), run.ends->describe().c_str());
  const auto seconds = drive(run);
  if (!seconds) return report(seconds.error());
  const run_end end = finish(run, seconds.value());
  return conclude(call, run, end);
}

}  // namespace millrace::app
