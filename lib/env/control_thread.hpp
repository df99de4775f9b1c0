// env/control_thread.hpp - a thread beside the lcores, for what must not take their time: writing files.
//
// Shape    start() calls turn(context) again and again, a pause between; stop() lets the turn that runs end, and calls
//          it once more. EAL gives the thread the CPUs of the process that no lcore has, where there are any.
// Units    ns. Owner  the context outlives stop(), which the destructor calls.
// Errors   start(): the system makes no thread. Threads  start and stop from one thread.
// Tests    test/env/eal_test.cpp
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "base/result.hpp"

namespace millrace::env {

class control_thread {
  pthread_t thread_{};
  std::atomic<bool> stops_{false};
  bool runs_ = false;
  std::uint64_t pause_ns_ = 0;
  void (*turn_)(void*) = nullptr;
  void* context_ = nullptr;

 public:
  control_thread() noexcept = default;
  control_thread(const control_thread&) = delete;
  control_thread& operator=(const control_thread&) = delete;
  ~control_thread() { stop(); }

  // `name`, at most 15 characters, is what debuggers show.
  [[nodiscard]] base::outcome start(const char* name, std::uint64_t pause_ns, void (*turn)(void*), void* context);
  void stop() noexcept;

 private:
  static void* run(void* self) noexcept;
};

}  // namespace millrace::env
