// The role `loopback`: what all workloads share before and after EAL.
#include "app/loopback.hpp"

#include <algorithm>

#include "app/loopback_ends.hpp"
#include "app/ring_pair.hpp"
#include "app/role.hpp"
#include "app/signals.hpp"
#include "app/startup.hpp"

namespace millrace::app {
namespace {

base::result<env::eal> start(const invocation& call, const loopback_options& options) {
  eal_wish wish;
  wish.verbose = options.common.verbose;
  // The ports are made here: the bus is looked at only when somebody says what for.
  const auto names_devices = [](const std::string& word) {
    return word.starts_with("-a") || word.starts_with("--allow") || word.starts_with("-b") ||
           word.starts_with("--block") || word == "--no-pci" || word.starts_with("--vdev");
  };
  if (std::ranges::none_of(call.eal_args, names_devices)) wish.role_args = {"--no-pci"};
  const unsigned workers = expected_lcores(call);
  wish.memory_bytes = expected_bytes(
      options.workload == loopback_workload::io ? io_wish(options, workers) : ends_wish(options, workers), workers);
  if (options.workload != loopback_workload::io)
    wish.memory_bytes += expected_endpoint_bytes(options, std::max(1u, workers));
  return start_eal(call, wish);
}

}  // namespace

void add_loopback_workload(const loopback_options& options, workload_parameters& out) {
  out.add("workload", to_string(options.workload));
  if (options.workload != loopback_workload::io) out.add("transport", to_string(options.transport));
  out.add("size", options.size);
  out.add("burst", options.burst_pkts);
  out.add("duration", options.duration_s);
  out.add("idle", to_string(options.common.idle));
}

int run_loopback(const invocation& call) {
  loopback_options options;
  if (const auto status = parse_loopback_options(call, options)) return *status;
  if (options.workload != loopback_workload::io)
    if (auto sound = check_ends(options); !sound) return report(sound.error());
  auto json = output_file::open("loopback: --json", options.common.json);
  if (!json) return report(json.error());
  install_stop_signals();
  auto eal = start(call, options);
  if (!eal) return report(eal.error());
  loopback_call run{.options = options, .eal = eal.value(), .json = std::move(json.value())};
  if (run.json.is_stdout()) run.people = stderr;
  return options.workload == loopback_workload::io ? run_loopback_io(run) : run_loopback_ends(run);
}

}  // namespace millrace::app
