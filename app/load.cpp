// The role `load`: one port, a host on it, and a generator on each worker lcore; the control thread waits and prints.
//
// Order of the end as in fwd.cpp: loops stop, figures are read, loops go, the port closes, the pool is counted, EAL
// goes.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>

#include "app/build_info.hpp"
#include "app/fwd_report.hpp"
#include "app/load_options.hpp"
#include "app/load_quic.hpp"
#include "app/load_report.hpp"
#include "app/role.hpp"
#include "app/signals.hpp"
#include "app/startup.hpp"
#include "crypto/random.hpp"
#include "env/lcore.hpp"
#include "loadgen/srmp_load.hpp"
#include "pipeline/service_loop.hpp"
#include "port/packet_socket.hpp"
#include "port/port.hpp"

namespace millrace::app {
namespace {

using base::failure;
using base::outcome;
using clock = std::chrono::steady_clock;

constexpr auto control_pause = std::chrono::milliseconds(5);
constexpr std::uint64_t stop_slack_ns = 1'000'000'000;
constexpr std::size_t tries_a_lcore = 16;  // ports that a connection may try, so that hardly any finds none

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

// What one lcore runs.
struct generator_lcore {
  unsigned lcore = 0;
  pipeline::service_loop* loop = nullptr;
  const std::atomic<bool>* stop = nullptr;
};

// Everything of a run, in the order it is made; it goes in the opposite order.
struct load_run {
  load_options options;
  std::FILE* people = stdout;  // stderr where the JSON object has stdout to itself
  output_file json;
  port::plan plan;
  std::optional<mem::packet_pool> pool;
  std::optional<port::port> port;
  std::vector<std::unique_ptr<loadgen::srmp_load>> loads;  // one a lcore, behind the loops that call them
  std::unique_ptr<quic_clients> quic;                      // or these
  std::vector<std::unique_ptr<pipeline::service_loop>> loops;
  std::vector<generator_lcore> lcores;
  bool own_lcores = false;
  std::atomic<bool> stop{false};

