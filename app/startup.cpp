#include "app/startup.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "app/command_line.hpp"
#include "env/eal_complete.hpp"
#include "env/machine.hpp"
#include "env/preflight.hpp"
#include "env/profile.hpp"
#include "env/runtime_dir.hpp"

namespace millrace::app {

unsigned expected_lcores(const env::eal_vector& given) {
  if (const auto chosen = env::chosen_lcores(given))
    return static_cast<unsigned>(std::max<std::size_t>(1, chosen->lcores.size()));
  return std::max(1u, std::thread::hardware_concurrency());
}

unsigned expected_lcores(const invocation& call) {
  const auto given = env::eal_vector::parse(call.eal_args);
  return given ? expected_lcores(given.value()) : 1;
}

base::outcome raise_descriptor_limit() {
  constexpr rlim_t needed = 64;
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return base::done{};
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
    (void)::getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur < needed)
    return base::failure{
        "this process may open " + std::to_string(limit.rlim_cur) + " files, EAL needs " + std::to_string(needed),
        "ulimit -n 1024", false};
  return base::done{};
}

base::result<env::eal> start_eal(const invocation& call, const eal_wish& wish) {
  std::vector<std::string> words = call.eal_args.empty() ? wish.default_args : call.eal_args;
  words.insert(words.end(), wish.role_args.begin(), wish.role_args.end());
  auto given = env::eal_vector::parse(words);
  if (!given) return given.error();
  if (auto enough = raise_descriptor_limit(); !enough) return enough.error();

  const env::machine host = env::read_machine();
  env::remove_leftovers(host.runtime_dir);
  for (const env::hugetlbfs_mount& mount : host.hugetlbfs) env::remove_hugepage_files(mount.dir);
  const env::eal_need need{wish.memory_bytes, ::getpid()};
  const auto complete = env::complete_eal_args(std::move(given.value()), host, need);
  if (!complete) return complete.error();

  const env::preflight_report checked = env::preflight(complete.value(), host, need);
  for (const std::string& note : checked.notes) std::fprintf(stderr, "millrace: note: %s\n", note.c_str());
  for (std::size_t i = 1; i < checked.failures.size(); ++i) report(checked.failures[i]);
  const std::vector<std::string> args = complete.value().args();
  if (wish.verbose) std::fprintf(stderr, "EAL: %s\n", env::shell_line(args).c_str());
  if (!checked.failures.empty()) return checked.failures.front();
  auto running = env::eal::start(args);
  if (running)
    for (const std::string& line : running.value().messages()) std::fprintf(stderr, "EAL: %s\n", line.c_str());
  return running;
}

base::result<std::vector<std::string>> profile_args(std::string_view name) {
  return env::read_profile(name, profile_dirs(), env::environment_variable);
}

int report(const base::failure& why) {
  if (why.unusable) {
    std::fprintf(stderr, "millrace: %s\n", why.what.c_str());
    if (!why.hint.empty()) std::fprintf(stderr, "  %s\n", why.hint.c_str());
    return exit_unusable;
  }
  std::fprintf(stderr, "millrace: %s%s%s\n", why.what.c_str(), why.hint.empty() ? "" : "; try: ", why.hint.c_str());
  return exit_failed;
}

}  // namespace millrace::app
