// test/support/eal_bench.hpp - main() of a benchmark that needs EAL: packet pools are EAL's memory.
//
// Shape    MILLRACE_EAL_BENCH_MAIN("-m", "256") in one source of the binary, with the EAL arguments it adds to the
//          usual ones. Hugepages when the environment says MILLRACE_BENCH_HUGE=1, plain pages else.
// Owner    pools may be static in a function: EAL ends behind the destructors of what was made under it.
#pragma once

#include <benchmark/benchmark.h>
#include <rte_eal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace millrace::test {

// Registered when EAL has started, so that exit() runs it behind the destructors of every static made after that.
inline void end_bench_eal() {
  rte_eal_cleanup();
  std::error_code ignored;
  std::filesystem::remove_all("/var/run/dpdk/mrbench" + std::to_string(getpid()), ignored);
}

inline int bench_under_eal(int argc, char** argv, const std::vector<std::string>& more) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  const std::string prefix = "mrbench" + std::to_string(getpid());
  const bool huge = std::getenv("MILLRACE_BENCH_HUGE") != nullptr;
  std::vector<std::string> words = {"bench", "--no-pci", "--no-telemetry", "--log-level=*:4"};
  if (std::find(more.begin(), more.end(), "--lcores") == more.end()) words.insert(words.end(), {"-l", "0"});
  if (huge)
    words.insert(words.end(), {"--in-memory"});
  else
    words.insert(words.end(), {"--no-huge", "--no-shconf", "--file-prefix=" + prefix});
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  if (rte_eal_init(static_cast<int>(raw.size()), raw.data()) < 0) {
    std::fprintf(stderr, "EAL cannot start here\n");
    return 77;
  }
  if (std::atexit(end_bench_eal) != 0) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace millrace::test

#define MILLRACE_EAL_BENCH_MAIN(...) \
  int main(int argc, char** argv) { return millrace::test::bench_under_eal(argc, argv, {__VA_ARGS__}); }
