// bench/support/cpu_seconds.hpp - what this thread has spent on a CPU so far, in seconds.
#pragma once

#include <ctime>

namespace millrace::bench {

inline double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace millrace::bench
