// The role inspect: captures one after the other, or ports as EAL has them, until told to stop.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>

#include "app/build_info.hpp"
#include "app/inspect_capture.hpp"
#include "app/inspect_live.hpp"
#include "app/inspect_report.hpp"
#include "app/key_log_input.hpp"
#include "app/options.hpp"
#include "app/role.hpp"
#include "app/signals.hpp"
#include "app/startup.hpp"
#include "app/table_memory.hpp"
#include "crypto/random.hpp"
#include "port/packet_socket.hpp"
#include "port/plan.hpp"

namespace millrace::app {
namespace {

// Enough for one burst of the longest records that net_pcap delivers (66 KiB in buffers of 2 KiB); longer ones are
// read from the file itself.
constexpr std::uint32_t capture_mbufs = 8191;

struct inspect_options {
  std::vector<std::string> captures;
  live_options live;
  bool live_wanted = false;
  std::uint64_t max_flows = inspect::limits{}.max_flows;
  std::uint64_t srmp_port = 5500;
  std::uint64_t max_decrypted = inspect::limits{}.max_decrypted;
  std::vector<std::string> key_logs;  // as given; one is read
  std::string key_log;
  std::vector<std::string> live_only;  // options given that mean nothing to captures
  std::string json;
  std::string summary;
  bool verbose = false;
  std::uint64_t key_log_handshakes = 0;  // that the key log may hold
};

constexpr std::uint64_t most_flows = 64u << 20;           // 64 Mi: some 120 GB
constexpr std::uint64_t most_decrypted = 64u << 10;       // 64 Ki: some 3.2 GB
constexpr std::uint64_t most_handshakes_kept = 1u << 20;  // of a key log: some 320 MB

void declare(CLI::App& app, inspect_options& o) {
  app.add_option("CAPTURE", o.captures, "pcap and pcapng files, analysed one after the other")->type_name("FILE");
  app.add_flag("--live", o.live_wanted, "receive from the ports that the EAL arguments give");
  add_seconds(app, "--duration", o.live.duration_s, "of --live: its end, after this time; 0: at a signal");
  add_seconds(app, "--idle-exit", o.live.idle_exit_s, "of --live: its end, when nothing arrived for so long; 0: never");
  add_seconds(app, "--stats-period", o.live.stats_period_s, "of --live: a line of statistics every so often; 0: none");
  add_idle_option(app, o.live.idle);
  add_count(app, "--max-flows", o.max_flows, "5-tuples, and QUIC connections, known at one time");
  app.add_option("--srmp-port", o.srmp_port, "UDP port whose datagrams are SRMP when frames fill them; 0: none")
      ->type_name("PORT")
      ->capture_default_str();
  add_count(app, "--max-decrypted", o.max_decrypted, "QUIC connections decrypted at one time");
  app.add_option(
         "--keylog", o.key_logs,
         "secrets as SSLKEYLOGFILE has them: what they open is decrypted; those in a pcapng are found by themselves")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--json", o.json, "write one JSON object a line for each conversation ('-': stdout)")
      ->type_name("FILE");
  app.add_option("--summary", o.summary, "write the result of the run as one JSON object ('-': stdout)")
      ->type_name("FILE");
  app.add_flag("--verbose", o.verbose, "show the effective EAL arguments and how each capture was read");
}

std::optional<base::failure> refuse(const inspect_options& o) {
  const auto unusable = [](std::string what, std::string hint) {
    return base::failure{"inspect: " + std::move(what), std::move(hint), true};
  };
  if (o.max_flows == 0 || o.max_flows > most_flows)
    return unusable(fmt::format("--max-flows {}: from 1 to {}", o.max_flows, most_flows), {});
  if (o.max_decrypted == 0 || o.max_decrypted > most_decrypted)
    return unusable(fmt::format("--max-decrypted {}: from 1 to {}", o.max_decrypted, most_decrypted), {});
  if (o.srmp_port > 65'535) return unusable(fmt::format("--srmp-port {}: no such port", o.srmp_port), {});
  if (o.live_wanted && !o.captures.empty())
    return unusable("--live and " + o.captures.front() + " exclude each other",
                    "captures are read to their end; leave one of the two out");
  if (!o.live_only.empty() && !o.captures.empty())
    return unusable(o.live_only.front() + " means nothing to a capture: it is read to its end, as fast as it can be",
                    "leave it out; it is for --live");
  if (o.key_logs.size() > 1)
    return unusable(fmt::format("--keylog was given {} times, and one file is read", o.key_logs.size()),
                    "put them together: cat A B > BOTH");
  if (!o.key_log.empty() && o.captures.empty())
    return unusable("--keylog needs a capture: a key log is read once, before the first packet",
                    "write a capture first, and inspect it once the key log is there");
  if (o.json == "-" && o.summary == "-")
    return unusable("--json - and --summary - cannot both be stdout", "write one of them into a file");
  return std::nullopt;
}

inspect::analyzer_options analyzer_options_of(const inspect_options& o) {
  inspect::analyzer_options options;
  options.caps.max_flows = static_cast<std::uint32_t>(o.max_flows);
  options.caps.max_hellos = std::min(options.caps.max_hellos, options.caps.max_flows);
  options.srmp_port = static_cast<std::uint16_t>(o.srmp_port);
  inspect::limits& caps = options.caps;
  if (o.captures.empty()) {
    caps.max_decrypted = 0;  // ports bring no secrets
  } else {
    caps.max_decrypted = static_cast<std::uint32_t>(std::min<std::uint64_t>(o.max_decrypted, caps.max_flows));
    // What they share grows along.
    const inspect::limits usual;
    const std::uint32_t times = std::max(1U, caps.max_decrypted / usual.max_decrypted);
    caps.handshake_blocks = usual.handshake_blocks * times;
    caps.max_streams = usual.max_streams * times;
    caps.stream_pieces = usual.stream_pieces * times;
    caps.max_secrets = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(o.key_log_handshakes, caps.max_secrets, most_handshakes_kept));
  }
  return options;
}

mem::packet_pool_config capture_pool() { return {.name = "inspect_packets", .packets = capture_mbufs}; }

// Everything that lives between the start of EAL and the end of the run.
struct inspection {
  const inspect_options& options;
  inspect_report& report;
  inspect::analyzer& analyzer;
  inspect_run& run;
  mem::heap_tally heap;
};

base::outcome read_captures(inspection& i, const std::vector<capture_file>& files, run_result& result) {
  auto pool = mem::packet_pool::make(capture_pool());
  if (!pool) return pool.error();
  std::map<std::string, std::uint64_t> faults;
  for (unsigned n = 0; n < files.size() && !stop_requested(); ++n) {
    const capture_file& file = files[n];
    i.report.set_capture(file.name());
    const feed_result fed = feed_capture(file, n, pool.value(), i.analyzer, i.heap);
    pool.value().sample();
    i.analyzer.finish();
    i.report.end_capture(files.size() > 1);
    ++i.run.captures;
    i.run.direct += fed.direct;
    for (const auto& [kind, count] : fed.faults) faults[kind] += count;
    if (fed.direct != 0)
      fmt::print(stderr, "millrace: {}: {}; {} of {} records were read from the file itself\n", file.path(), fed.remark,
                 fed.direct, fed.direct + fed.by_port);
    else if (i.options.verbose)
      fmt::print(stderr, "{}: {} records through its port\n", file.path(), fed.by_port);
  }
  i.run.faults.assign(faults.begin(), faults.end());
  const mem::packet_pool& p = pool.value();
  result.mempools.push_back({p.name(), p.size(), p.in_use(), p.high_water(), p.refused()});
  return base::done{};
}

void describe_workload(run_result& result, const inspect_options& o) {
  result.role = "inspect";
  std::vector<std::string> names;
  for (const std::string& path : o.captures) names.push_back(path.substr(path.find_last_of('/') + 1));
  result.workload.add("captures", names);
  result.workload.add("live", o.captures.empty());
  result.workload.add("max_flows", o.max_flows);
  if (!o.captures.empty()) result.workload.add("max_decrypted", o.max_decrypted);
  result.workload.add("srmp_port", o.srmp_port);
}

// What a run reads.
struct inspect_input {
  std::vector<capture_file> captures;
  key_log_input key_log;
};

// EAL runs. Answers the failure that ends the run, if one does.
base::outcome analyse(const inspect_options& o, inspect_input& input, const env::eal& eal, inspect_report& report,
                      output_file& summary, run_result& result) {
  auto engine = crypto::engine::make();
  if (!engine) return base::failure{"IPsec-MB cannot start on this CPU", "millrace -- doctor"};
  inspect::analyzer_options options = analyzer_options_of(o);
  std::array<std::uint8_t, 8> seed{};
  if (!crypto::random_bytes(seed)) return base::failure{"the kernel gives no random bytes", {}};
  options.seed = base::load_le64(seed.data());

  inspect_run run;
  run.table_bytes = inspect::analyzer::bytes_needed(options.caps);
  table_memory tables;
  tables.take("inspect tables", run.table_bytes, eal.hugepages());
  if (!tables)
    return base::failure{
        fmt::format("no memory for the tables: {} MiB for --max-flows {}", run.table_bytes >> 20, o.max_flows),
        "a smaller --max-flows"};
  inspect::analyzer analyzer(tables.bytes(), options, *engine, report);
  if (auto fed = input.key_log.feed(analyzer); !fed) return fed;
  if (input.key_log && !analyzer.quic().decryption().active())
    fmt::print(
        stderr,
        "millrace: inspect: --keylog {}: no line has a secret of QUIC, so it opens nothing\n"
        "  try: the file that SSLKEYLOGFILE named while the capture was made; docs/troubleshooting.md, inspect\n",
        o.key_log);
  inspection i{o, report, analyzer, run, {}};
  const auto begin = std::chrono::steady_clock::now();
  base::outcome done = o.captures.empty() ? watch_ports(o.live, analyzer, i.heap, report.people(), result)
                                          : read_captures(i, input.captures, result);
  run.seconds = std::max(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 1e-9);
  analyzer.finish();
  if (auto written = report.finish(); !written && done) done = written.error();
  if (!done) return done;
  print_summary(report.people(), analyzer, report.totals(), run);

  describe_workload(result, o);
  result.build = build_info(eal.hugepages());
  if (mem::heap_counter_present()) result.heap_calls = heap_figures{.data_path = i.heap.calls.get(), .handshake = 0};
  fill_result(result, analyzer, run);
  return write_result(result, summary);
}

base::result<std::vector<capture_file>> open_all(const std::vector<std::string>& paths) {
  std::vector<capture_file> files;
  files.reserve(paths.size());
  for (const std::string& path : paths) {  // all, before anything starts
    auto file = capture_file::open(path);
    if (!file) return file.error();
    files.push_back(std::move(file.value()));
  }
  return files;
}

}  // namespace

int run_inspect(const invocation& call) {
  inspect_options o;
  CLI::App app("passive analysis: who talks QUIC to what, from captures or from ports");
  declare(app, o);
  if (const auto status = parse_options(app, "inspect", call)) return *status;
  if (!o.key_logs.empty()) o.key_log = o.key_logs.front();
  for (const char* option : {"--duration", "--idle-exit", "--stats-period", "--idle"})
    if (app.count(option) != 0) o.live_only.emplace_back(option);
  if (const auto why = refuse(o)) return app::report(*why);
  auto files = open_all(o.captures);
  if (!files) return app::report(files.error());
  if (o.captures.empty() && call.eal_args.empty())
    return app::report({"inspect: nothing to look at: no capture is named and the EAL arguments give no port",
                        "millrace -- inspect FILE   or   millrace @af_packet -- inspect --live", true});
  auto key_log = key_log_input::open(o.key_log);
  if (!key_log) return app::report(key_log.error());
  if (key_log.value()) o.key_log_handshakes = key_log.value().most_handshakes();
  inspect_input input{std::move(files.value()), std::move(key_log.value())};
  inspect_report report;
  std::vector<file_identity> taken = identities_of(o.captures);
  for (file_identity& log : identities_of(std::span(&o.key_log, o.key_log.empty() ? 0 : 1)))
    taken.push_back(std::move(log));
  auto lines = output_file::open("inspect: --json", o.json, taken);
  if (!lines) return app::report(lines.error());
  for (file_identity& json : identities_of(std::span(&o.json, 1))) taken.push_back(std::move(json));
  auto summary = output_file::open("inspect: --summary", o.summary, taken);
  if (!summary) return app::report(summary.error());
  report.open(std::move(lines.value()), summary.value().is_stdout());

  install_stop_signals();
  eal_wish wish;
  wish.verbose = o.verbose;
  wish.memory_bytes = inspect::analyzer::bytes_needed(analyzer_options_of(o).caps);
  if (o.captures.empty()) {
    wish.memory_bytes +=
        mem::estimated_bytes(port::expected_pool(1, 1, live_plan_request(), port::largest_ring_frame(call.eal_args)));
  } else {
    wish.memory_bytes += mem::estimated_bytes(capture_pool());
    wish.default_args = {"--no-pci"};
  }
  auto eal = start_eal(call, wish);
  if (!eal) return app::report(eal.error());
  run_result result;
  const base::outcome done = analyse(o, input, eal.value(), report, summary.value(), result);
  return done ? exit_done : app::report(done.error());
}

}  // namespace millrace::app
