#include "env/control_thread.hpp"

#include <rte_lcore.h>

#include <cstring>
#include <ctime>

namespace millrace::env {

base::outcome control_thread::start(const char* name, std::uint64_t pause_ns, void (*turn)(void*), void* context) {
  pause_ns_ = pause_ns;
  turn_ = turn;
  context_ = context;
  stops_.store(false);
  if (const int code = rte_ctrl_thread_create(&thread_, name, nullptr, run, this); code != 0) {
    std::string what = "no thread can be made for ";
    what += name;
    what += ": ";
    what += std::strerror(-code);
    return base::failure{what, ""};
  }
  runs_ = true;
  return base::done{};
}

void control_thread::stop() noexcept {
  if (!runs_) return;
  stops_.store(true);
  pthread_join(thread_, nullptr);
  runs_ = false;
}

void* control_thread::run(void* self) noexcept {
  auto& t = *static_cast<control_thread*>(self);
  const timespec pause{static_cast<time_t>(t.pause_ns_ / 1'000'000'000),
                       static_cast<long>(t.pause_ns_ % 1'000'000'000)};
  while (!t.stops_.load()) {
    t.turn_(t.context_);
    nanosleep(&pause, nullptr);
  }
  t.turn_(t.context_);
  return nullptr;
}

}  // namespace millrace::env
