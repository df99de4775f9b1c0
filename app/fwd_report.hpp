// app/fwd_report.hpp - what a forwarding run says: a block a period, a summary, and the figures of the result.
//
// Shape    a window is what the lcores did between two moments; everything printed is computed from it.
// Units    Gbit/s counts frame bytes without FCS, preamble and gap. Where a mode reads no lengths (io), bytes are
//          packets times the mean length of sampled bursts, and marked "~".
// Threads  control thread. Tests  test/app/fwd_report_test.cpp
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "app/result_json.hpp"
#include "mem/packet_pool.hpp"
#include "pipeline/engine.hpp"
#include "port/port.hpp"

namespace millrace::app {

struct lcore_window {
  unsigned lcore = 0;
  pipeline::figures did;
};

struct fwd_window {
  double seconds = 0;
  bool bytes_counted = true;  // false: sampled
  std::vector<lcore_window> lcores;

  [[nodiscard]] pipeline::figures total() const noexcept;
};

// What the engine's workers have done since `since` (one figure a worker; empty: since the beginning).
[[nodiscard]] fwd_window read_window(const pipeline::engine& engine, const std::vector<pipeline::figures>& since,
                                     double seconds, bool bytes_counted);

struct pool_reading {
  std::string name;
  std::uint64_t size = 0;
  std::uint64_t in_use = 0;
  std::uint64_t high_water = 0;
  std::uint64_t refused = 0;
};

struct port_end {
  std::string name;
  port::port_stats stats;  // since the port was started
};

struct fwd_end {
  fwd_window window;                                                       // the measured time: from start to stop
  pipeline::figures total;                                                 // with seeds and what was drained
  pool_reading pool;                                                       // after everything was closed
  std::vector<std::pair<std::string, std::uint64_t>> driver_errors;        // what only drivers see, by kind
  std::vector<std::pair<std::string, std::uint64_t>> service_errors = {};  // what the services count, by kind
  std::vector<port_end> ports;
};

// What only drivers see, by kind; zeroes are left out.
[[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> driver_errors(const std::deque<port::port>& ports);
[[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> driver_errors(const port::port& one);
[[nodiscard]] std::string period_text(double at_s, const fwd_window& period, const pool_reading& pool);
[[nodiscard]] std::string summary_text(std::string_view title, const fwd_end& end);
// All but role, build and workload.
void fill_result(const fwd_end& end, run_result& out);

// Nothing, or the sentence that says which promise was broken.
[[nodiscard]] std::string broken_promise(const fwd_end& end);

}  // namespace millrace::app
