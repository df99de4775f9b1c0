// The executable: which role, what remains for it, and its exit status.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>

#include "app/command_line.hpp"
#include "app/role.hpp"
#include "app/startup.hpp"
#include "app/version.hpp"
#include "env/dpdk_version.hpp"
#include "env/runtime_dir.hpp"

namespace millrace::app {
namespace {

// Each role adds its row together with its file.
constexpr std::array roles = std::to_array<role>({
    {"fwd", "forward packets between ports in one of several modes, and measure it", run_fwd},
    {"inspect", "who talks QUIC to what: captures and ports, analysed passively", run_inspect},
    {"serve", "answer on a network: ARP, ping, UDP echo, SRMP calls", run_serve},
    {"load", "ask a server as much as it takes, or at a rate; check every reply, and measure", run_load},
    {"loopback", "server and client in one process, joined by rings: no NIC, no network, no rights", run_loopback},
    {"doctor", "what this machine lacks for running millrace, and the command that mends it", run_doctor},
});

std::array<std::string_view, roles.size()> role_names() {
  std::array<std::string_view, roles.size()> names;
  std::transform(roles.begin(), roles.end(), names.begin(), [](const role& r) { return r.name; });
  return names;
}

void print_help() {
  std::puts(
      "millrace - a user-space packet appliance on DPDK\n"
      "\n"
      "usage: millrace [EAL args] -- ROLE [options]\n"
      "       millrace @PROFILE [more EAL args] -- ROLE [options]\n"
      "       millrace -- ROLE --help\n"
      "       millrace --help | --version\n"
      "\n"
      "roles:");
  for (const role& r : roles)
    std::printf("  %-10.*s %.*s\n", static_cast<int>(r.name.size()), r.name.data(), static_cast<int>(r.summary.size()),
                r.summary.data());
  std::puts(
      "\n"
      "@PROFILE reads EAL arguments from PROFILE.args: a path, in $MILLRACE_CONFIG_DIR, in the installed data\n"
      "directory, in the source tree's drivers-config. EAL arguments that are left out (memory, lcores, file prefix)\n"
      "are added; --verbose shows them. `--` may be left out before a role.\n"
      "\n"
      "exit status: 0 done; 1 the run failed, the last line on stderr says why; 2 unusable arguments or configuration");
}

void print_version() {
  const std::string_view mine = version();
  std::printf("millrace %.*s (DPDK %s)\n", static_cast<int>(mine.size()), mine.data(), env::dpdk_version().c_str());
}

int run(std::span<const std::string> words, std::string program) {
  auto read = read_command_line(words, role_names(), profile_dirs());
  if (!read) return report(read.error());
  command_line& line = read.value();
  line.call.program = std::move(program);
  switch (line.what) {
    case wanted::help:
      print_help();
      return exit_done;
    case wanted::version:
      print_version();
      return exit_done;
    case wanted::role:
      break;
  }
  env::settle_runtime_base();
  (void)raise_descriptor_limit();  // start_eal() asks again, and says so
  const auto chosen = std::find_if(roles.begin(), roles.end(), [&](const role& r) { return r.name == line.role; });
  return chosen->run(line.call);
}

}  // namespace
}  // namespace millrace::app

int main(int argc, char** argv) {
  using namespace millrace::app;
  int status = exit_failed;
  std::signal(SIGXFSZ, SIG_IGN);  // a file that reached its limit is a failed write, which is reported
  try {
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    status = run(words, argc > 0 ? argv[0] : "millrace");
  } catch (const std::exception& trouble) {
    status = report({std::string("unexpected: ") + trouble.what(), {}, false});
  }
  // A result that could not be written is a failed run, not a success with nothing to show.
  if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && status == exit_done)
    status = report({"stdout cannot be written", {}, false});
  return status;
}
