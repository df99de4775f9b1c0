#include "env/output_capture.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace millrace::env {
namespace {

void say(int fd, std::string_view text) {
  EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(output_capture, keeps_both_streams_apart) {
  output_capture capture;
  say(STDERR_FILENO, "err1 ");
  std::printf("out1");
  std::fprintf(stderr, "err2");
  const auto text = capture.finish();
  EXPECT_EQ(text.out, "out1");
  EXPECT_EQ(text.err, "err1 err2");
}

TEST(output_capture, gives_the_streams_back) {
  testing::internal::CaptureStdout();
  {
    output_capture capture;
    std::printf("inside");
  }
  std::printf("outside");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "outside");
}

TEST(output_capture, keeps_no_more_than_its_limit) {
  output_capture capture;
  const std::string much(100'000, 'x');
  std::fwrite(much.data(), 1, much.size(), stderr);
  EXPECT_EQ(capture.finish().err.size(), 65536u);
}

TEST(output_capture, is_one_at_a_time) {
  output_capture outer;
  {
    output_capture inner;
    std::printf("a");
    EXPECT_EQ(inner.finish().out, "");
  }
  EXPECT_EQ(outer.finish().out, "a");
}

TEST(output_capture_death, shows_the_reason_of_an_abort) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        output_capture capture;
        std::fprintf(stderr, "the reason\n");
        std::abort();
      },
      "the reason");
}

TEST(output_capture_death, shows_the_reason_of_an_exit) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        output_capture capture;
        std::fprintf(stderr, "the reason\n");
        std::exit(3);
      },
      testing::ExitedWithCode(3), "the reason");
}

}  // namespace
}  // namespace millrace::env
