// app/inspect_live.hpp - ports watched until a signal, a duration or silence ends it.
//
// Shape    one loop on the main lcore: a burst from each queue of each port in turn, each frame to the analyzer, with
//          the time of day of the burst. Frames are freed, nothing is sent.
// Errors   watch_ports: no port, or one that cannot be set up.
// Threads  the main lcore. Tests  test/e2e/inspect_test.py
#pragma once

#include <cstdio>

#include "app/options.hpp"
#include "app/result_json.hpp"
#include "inspect/analyzer.hpp"
#include "mem/heap_counter.hpp"
#include "port/plan.hpp"

namespace millrace::app {

struct live_options {
  double duration_s = 0;      // 0: until a signal
  double idle_exit_s = 0;     // 0: never
  double stats_period_s = 0;  // 0: no lines
  idle_policy idle = idle_policy::adaptive;
};

[[nodiscard]] port::plan_request live_plan_request();

base::outcome watch_ports(const live_options& o, inspect::analyzer& a, mem::heap_tally& heap, std::FILE* people,
                          run_result& result);

}  // namespace millrace::app
