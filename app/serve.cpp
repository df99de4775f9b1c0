// The role `serve`: ports and pool by plan, an appliance on them, and a control loop that prints.
//
// Order of the end, because each step needs the one before: services tell their peers and loops finish, figures are
// read, rings are drained, the appliance goes, ports close (drivers give their packets back), the pool is counted, EAL
// goes.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <optional>
#include <thread>

#include "app/appliance.hpp"
#include "app/build_info.hpp"
#include "app/fwd_report.hpp"
#include "app/role.hpp"
#include "app/serve_options.hpp"
#include "app/serve_ports.hpp"
#include "app/signals.hpp"
#include "app/startup.hpp"
#include "env/lcore.hpp"

namespace millrace::app {
namespace {

using base::failure;
using base::outcome;
using clock = std::chrono::steady_clock;

constexpr auto control_pause = std::chrono::milliseconds(5);

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

// Everything of a run, in the order it is made; it goes in the opposite order.
struct serve_run {
  serve_options options;
  std::FILE* people = stdout;  // stderr where the JSON object has stdout to itself
  output_file json;
  serve_plan plan;
  std::optional<mem::packet_pool> pool;
  std::deque<port::port> ports;
  std::unique_ptr<appliance> server;
  bool ready = false;
  std::vector<pipeline::figures> period_start;  // one a loop
  std::uint64_t period_messages = 0;
};

// What only this role has, beside the figures of a forwarding run.
struct serve_end {
  fwd_end figures;
  appliance_messages messages;
  std::string protocols;  // of QUIC
  std::uint64_t handshake_heap = 0;
};

outcome open_ports(serve_run& run, const env::eal& eal) {
  auto there = port::discover();
  if (!there) return there.error();
  std::vector<port::worker_place> workers;
  for (const unsigned lcore : eal.worker_lcores()) workers.push_back({lcore, env::socket_of_lcore(lcore)});
  const port::worker_place main{eal.main_lcore(), env::socket_of_lcore(eal.main_lcore())};
  auto planned = plan_serve(run.options.config, run.options.origins, there.value(), workers, main);
  if (!planned) return planned.error();
  run.plan = std::move(planned.value());
  auto pool = mem::packet_pool::make(run.plan.ports.pool);
  if (!pool) return pool.error();
  run.pool.emplace(std::move(pool.value()));
  for (const port::port_plan& how : run.plan.ports.ports) {
    auto opened = port::port::open(how, *run.pool);
    if (!opened) return opened.error();
    run.ports.push_back(std::move(opened.value()));
    if (auto started = run.ports.back().start(); !started) return started.error();
  }
  return base::done{};
}

outcome make_server(serve_run& run) {
  std::vector<const port::port*> ports;
  for (const port::port& p : run.ports) ports.push_back(&p);
  auto made = appliance::make(run.options.config, ports, run.plan.lcores, *run.pool);
  if (!made) return made.error();
  run.server = std::move(made.value());
  return base::done{};
}

void explain(const serve_run& run) {
  if (!run.options.common.verbose) {
    for (const std::string& warning : run.plan.ports.warnings) std::fprintf(stderr, "warning: %s\n", warning.c_str());
    return;
  }
  std::fprintf(run.people, "%s%s", describe(run.plan.ports).c_str(), run.server->describe().c_str());
  for (const std::string& name : run.plan.unused)
    std::fprintf(run.people, "note: port %s is not used: no interface of the configuration names it\n", name.c_str());
}

// Once every address is ours or known to be somebody else's: the line that scripts wait for. A failure when nothing
// is left to answer on.
outcome announce(serve_run& run) {
  const appliance_readiness now = run.server->readiness();
  if (!now.settled) return base::done{};
  run.ready = true;
  std::string line = "ready";
  bool any = false;
  for (const auto& [address, is_ours] : now.addresses) {
    if (!is_ours) {
      std::fprintf(stderr, "warning: %s is another station's address: nothing is answered there\n", address.c_str());
      continue;
    }
    line += " " + address;
    any = true;
  }
  if (!any) return failure{"every address is another station's", "give other addresses"};
  const serve_config& c = run.options.config;
  if (c.srmp.port != 0) line += fmt::format(" srmp-port={}", c.srmp.port);
  if (c.echo_port != 0) line += fmt::format(" echo-port={}", c.echo_port);
  if (c.quic.port != 0)
    line +=
        fmt::format(" quic-port={} alpn={} spki-pin={}", c.quic.port, run.server->protocols(), run.server->spki_pin());
  std::fprintf(run.people, "%s\n", line.c_str());
  std::fflush(run.people);
  return base::done{};
}

fwd_window read_loops(const appliance& server, const std::vector<pipeline::figures>& since, double seconds) {
  fwd_window window{.seconds = seconds, .bytes_counted = true, .lcores = {}};
  for (std::size_t i = 0; i < server.loops(); ++i) {
    const pipeline::figures now = server.of_loop(i);
    window.lcores.push_back({server.lcore_of(i), i < since.size() ? now.since(since[i]) : now});
  }
  return window;
}

pool_reading read_pool(serve_run& run) {
  const std::uint32_t in_use = run.pool->sample();
  return {run.pool->name(), run.pool->size(), in_use, run.pool->high_water(), run.pool->refused()};
}

void print_period(serve_run& run, double at_s, double period_s) {
  const fwd_window window = read_loops(*run.server, run.period_start, period_s);
  const std::uint64_t messages = run.server->messages().all();
  const std::string text =
      period_text(at_s, window, read_pool(run)) +
      fmt::format("           {:.0f} messages/s\n", static_cast<double>(messages - run.period_messages) / period_s);
  std::fputs(text.c_str(), run.people);
  std::fflush(run.people);
  run.period_messages = messages;
  run.period_start.clear();
  for (std::size_t i = 0; i < run.server->loops(); ++i) run.period_start.push_back(run.server->of_loop(i));
}

// After a SIGHUP, with nobody waiting for it.
void reload(serve_run& run) {
  if (auto done = run.server->reload(); !done) {
    const failure& why = done.error();
    std::fprintf(stderr, "warning: reload: %s%s%s; what was served is served on\n", why.what.c_str(),
                 why.hint.empty() ? "" : ": ", why.hint.c_str());
    return;
  }
  std::fprintf(run.people, "reloaded %s", run.server->describe_directories().c_str());
  std::fflush(run.people);
}

// Until time is up or a signal came. Answers the seconds it took.
base::result<double> answer(serve_run& run) {
  const serve_config& c = run.options.config;
  const clock::time_point start = clock::now();
  if (auto started = run.server->start(); !started) return started.error();
  outcome sound = base::done{};
  double printed = 0;
  for (;;) {
    if (run.server->has_lcores())
      std::this_thread::sleep_for(control_pause);
    else
      run.server->slice();
    const double now = seconds_since(start);
    if (!run.ready) sound = announce(run);
    run.server->keep_up();
    if (take_reload_request()) reload(run);
    if (!sound || stop_requested() || (c.duration_s > 0 && now >= c.duration_s)) break;
    run.pool->sample();
    if (c.stats_period_s > 0 && now - printed >= c.stats_period_s) {
      print_period(run, now, now - printed);
      printed = now;
    }
  }
  run.server->stop();
  run.server->keep_up();
  if (!sound) return sound.error();
  return seconds_since(start);
}

// Takes the run apart and counts what is left.
serve_end finish(serve_run& run, double seconds) {
  serve_end end;
  fwd_end& f = end.figures;
  f.window = read_loops(*run.server, {}, seconds);
  run.server->drain();
  f.total = run.server->total();
  end.messages = run.server->messages();
  end.protocols = run.server->protocols();
  end.handshake_heap = run.server->handshake_heap_calls();
  f.driver_errors = driver_errors(run.ports);
  f.service_errors = run.server->errors();
  for (const port::port& p : run.ports) f.ports.push_back({p.facts().name, p.stats()});
  run.server.reset();
  run.ports.clear();
  f.pool = read_pool(run);
  return end;
}

void add_workload(const serve_run& run, run_result& result) {
  const serve_config& c = run.options.config;
  workload_parameters& w = result.workload;
  w.add("config", run.options.config_file);
  std::vector<std::string> ports;
  std::vector<std::string> addresses;
  std::vector<std::string> gateways;
  for (const port::port_plan& p : run.plan.ports.ports) ports.push_back(p.facts.name);
  for (const interface_config& i : c.interfaces) {
    for (const net::host_address& a : i.host.addresses) addresses.push_back(to_text(a));
    for (const net::host_route& r : i.host.routes)
      if (is_default_route(r)) gateways.push_back(to_text(r.gateway));
  }
  w.add("ports", ports);
  w.add("address", addresses);
  w.add("gateway", gateways);
  w.add("srmp_port", c.srmp.port);
  w.add("srmp_answer", to_string(c.srmp.answer));
  w.add("echo_port", c.echo_port);
  w.add("quic_port", c.quic.port);
  w.add("burst", c.loop.burst_pkts);
  w.add("loops", std::max<std::size_t>(1, run.plan.lcores.size()));
  w.add("mbufs", run.plan.ports.pool.packets);
  w.add("idle", to_string(run.options.common.idle));
  w.add("duration", c.duration_s);
}

std::array<std::pair<const char*, std::uint64_t>, 5> by_service(const appliance_messages& m) {
  return {{{"srmp", m.srmp}, {"srmp_quic", m.srmp_quic}, {"hq", m.hq}, {"echo", m.echo}, {"echo_quic", m.echo_quic}}};
}

std::string messages_text(const appliance_messages& messages, double per_s) {
  std::string text = fmt::format("  messages  {} taken in, {:.0f}/s", messages.all(), per_s);
  std::string kinds;
  for (const auto& [service, n] : by_service(messages))
    if (n != 0) kinds += fmt::format("{} {} {}", kinds.empty() ? ":" : ",", service, n);
  return text + kinds + "\n";
}

int conclude(serve_run& run, const serve_end& end, bool hugepages) {
  std::string title = "serve on";
  for (const port::port_plan& p : run.plan.ports.ports) title += " " + p.facts.name;
  const double seconds = end.figures.window.seconds;
  const double messages_per_s = seconds > 0 ? static_cast<double>(end.messages.all()) / seconds : 0;
  std::fputs((summary_text(title, end.figures) + messages_text(end.messages, messages_per_s)).c_str(), run.people);
  if (run.json) {
    run_result result;
    result.role = "serve";
    result.build = build_info(hugepages);
    add_workload(run, result);
    result.workload.add("quic_protocols", end.protocols);
    fill_result(end.figures, result);
    if (result.heap_calls) result.heap_calls->handshake = end.handshake_heap;
    result.rate.messages_per_s = messages_per_s;
    for (const auto& [service, n] : by_service(end.messages)) result.messages.emplace_back(service, n);
    if (auto written = write_result(result, run.json); !written) return report(written.error());
  }
  if (const std::string broken = broken_promise(end.figures); !broken.empty()) return report({broken, "", false});
  return exit_done;
}

// With EAL running: from ports to the final figures. Everything made here is gone before EAL is.
int serve(const serve_options& options, const env::eal& eal, output_file json) {
  serve_run run;
  run.options = options;
  run.json = std::move(json);
  if (run.json.is_stdout()) run.people = stderr;
  if (auto opened = open_ports(run, eal); !opened) return report(opened.error());
  if (auto made = make_server(run); !made) return report(made.error());
  if (run.server->has_directories()) install_reload_signal();
  explain(run);
  run.period_start.resize(run.server->loops());
  const auto seconds = answer(run);
  if (!seconds) return report(seconds.error());
  const serve_end end = finish(run, seconds.value());
  return conclude(run, end, eal.hugepages());
}

int print_config(const serve_options& options) {
  std::fputs(to_toml(options.config).c_str(), stdout);
  return exit_done;
}

int say_sound(const serve_options& options) {
  std::printf("%s: sound\n", options.config_file.empty() ? "the default configuration" : options.config_file.c_str());
  return exit_done;
}

}  // namespace

int run_serve(const invocation& call) {
  serve_options options;
  if (const auto status = parse_serve_options(call, options)) return *status;
  if (options.print_config) return print_config(options);
  if (options.check) return say_sound(options);
  if (call.eal_args.empty())
    return report({"serve: there is no port to answer on: EAL arguments in front of `--` give one",
                   "MILLRACE_IFACE=eth1 millrace @af_packet -- serve   or   millrace -a 0000:03:00.0 -- serve", true});
  std::vector<std::string> read_files;
  if (!options.config_file.empty()) read_files.push_back(options.config_file);
  auto json = output_file::open("serve: --json", options.common.json, identities_of(read_files));
  if (!json) return report(json.error());
  install_stop_signals();
  auto eal = start_eal(call, {.memory_bytes = expected_memory(options.config, call.eal_args),
                              .default_args = {},
                              .role_args = {},
                              .verbose = options.common.verbose});
  if (!eal) return report(eal.error());
  return serve(options, eal.value(), std::move(json.value()));
}

}  // namespace millrace::app
