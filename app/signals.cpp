#include "app/signals.hpp"

#include <signal.h>

namespace millrace::app {

std::atomic<bool> stop_flag{false};

namespace {

std::atomic<bool> signalled{false};  // the flag may have been set by the role itself

void on_stop(int number) {
  const bool second = signalled.exchange(true, std::memory_order_relaxed);
  request_stop();
  ::signal(SIGINT, SIG_DFL);  // async-signal-safe
  ::signal(SIGTERM, SIG_DFL);
  // Two that were pending together are both on their way here already.
  if (second) ::raise(number);
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
