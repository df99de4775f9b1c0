// app/hq_report.hpp - what hq-interop clients say of their run (`load --target hq://...`, `loopback --workload
// quic-stream`): text for people, members of the result.
//
// Units    as the texts say; docs/json.md has those of the result.
// Errors   hq_failure(): why the run is a failed one; empty when it is not.
// Threads  control thread; the loads may be running. Tests  test/app/hq_report_test.cpp
#pragma once

#include <memory>
#include <span>
#include <string>

#include "app/quic_report.hpp"
#include "app/result_json.hpp"
#include "loadgen/fetch_load.hpp"

namespace millrace::app {

struct hq_end {
  loadgen::fetch_settings asked;  // connections and requests of all loads together
  loadgen::fetch_figures did;     // added up
  quic_end quic;                  // their connections
  std::unique_ptr<stats::latency_histogram> latency = std::make_unique<stats::latency_histogram>();
};

// `asked`: what was wanted of all loads together.
[[nodiscard]] hq_end gather(const loadgen::fetch_settings& asked,
                            std::span<const std::unique_ptr<loadgen::fetch_load>> loads);

// A line of a period, from two readings.
[[nodiscard]] std::string hq_period_text(double at_s, double period_s, const loadgen::fetch_figures& before,
                                         const loadgen::fetch_figures& now);
// Several lines, each indented by two.
[[nodiscard]] std::string hq_text(const hq_end& end);
// All but heap_calls: whose handshakes those are the role knows.
void fill_hq_result(const hq_end& end, run_result& out);

// No connection came to be; a body was not what was asked for; nothing came whole; a connection was lost, unless that
// is `forgiven`: a server may come and go, and the errors tell.
[[nodiscard]] std::string hq_failure(const hq_end& end, bool forgiven = false);

}  // namespace millrace::app
