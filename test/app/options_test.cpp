#include "app/options.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace millrace::app {
namespace {

using words = std::vector<std::string>;

TEST(quantity, sizes_count_in_1024) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("1200"), 1200u);
  EXPECT_EQ(parse_size("64K"), 65536u);
  EXPECT_EQ(parse_size("64k"), 65536u);
  EXPECT_EQ(parse_size("1.5M"), 1572864u);
  EXPECT_EQ(parse_size("4G"), 4294967296u);
}

TEST(quantity, rates_count_in_1000) {
  EXPECT_EQ(parse_rate("10k"), 10'000u);
  EXPECT_EQ(parse_rate("10K"), 10'000u);
  EXPECT_EQ(parse_rate("1.5M"), 1'500'000u);
  EXPECT_EQ(parse_rate("2G"), 2'000'000'000u);
}

TEST(quantity, seconds_and_percent_take_fractions) {
  EXPECT_EQ(parse_seconds("0.25"), 0.25);
  EXPECT_EQ(parse_seconds("10"), 10.0);
  EXPECT_EQ(parse_percent("1.5"), 1.5);
  EXPECT_EQ(parse_percent("1.5%"), 1.5);
  EXPECT_EQ(parse_percent("100"), 100.0);
}

TEST(quantity, refuses_what_is_none) {
  for (const char* text : {"", "K", "-1", "+1", "1e3", "inf", "nan", "0x10", "1 ", " 1", "1KB", "1.5", "1..5", "0.1K",
                           "1T", "99999999999G", "1,5"})
    EXPECT_FALSE(parse_size(text)) << text;
  for (const char* text : {"", "-1", "5s", ".", "1e3", "inf", "1000000001", "99999999999999999999"})
    EXPECT_FALSE(parse_seconds(text)) << text;
  for (const char* text : {"", "100.1", "-1", "%", "1%%"}) EXPECT_FALSE(parse_percent(text)) << text;
}

struct outcome {
  std::optional<int> status;
  std::string out;
  std::string err;
};

outcome parse(CLI::App& options, const words& args) {
  invocation call;
  call.role_args = args;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  outcome result;
  result.status = parse_options(options, "fwd", call);
  std::cout.flush();
  result.out = testing::internal::GetCapturedStdout();
  result.err = testing::internal::GetCapturedStderr();
  return result;
}

class role_options : public testing::Test {
 protected:
  CLI::App options_{"a role"};
  std::uint64_t size_ = 64;
  std::uint64_t rate_ = 0;
  double seconds_ = 2.5;
  double loss_ = 0;
  common_options common_;

  void SetUp() override {
    add_size(options_, "--size", size_, "bytes of a frame");
    add_rate(options_, "--rate", rate_, "packets a second");
    add_seconds(options_, "--duration", seconds_, "how long");
    add_percent(options_, "--loss", loss_, "what is lost");
    add_common_options(options_, common_);
  }
};

TEST_F(role_options, keep_their_values_until_given) {
  EXPECT_FALSE(parse(options_, {}).status);
  EXPECT_EQ(size_, 64u);
  EXPECT_EQ(seconds_, 2.5);
  EXPECT_EQ(common_.idle, idle_policy::adaptive);
  EXPECT_FALSE(common_.verbose);
  EXPECT_EQ(common_.json, "");
}

TEST_F(role_options, take_what_is_given) {
  EXPECT_FALSE(parse(options_, {"--size", "1K", "--rate=2M", "--duration", "0.5", "--loss", "1", "--json", "-",
                                "--idle", "poll", "--stats-period", "1", "--verbose"})
                   .status);
  EXPECT_EQ(size_, 1024u);
  EXPECT_EQ(rate_, 2'000'000u);
  EXPECT_EQ(seconds_, 0.5);
  EXPECT_EQ(loss_, 1.0);
  EXPECT_EQ(common_.json, "-");
  EXPECT_EQ(common_.idle, idle_policy::poll);
  EXPECT_EQ(common_.stats_period_s, 1.0);
  EXPECT_TRUE(common_.verbose);
}

TEST_F(role_options, refuse_with_the_arguments_name_and_status_2) {
  for (const words& args : {words{"--size", "big"}, words{"--duration", "soon"}, words{"--loss", "101"},
                            words{"--idle", "sleep"}, words{"--nope"}, words{"--size"}, words{"--rate", "-1"}}) {
    const auto result = parse(options_, args);
    EXPECT_EQ(result.status, exit_unusable) << args.front();
    EXPECT_NE(result.err.find(args.front()), std::string::npos) << result.err;
    EXPECT_TRUE(result.err.starts_with("millrace: fwd: ")) << result.err;
    EXPECT_EQ(result.out, "");
  }
  EXPECT_NE(parse(options_, {"--size", "big"}).err.find("'big' is not a size like"), std::string::npos);
}

TEST_F(role_options, refuse_a_stray_word) {
  const auto result = parse(options_, {"stray"});
  EXPECT_EQ(result.status, exit_unusable);
  EXPECT_NE(result.err.find("stray"), std::string::npos);
}

TEST_F(role_options, help_with_names_units_and_defaults) {
  const auto result = parse(options_, {"--help"});
  EXPECT_EQ(result.status, exit_done);
  for (const char* text : {"--size", "BYTES", "64", "--duration", "SECONDS", "2.5", "--idle", "adaptive", "-- fwd"})
    EXPECT_NE(result.out.find(text), std::string::npos) << text;
}

}  // namespace
}  // namespace millrace::app
