// app/fetch_report.hpp - what clients that fetch bodies say of their run (`load --target hq://...` and `h3://...`,
// `loopback --workload quic-stream`, `h3-get`, `h3-json`): text for people, members of the result.
//
// Units    as the texts say; docs/json.md has those of the result.
// Errors   fetch_failure(): why the run is a failed one; empty when it is not.
// Threads  control thread; the loads may be running. Tests  test/app/fetch_report_test.cpp
#pragma once

#include <memory>
#include <span>
#include <string>

#include "app/quic_report.hpp"
#include "app/result_json.hpp"
#include "loadgen/fetch_load.hpp"

namespace millrace::app {

struct fetch_end {
  loadgen::fetch_settings asked;  // connections and requests of all loads together
  loadgen::fetch_figures did;     // added up
  quic_end quic;                  // their connections
  std::unique_ptr<stats::latency_histogram> latency = std::make_unique<stats::latency_histogram>();
};

// `asked`: what was wanted of all loads together.
[[nodiscard]] fetch_end gather(const loadgen::fetch_settings& asked,
                               std::span<const std::unique_ptr<loadgen::fetch_load>> loads);

// A line of a period, from two readings.
[[nodiscard]] std::string fetch_period_text(double at_s, double period_s, const loadgen::fetch_figures& before,
                                            const loadgen::fetch_figures& now);
// Several lines, each indented by two.
[[nodiscard]] std::string fetch_text(const fetch_end& end);
// All but heap_calls: whose handshakes those are the role knows.
void fill_fetch_result(const fetch_end& end, run_result& out);

// No connection came to be; a body was not what was asked for; nothing came whole; a connection was lost, unless that
// is `forgiven`: a server may come and go, and the errors tell.
[[nodiscard]] std::string fetch_failure(const fetch_end& end, bool forgiven = false);

}  // namespace millrace::app