  [[nodiscard]] bool is_fetch() const { return app::is_fetch(options.scheme); }
  [[nodiscard]] bool is_quic() const { return is_over_quic(options.scheme); }
  [[nodiscard]] load_end messages() const { return is_quic() ? quic->messages() : gather(options.asked, loads); }
  [[nodiscard]] bool is_done() const {
    if (quic != nullptr) return quic->is_done();
    return std::all_of(loads.begin(), loads.end(), [](const auto& one) { return one->is_done(); });
  }
};

// How many lcores find something to do. Replies to a QUIC connection have to come to the lcore that has its keys, and
// which queue a network port chooses for them is not ours to say.
std::size_t most_workers(const load_run& run, const port::port_facts& facts) {
  const std::size_t most = std::min<std::size_t>({facts.max_rxq, facts.max_txq, run.options.asked.connections});
  if (!run.is_quic()) return most;
  if (!facts.is_software_ring()) return 1;
  const std::uint64_t requests = run.options.asked.requests;
  return requests == 0 ? most : std::min<std::size_t>(most, requests);
}

// One queue a worker lcore, as far as there are queues and connections.
outcome open_port(load_run& run, const env::eal& eal) {
  auto found = port::discover();
  if (!found) return found.error();
  const port::port_facts& facts = found.value().front();
  if (found.value().size() > 1)
    std::fprintf(stderr, "warning: only the first of %zu ports is used, %s\n", found.value().size(),
                 facts.name.c_str());
  std::vector<unsigned> workers = eal.worker_lcores();
  run.own_lcores = !workers.empty();
  const std::size_t most = most_workers(run, facts);
  if (workers.size() > most) {
    std::fprintf(stderr, "warning: %zu of %zu worker lcores have nothing to do\n", workers.size() - most,
                 workers.size());
    workers.resize(most);
  }
  if (workers.empty()) workers.push_back(eal.main_lcore());
  port::plan_request& wish = run.options.plan;
  wish.rxq = wish.txq = static_cast<std::uint16_t>(workers.size());
  for (const unsigned lcore : workers) {
    run.lcores.push_back({.lcore = lcore});
    wish.workers.push_back({lcore, env::socket_of_lcore(lcore)});
  }
  auto planned = port::make_plan({&facts, 1}, wish);
  if (!planned) return planned.error();
  run.plan = std::move(planned.value());
  auto pool = mem::packet_pool::make(run.plan.pool);
  if (!pool) return pool.error();
  run.pool.emplace(std::move(pool.value()));
  auto opened = port::port::open(run.plan.ports.front(), *run.pool);
  if (!opened) return opened.error();
  run.port.emplace(std::move(opened.value()));
  return run.port->start();
}

// The generator of lcore `i` of `n`: its share of connections, requests and rate. Rings lead from a queue to the same
// one; any other port spreads replies over its queues as it likes, so connections look for ports that suit theirs.
loadgen::load_settings share_of(const load_run& run, std::size_t i) {
  const loadgen::load_settings& all = run.options.asked;
  const std::size_t n = run.lcores.size();
  loadgen::load_settings s = all;
  const auto part = [&](std::uint64_t whole) { return whole * (i + 1) / n - whole * i / n; };
  s.connections = static_cast<std::uint16_t>(part(all.connections));
  s.port_offset = static_cast<std::uint16_t>(all.connections * i / n);
  s.requests = part(all.requests);
  s.share = static_cast<std::uint16_t>(i);
  s.shares = static_cast<std::uint16_t>(n);
  if (n == 1 || run.plan.ports.front().facts.is_software_ring()) return s;
  s.port_step = all.connections;
  const std::size_t ports = UINT16_MAX + std::size_t{1} - all.first_port;
  s.port_tries = static_cast<std::uint16_t>(std::clamp<std::size_t>(ports / s.port_step, 1, tries_a_lcore * n));
  return s;
}

// The generator of lcore `i`, on its loop.
outcome add_generator(load_run& run, std::size_t i, pipeline::service_loop& loop) {
  if (run.is_quic()) return run.quic->add(i, run.lcores.size(), *run.pool, loop);
  auto load = loadgen::srmp_load::make(share_of(run, i));
  if (!load) return load.error();
  run.loads.push_back(std::move(load.value()));
  return run.loads.back()->open_on(loop);
}

outcome make_loops(load_run& run) {
  net::host_config host = run.options.host;
  const port::port_plan& plan = run.port->plan();
  if (plan.facts.mac != port::mac_address{}) host.mac.octets = plan.facts.mac;  // rings have none: any will do
  host.offload = {.tx_ipv4 = plan.use.tx_ipv4_checksum, .tx_udp = plan.use.tx_udp_checksum};
  host.instances = static_cast<std::uint16_t>(run.lcores.size());
  std::array<std::uint8_t, sizeof host.seed> secret;
  if (!crypto::random_bytes(secret)) return failure{"the kernel gives no random bytes", ""};
  std::memcpy(&host.seed, secret.data(), sizeof host.seed);
  const pipeline::loop_settings how{.burst_pkts = run.options.burst_pkts,
                                    .idle = static_cast<pipeline::idle_policy>(run.options.common.idle),
                                    .stop_patience_ns = run.options.asked.timeout_ns + stop_slack_ns};
  std::vector<pipeline::service_loop*> all;
  for (std::size_t i = 0; i < run.lcores.size(); ++i) {
    const auto queue = static_cast<std::uint16_t>(i);
    host.instance = queue;
    const pipeline::loop_interface at{.port = run.port->id(), .rx_queue = queue, .tx_queue = queue, .host = host};
    auto loop = pipeline::service_loop::make(how, {&at, 1}, *run.pool);
    if (!loop) return loop.error();
    run.loops.push_back(std::move(loop.value()));
    if (auto added = add_generator(run, i, *run.loops.back()); !added) return added;
    run.lcores[i].loop = run.loops.back().get();
    run.lcores[i].stop = &run.stop;
    all.push_back(run.loops.back().get());
  }
  return pipeline::service_loop::join(all, "load");
}

outcome start(load_run& run) {
  if (!run.own_lcores) return base::done{};
  const auto body = [](void* argument) {
    const auto* mine = static_cast<const generator_lcore*>(argument);
    mine->loop->run(*mine->stop);
    return 0;
  };
  for (generator_lcore& one : run.lcores)
    if (!env::launch(one.lcore, body, &one))
      return failure{"lcore " + std::to_string(one.lcore) + " cannot be started", ""};
  return base::done{};
}

// Loops end by themselves once told; a loop on this lcore is ended here.
void stop(load_run& run, std::uint64_t cpu_ns_before) {
  run.stop = true;
  if (run.own_lcores) {
    for (const generator_lcore& one : run.lcores) env::wait(one.lcore);
    return;
  }
  pipeline::service_loop& loop = *run.loops.front();
  const mem::heap_watch watch(loop.counters().heap);
  loop.finish();
  loop.counters().add(pipeline::count::cpu_ns, env::thread_cpu_ns() - cpu_ns_before);
}

void turn(load_run& run) {
  pipeline::service_loop& loop = *run.loops.front();
  const mem::heap_watch watch(loop.counters().heap);
  loop.slice();
}

struct readings {  // of the last period
  double at_s = 0;
  loadgen::load_figures messages;
  loadgen::fetch_figures bodies;
};

void print_period(load_run& run, double now, readings& last) {
  std::string text;
  if (run.is_fetch()) {
    const fetch_end reading = run.quic->bodies();
    text = fetch_period_text(now, now - last.at_s, last.bodies, reading.did);
    last.bodies = reading.did;
  } else {
    const load_end reading = run.messages();
    text = load_period_text(now, now - last.at_s, last.messages, reading.did);
    last.messages = reading.did;
  }
  std::fputs(text.c_str(), run.people);
  std::fflush(run.people);
  last.at_s = now;
}

// Until the generators are done or a signal came. Answers the seconds it took.
base::result<double> measure(load_run& run) {
  const double period = run.options.common.stats_period_s;
  if (run.options.asked.requests == 0 && run.options.asked.duration_ns == 0) {
    std::fputs("running until SIGINT (Ctrl-C) or SIGTERM\n", run.people);
    std::fflush(run.people);
  }
  const std::uint64_t cpu_ns = env::thread_cpu_ns();
  const clock::time_point begin = clock::now();
  if (auto started = start(run); !started) {
    stop(run, cpu_ns);
    return started.error();
  }
  readings last;
  while (!stop_requested() && !run.is_done()) {
    if (run.own_lcores) {
      std::this_thread::sleep_for(control_pause);
      run.pool->sample();
    } else {
      turn(run);
    }
    if (run.is_quic()) run.quic->write_key_log();
    if (const double now = seconds_since(begin); period > 0 && now - last.at_s >= period) print_period(run, now, last);
  }
  run.pool->sample();
  stop(run, cpu_ns);
  const double seconds = seconds_since(begin);
  if (run.is_quic() && !run.quic->write_key_log())
    std::fputs("warning: the key log took less than there was to write\n", stderr);
  return seconds;
}

// Takes the run apart and counts what is left.
fwd_end finish(load_run& run, double seconds) {
  fwd_end end;
  end.window.seconds = seconds;
  for (const generator_lcore& one : run.lcores) {
    end.window.lcores.push_back({one.lcore, pipeline::read(one.loop->counters())});
    end.total += one.loop->total();
  }
  end.driver_errors = driver_errors(*run.port);
  end.ports.push_back({run.port->facts().name, run.port->stats()});
  run.loops.clear();
  run.quic.reset();  // connections may hold packets
  run.port.reset();
  const std::uint32_t in_use = run.pool->sample();
  end.pool = {run.pool->name(), run.pool->size(), in_use, run.pool->high_water(), run.pool->refused()};
  return end;
}

// What the generators did, of one kind or the other.
struct load_ends {
  load_end messages;
  fetch_end bodies;

