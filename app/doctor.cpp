#include "app/options.hpp"
#include "app/role.hpp"

#include <CLI/CLI.hpp>

namespace millrace::app {

int run_doctor(const invocation& call) {
  CLI::App options("what this machine lacks for running millrace, and the command that mends it");
  if (const auto status = parse_options(options, "doctor", call)) return *status;
  return exit_done;
}

}  // namespace millrace::app
