// app/role.hpp - what a role is to main(): a name, a sentence, and a function that ends in an exit status.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::app {

// The command line, split at `--` and with @PROFILE already read into eal_args.
struct invocation {
  std::string program;                 // argv[0]
  std::string profile;                 // name after @, empty when none was given
  std::vector<std::string> eal_args;   // of the profile and the caller, in order; empty when none was given
  std::vector<std::string> role_args;  // behind the role's name
};

// Exit statuses of every role; docs/command-line.md.
inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_unusable = 2;

struct role {
  std::string_view name;
  std::string_view summary;
  int (*run)(const invocation&);
};

int run_fwd(const invocation& call);
int run_inspect(const invocation& call);
int run_load(const invocation& call);
int run_serve(const invocation& call);
int run_loopback(const invocation& call);
int run_doctor(const invocation& call);

}  // namespace millrace::app
