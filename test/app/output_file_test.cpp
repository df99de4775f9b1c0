#include "app/output_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "support/file_tree.hpp"

namespace millrace::app {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class output : public testing::Test {
 protected:
  test::file_tree tree_;
};

TEST_F(output, keeps_what_is_there_until_the_first_write) {
  tree_.put("/old.json", "kept, and longer than what comes");
  auto file = output_file::open("--json", tree_.path("/old.json"));
  ASSERT_TRUE(file);
  EXPECT_EQ(content(tree_.path("/old.json")), "kept, and longer than what comes");
  std::fputs("new\n", file.value().stream());
  ASSERT_TRUE(file.value().finish());
  EXPECT_EQ(content(tree_.path("/old.json")), "new\n");
}

TEST_F(output, refuses_a_file_that_the_run_reads_under_any_name) {
  tree_.put("/in.pcap", "capture");
  std::filesystem::create_hard_link(tree_.path("/in.pcap"), tree_.path("/link.pcap"));
  std::filesystem::create_symlink(tree_.path("/in.pcap"), tree_.path("/symbolic.pcap"));
  const std::vector<std::string> inputs = {"/nowhere", tree_.path("/in.pcap")};
  const auto taken = identities_of(inputs);
  ASSERT_EQ(taken.size(), 1u);
  for (const char* name : {"/in.pcap", "/link.pcap", "/symbolic.pcap", "/../"}) {
    std::string path = tree_.path(name);
    if (path.ends_with("/../")) path = tree_.root() + "/./in.pcap";
    const auto refused = output_file::open("--json", path, taken);
    ASSERT_FALSE(refused) << path;
    EXPECT_TRUE(refused.error().unusable);
    EXPECT_NE(refused.error().what.find("is the same file as " + tree_.path("/in.pcap")), std::string::npos);
  }
  EXPECT_EQ(content(tree_.path("/in.pcap")), "capture");
  EXPECT_TRUE(output_file::open("--json", tree_.path("/other"), taken));
}

TEST_F(output, opens_a_fifo_once_so_that_its_reader_stays) {
  const std::string path = tree_.path("/fifo");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = content(path); });
  auto file = output_file::open("--json", path);
  ASSERT_TRUE(file);
  std::fputs("result", file.value().stream());
  EXPECT_TRUE(file.value().finish());
  reader.join();
  EXPECT_EQ(read, "result");
}

TEST_F(output, is_nowhere_or_stdout_when_told_so) {
  auto nowhere = output_file::open("--json", "");
  ASSERT_TRUE(nowhere);
  EXPECT_FALSE(nowhere.value());
  EXPECT_EQ(nowhere.value().stream(), nullptr);
  EXPECT_TRUE(nowhere.value().finish());
  auto out = output_file::open("--json", "-");
  ASSERT_TRUE(out);
  EXPECT_TRUE(out.value().is_stdout());
  EXPECT_EQ(out.value().stream(), stdout);
}

TEST_F(output, names_option_and_reason) {
  const auto refused = output_file::open("--summary", tree_.path("/no/such"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what,
            "--summary " + tree_.path("/no/such") + ": cannot be written: No such file or directory");
}

}  // namespace
}  // namespace millrace::app
