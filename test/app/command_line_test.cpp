#include "app/command_line.hpp"

#include <gtest/gtest.h>

#include <array>

#include "support/file_tree.hpp"

namespace millrace::app {
namespace {

using words = std::vector<std::string>;
constexpr std::array<std::string_view, 3> roles = {"fwd", "inspect", "doctor"};

class command_lines : public testing::Test {
 protected:
  test::file_tree tree_;
  words dirs_ = {tree_.root()};

  void SetUp() override {
    tree_.put("/loop.args", "--vdev=net_ring0 -l 0\n");
    tree_.put("/bad.args", "-l 0\n'open\n");
    tree_.put("/empty.args", "# nothing\n");
  }

  base::result<command_line> read(const words& args) { return read_command_line(args, roles, dirs_); }

  command_line good(const words& args) {
    const auto line = read(args);
    EXPECT_TRUE(line) << line.error().what;
    return line ? line.value() : command_line{};
  }
  base::failure bad(const words& args) {
    const auto line = read(args);
    EXPECT_FALSE(line);
    if (line) return {};
    EXPECT_TRUE(line.error().unusable);
    return line.error();
  }
};

TEST_F(command_lines, part_eal_words_from_the_roles) {
  const auto line = good({"-l", "0", "--vdev=net_null0", "--", "fwd", "--mode", "io", "--", "x"});
  EXPECT_EQ(line.what, wanted::role);
  EXPECT_EQ(line.role, "fwd");
  EXPECT_EQ(line.call.eal_args, (words{"-l", "0", "--vdev=net_null0"}));
  EXPECT_EQ(line.call.role_args, (words{"--mode", "io", "--", "x"}));
  EXPECT_EQ(line.call.profile, "");
}

TEST_F(command_lines, without_eal_words_are_a_role_alone) {
  EXPECT_EQ(good({"--", "inspect", "a.pcap"}).call.role_args, words{"a.pcap"});
  EXPECT_TRUE(good({"--", "inspect"}).call.eal_args.empty());
}

TEST_F(command_lines, may_leave_the_separator_out) {
  const auto line = good({"inspect", "a.pcap", "--json", "-"});
  EXPECT_EQ(line.role, "inspect");
  EXPECT_EQ(line.call.role_args, (words{"a.pcap", "--json", "-"}));
  const auto with_words = good({"@loop", "-n", "2", "fwd", "--mode", "io"});
  EXPECT_EQ(with_words.role, "fwd");
  EXPECT_EQ(with_words.call.eal_args, (words{"--vdev=net_ring0", "-l", "0", "-n", "2"}));
  EXPECT_EQ(with_words.call.role_args, (words{"--mode", "io"}));
}

TEST_F(command_lines, never_take_an_options_value_for_the_role) {
  EXPECT_EQ(bad({"--file-prefix", "fwd"}).what, "no role given: millrace [EAL args] -- ROLE [options]");
  EXPECT_EQ(good({"--file-prefix", "fwd", "doctor"}).role, "doctor");
}

TEST_F(command_lines, put_a_profiles_words_where_it_stands) {
  const auto line = good({"-n", "1", "@loop", "-l", "1", "--", "fwd"});
  EXPECT_EQ(line.call.profile, "loop");
  EXPECT_EQ(line.call.eal_args, (words{"-n", "1", "--vdev=net_ring0", "-l", "0", "-l", "1"}));
  EXPECT_TRUE(good({"@empty", "--", "fwd"}).call.eal_args.empty());
}

TEST_F(command_lines, name_a_profile_that_is_absent_or_cannot_be_read) {
  EXPECT_TRUE(bad({"@nope", "--", "fwd"}).what.starts_with("no profile @nope"));
  EXPECT_NE(bad({"@nope", "--", "fwd"}).hint.find("bad, empty, loop"), std::string::npos);
  EXPECT_EQ(bad({"@bad", "--", "fwd"}).what, tree_.path("/bad.args") + ":2:1: a quote that is never closed");
  EXPECT_TRUE(bad({"@loop", "@loop", "--", "fwd"}).what.starts_with("a second profile, @loop"));
  EXPECT_TRUE(bad({"@", "--", "fwd"}).what.starts_with("'@' without a profile"));
}

TEST_F(command_lines, name_a_role_that_does_not_exist) {
  EXPECT_EQ(bad({"--", "forward"}).what, "no role 'forward'");
  EXPECT_EQ(bad({"--", "forward"}).hint, "roles are: fwd, inspect, doctor");
  EXPECT_EQ(bad({"--", "inspct"}).hint, "did you mean 'inspect'?");
  EXPECT_EQ(bad({"inspekt", "x"}).hint, "did you mean 'inspect'?");
}

TEST_F(command_lines, ask_for_a_role) {
  for (const words& args : {words{}, words{"--"}, words{"-l", "0"}, words{"-l", "0", "--"}, words{"@loop"}})
    EXPECT_TRUE(bad(args).what.starts_with("no role given"));
}

TEST_F(command_lines, name_words_that_eal_would_drop_in_silence) {
  EXPECT_EQ(bad({"veth0", "--", "fwd"}).what, "'veth0' is neither an EAL option nor a role");
  EXPECT_EQ(bad({"--duration", "5", "--", "fwd"}).what, "EAL has no option --duration");
  EXPECT_NE(bad({"--duration", "5", "--", "fwd"}).hint.find("behind its name"), std::string::npos);
}

TEST_F(command_lines, ask_for_help_or_the_version_in_any_of_the_usual_words) {
  for (const words& args : {words{"--help"}, words{"-h"}, words{"help"}, words{"--", "--help"}, words{"-l", "0", "-h"}})
    EXPECT_EQ(good(args).what, wanted::help) << args.front();
  for (const words& args : {words{"--version"}, words{"-v"}, words{"--", "--version"}, words{"@loop", "--vers"}})
    EXPECT_EQ(good(args).what, wanted::version) << args.front();
  EXPECT_EQ(good({"--", "fwd", "--help"}).what, wanted::role);
}

TEST(nearest, finds_slips_of_the_finger_and_nothing_else) {
  EXPECT_EQ(nearest("docter", roles), "doctor");
  EXPECT_EQ(nearest("fw", roles), "fwd");
  EXPECT_EQ(nearest("serve", roles), "");
  EXPECT_EQ(nearest("", roles), "");
  EXPECT_EQ(nearest("xyz", roles), "");
  EXPECT_EQ(nearest(std::string(10'000, 'f'), roles), "");
}

}  // namespace
}  // namespace millrace::app
