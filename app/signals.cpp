#include "app/signals.hpp"

#include <signal.h>

namespace millrace::app {

std::atomic<bool> stop_flag{false};

namespace {

void on_stop(int) {
  request_stop();
  ::signal(SIGINT, SIG_DFL);  // async-signal-safe
  ::signal(SIGTERM, SIG_DFL);
}

}  // namespace

void install_stop_signals() noexcept {
  struct sigaction action{};
  action.sa_handler = on_stop;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

}  // namespace millrace::app