  [[nodiscard]] std::uint64_t handshake_heap() const {
    return bodies.quic.handshake_heap + (messages.quic ? messages.quic->handshake_heap : 0);
  }
};

std::string failure_of(const load_run& run, const fwd_end& packets, load_ends& did) {
  const std::uint64_t unroutable = packets.total.dropped(stats::drop_reason::no_route);
  for (quic_end* end : {&did.bodies.quic, did.messages.quic ? &*did.messages.quic : nullptr}) {
    if (end == nullptr) continue;
    end->unroutable = unroutable;
    end->unreachable = packets.total.dropped(stats::drop_reason::neighbour_unreachable);
  }
  return run.is_fetch() ? fetch_failure(did.bodies, true) : load_failure(did.messages, unroutable);
}

int conclude(load_run& run, const fwd_end& packets, load_ends& did, bool hugepages) {
  const std::string title =
      "load on " + to_text(run.options.asked.target) + " over " + run.plan.ports.front().facts.name + "\n";
  std::fputs((title + (run.is_fetch() ? fetch_text(did.bodies) : load_text(did.messages))).c_str(), run.people);
  std::fputs(summary_text("packets", packets).c_str(), run.people);
  if (run.json) {
    run_result result;
    result.role = "load";
    result.build = build_info(hugepages);
    if (run.is_fetch())
      add_fetch_workload(run.options.scheme, run.options.quic, result.workload);
    else
      add_load_workload(run.options.asked, result.workload);
    if (run.options.scheme == load_scheme::srmp_quic) add_srmp_quic_workload(run.options.quic, result.workload);
    result.workload.add("idle", to_string(run.options.common.idle));
    result.workload.add("burst", run.options.burst_pkts);
    result.workload.add("mtu", run.options.host.mtu);
    fill_result(packets, result);
    if (run.is_fetch())
      fill_fetch_result(did.bodies, result);
    else
      fill_load_result(did.messages, result);
    if (result.heap_calls) result.heap_calls->handshake = did.handshake_heap();
    if (auto written = write_result(result, run.json); !written) return report(written.error());
  }
  if (const std::string broken = broken_promise(packets); !broken.empty()) return report({broken, "", false});
  if (const std::string failed = failure_of(run, packets, did); !failed.empty() && !stop_requested())
    return report({failed, "", false});
  return exit_done;
}

base::result<env::eal> start_environment(const invocation& call, load_options& options) {
  if (call.eal_args.empty())
    return failure{"load: there is no port to send from", "millrace @af_packet -- load ... (docs/drivers.md)", true};
  eal_wish wish;
  wish.verbose = options.common.verbose;
  const unsigned workers = expected_lcores(call);
  if (is_over_quic(options.scheme)) {
    const quic_need need = expected_quic(options.scheme, options.quic, std::max(workers, 2u) - 1);
    options.plan.budget_pkts += need.packets;
    wish.memory_bytes = need.memory_bytes;
  }
  wish.memory_bytes +=
      mem::estimated_bytes(port::expected_pool(1, workers, options.plan, port::largest_ring_frame(call.eal_args)));
  return start_eal(call, wish);
}

// With EAL running: from the port to the final figures. Everything made here is gone before EAL is.
int generate(const load_options& options, const env::eal& eal, output_file json, std::unique_ptr<quic_clients> quic) {
  load_run run;
  run.options = options;
  run.json = std::move(json);
  if (run.json.is_stdout()) run.people = stderr;
  run.quic = std::move(quic);
  if (auto opened = open_port(run, eal); !opened) return report(opened.error());
  if (auto made = make_loops(run); !made) return report(made.error());
  if (options.common.verbose) {
    std::fputs(describe(run.plan).c_str(), run.people);
    if (run.is_quic()) std::fputs((std::string(run.quic->trust_text()) + "\n").c_str(), run.people);
  }
  for (const std::string& warning : run.plan.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  const auto seconds = measure(run);
  if (!seconds) return report(seconds.error());
  load_ends did{.messages = run.messages(), .bodies = {}};
  if (run.is_fetch()) did.bodies = run.quic->bodies();
  // Packets are told over the time that messages were measured in, without what came before the first answer.
  const double measured = run.is_fetch() ? did.bodies.did.seconds() : did.messages.did.seconds();
  const fwd_end packets = finish(run, measured > 0 ? measured : seconds.value());
  return conclude(run, packets, did, eal.hugepages());
}

}  // namespace

int run_load(const invocation& call) {
  load_options options;
  if (const auto status = parse_load_options(call, options)) return *status;
  auto json = output_file::open("load: --json", options.common.json);
  if (!json) return report(json.error());
  std::unique_ptr<quic_clients> quic;
  if (is_over_quic(options.scheme)) {
    auto made = quic_clients::make(options.scheme, options.quic);
    if (!made) return report(made.error());
    quic = std::move(made.value());
  }
  install_stop_signals();
  auto eal = start_environment(call, options);
  if (!eal) return report(eal.error());
  return generate(options, eal.value(), std::move(json.value()), std::move(quic));
}

}  // namespace millrace::app
