#include "app/signals.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace millrace::app {
namespace {

TEST(stop_signals_death, set_the_flag_once_and_end_the_process_the_second_time) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const int first : {SIGINT, SIGTERM})
    for (const int second : {SIGINT, SIGTERM})
      EXPECT_EXIT(
          {
            install_stop_signals();
            if (stop_requested()) ::_exit(1);
            ::raise(first);
            if (!stop_requested()) ::_exit(2);
            ::raise(second);
            ::_exit(3);
          },
          testing::KilledBySignal(second), "");
}

TEST(stop_signals, survive_a_closed_pipe) {
  install_stop_signals();
  ::raise(SIGPIPE);
  EXPECT_FALSE(stop_requested());
  request_stop();
  EXPECT_TRUE(stop_requested());
}

TEST(reload_signal, is_told_once_and_ends_nothing) {
  install_reload_signal();
  EXPECT_FALSE(take_reload_request());
  ::raise(SIGHUP);
  ::raise(SIGHUP);
  EXPECT_TRUE(take_reload_request());
  EXPECT_FALSE(take_reload_request());
}

}  // namespace
}  // namespace millrace::app
