// A start that EAL refuses; it has a process of its own, because EAL tries once.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "env/eal.hpp"
#include "env/eal_complete.hpp"
#include "env/runtime_dir.hpp"
#include "support/file_tree.hpp"

namespace millrace::env {
namespace {

TEST(eal_failure, says_what_eal_said_and_leaves_nothing) {
  const test::file_tree tree;
  ::setenv("RUNTIME_DIRECTORY", tree.root().c_str(), 1);
  const std::string prefix = own_file_prefix(::getpid());
  const std::vector<std::string> args = {
      "--no-huge", "-m", "32", "--no-pci", "--file-prefix=" + prefix, "--iova-mode=sideways", "-l", "0"};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const auto refused = eal::start(args);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");  // EAL prints its whole usage
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().unusable);
  EXPECT_NE(refused.error().what.find("invalid parameters for --iova-mode"), std::string::npos) << refused.error().what;
  EXPECT_TRUE(find_leftovers(tree.path("/dpdk")).empty());
  EXPECT_FALSE(std::filesystem::exists(tree.path("/dpdk/" + prefix)));
  EXPECT_FALSE(eal::start(args));  // nor a second time
}

}  // namespace
}  // namespace millrace::env
