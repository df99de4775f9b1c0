#include "app/signals.hpp"

#include <signal.h>

namespace millrace::app {

std::atomic<bool> stop_flag{false};

namespace {

std::atomic<bool> signalled{false};  // the flag may have been set by the role itself

std::atomic<bool> reload_flag{false};

void on_reload(int /*number*/) { reload_flag.store(true, std::memory_order_relaxed); }

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

void install_reload_signal() noexcept {
  struct sigaction action{};
  action.sa_handler = on_reload;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGHUP, &action, nullptr);
}

bool take_reload_request() noexcept { return reload_flag.exchange(false, std::memory_order_relaxed); }

}  // namespace millrace::app
