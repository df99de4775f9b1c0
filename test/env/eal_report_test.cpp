#include "env/eal_report.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace millrace::env {
namespace {

TEST(eal_report, drops_what_frightens_and_means_nothing) {
  const auto lines = meaningful_lines(
      "EAL: Detected CPU lcores: 2\nEAL: Detected NUMA nodes: 1\n"
      "EAL: No free 1048576 kB hugepages reported on node 0\n"
      "EAL: No available 1048576 kB hugepages reported\n"
      "EAL: VFIO support initialized\nTELEMETRY: No legacy callbacks, legacy socket not created\n");
  EXPECT_TRUE(lines.empty()) << lines.front();
}

TEST(eal_report, says_a_thing_once_and_without_its_prefix) {
  EXPECT_EQ(meaningful_lines("EAL: FATAL: Cannot init memory\nEAL: Cannot init memory\n\nPMD: odd\n"),
            (std::vector<std::string>{"Cannot init memory", "PMD: odd"}));
}

TEST(eal_report, tells_words_from_the_machine) {
  const auto words =
      explain_eal_failure("EAL: invalid core list\nEAL: FATAL: Invalid 'command line' arguments.\n", EINVAL);
  EXPECT_TRUE(words.unusable);
  EXPECT_EQ(words.what, "EAL did not start (Invalid argument): invalid core list");
  const auto machine = explain_eal_failure("EAL: FATAL: Cannot get hugepage information.\n", EACCES);
  EXPECT_FALSE(machine.unusable);
  EXPECT_NE(machine.hint.find("nr_hugepages"), std::string::npos);
  const auto device = explain_eal_failure("EAL: failed to parse device \"net_foo0\"\n", ENODEV);
  EXPECT_TRUE(device.unusable);
  EXPECT_NE(device.what.find("net_foo0"), std::string::npos);
}

TEST(eal_report, explains_a_prefix_in_use) {
  const auto why = explain_eal_failure(
      "EAL: Cannot create lock on '/var/run/dpdk/rte/config'. Is another primary process running?\n", EAGAIN);
  EXPECT_FALSE(why.unusable);
  EXPECT_NE(why.hint.find("--file-prefix"), std::string::npos);
}

TEST(eal_report, stays_one_line_whatever_eal_wrote) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "EAL: line " + std::to_string(i) + "\n";
  const auto why = explain_eal_failure(text, 0);
  EXPECT_EQ(why.what.find('\n'), std::string::npos);
  EXPECT_LT(why.what.size(), 200u);
  EXPECT_EQ(explain_eal_failure("", 0).what, "EAL did not start");
}

}  // namespace
}  // namespace millrace::env
