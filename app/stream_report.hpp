// app/stream_report.hpp - what `loopback --workload srmp-stream` says of its streams: text for people, members of the
// result.
//
// Units    as the texts say; docs/json.md has those of the result.
// Errors   stream_failure(): why the run is a failed one; empty when it is not.
// Tests    test/app/loopback_test.py
#pragma once

#include <memory>
#include <span>
#include <string>

#include "app/result_json.hpp"
#include "loadgen/stream_load.hpp"

namespace millrace::app {

struct stream_end {
  loadgen::stream_settings asked;  // connections and requests of all generators together
  loadgen::stream_figures did;     // added up
  std::unique_ptr<stats::latency_histogram> latency = std::make_unique<stats::latency_histogram>();
};

[[nodiscard]] stream_end gather(const loadgen::stream_settings& asked,
                                std::span<const std::unique_ptr<loadgen::stream_load>> loads);

[[nodiscard]] std::string stream_period_text(double at_s, double period_s, const loadgen::stream_figures& before,
                                             const loadgen::stream_figures& now);
// Several lines, each indented by two.
[[nodiscard]] std::string stream_text(const stream_end& end);
void fill_stream_result(const stream_end& end, run_result& out);

// Nothing was ever answered; an item was wrong; or something is missing though the wire was a good one.
[[nodiscard]] std::string stream_failure(const stream_end& end, bool good_wire);

}  // namespace millrace::app
