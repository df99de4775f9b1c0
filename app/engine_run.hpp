// app/engine_run.hpp - an engine from its start to its figures: what `fwd` and `loopback --workload io` share.
//
// Shape    run_engine() starts it, prints a block a period, and stops it when time is up or a signal came; read_end()
//          then reads all figures, draining what rings still hold. The ports and the engine are closed by the role.
// Threads  the control thread; with no lcore of its own, the engine runs on it.
// Tests    test/app/fwd_test.cpp, test/app/loopback_test.py
#pragma once

#include <cstdio>
#include <deque>

#include "app/fwd_report.hpp"
#include "port/port.hpp"

namespace millrace::app {

struct engine_run {
  pipeline::engine& engine;
  mem::packet_pool& pool;
  bool bytes_counted = true;  // by the mode; else they are sampled
  double duration_s = 0;      // 0: until a signal
  double stats_period_s = 0;  // 0: no lines while running
  std::FILE* people = stdout;
};

// The seconds it took, or why it could not start.
[[nodiscard]] base::result<double> run_engine(const engine_run& run);

// All figures of `end` but the pool's, which are true once engine and ports are closed.
void read_end(pipeline::engine& engine, const std::deque<port::port>& ports, double seconds, bool bytes_counted,
              fwd_end& end);

[[nodiscard]] pool_reading read_pool(mem::packet_pool& pool);

}  // namespace millrace::app
