// test/support/eal_main.hpp - main() of a test that needs EAL: EAL starts once a process, so one binary is one EAL.
//
// Shape    MILLRACE_EAL_TEST_MAIN("-l", "0", ...) in one source of the binary. The arguments are added to the usual
// ones:
//          no PCI, no hugepages, no telemetry socket, a file prefix of this process. Exit status 77 (a skip) where
//          EAL cannot run at all.
#pragma once

#include <gtest/gtest.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace millrace::test {

inline int run_under_eal(int argc, char** argv, std::vector<std::string> more) {
  testing::InitGoogleTest(&argc, argv);
  const std::string prefix = "mrtest" + std::to_string(getpid());
  std::vector<std::string> words = {
      "test", "--no-pci", "--no-huge", "--no-telemetry", "--no-shconf", "--log-level=*:4", "--file-prefix=" + prefix};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  if (rte_eal_init(static_cast<int>(raw.size()), raw.data()) < 0) {
    std::fprintf(stderr, "EAL cannot start here: %s\n", rte_strerror(rte_errno));
    return 77;
  }
  const int status = RUN_ALL_TESTS();
  rte_eal_cleanup();
  std::error_code ignored;
  std::filesystem::remove_all("/var/run/dpdk/" + prefix, ignored);
  return status;
}

}  // namespace millrace::test

#define MILLRACE_EAL_TEST_MAIN(...) \
  int main(int argc, char** argv) { return millrace::test::run_under_eal(argc, argv, {__VA_ARGS__}); }
