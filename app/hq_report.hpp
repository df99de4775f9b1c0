// app/hq_report.hpp - what clients of hq-interop say of their bodies: text for people, members of the result.
//
// Units    as the texts say; docs/json.md has those of the result.
// Errors   hq_failure(): why the run is a failed one; empty when it is not.
// Tests    test/app/loopback_test.py
#pragma once

#include <memory>
#include <span>
#include <string>

#include "app/result_json.hpp"
#include "loadgen/hq_load.hpp"

namespace millrace::app {

struct hq_end {
  loadgen::hq_settings asked;  // connections and requests of all generators together
  loadgen::hq_figures did;     // added up
  std::unique_ptr<stats::latency_histogram> latency = std::make_unique<stats::latency_histogram>();
};

[[nodiscard]] hq_end gather(const loadgen::hq_settings& asked,
                            std::span<const std::unique_ptr<loadgen::hq_load>> loads);

[[nodiscard]] std::string hq_period_text(double at_s, double period_s, const loadgen::hq_figures& before,
                                         const loadgen::hq_figures& now);
// Several lines, each indented by two.
[[nodiscard]] std::string hq_text(const hq_end& end);
void fill_hq_result(const hq_end& end, run_result& out);

// Nothing was ever answered; a body was wrong or short; a connection was lost.
[[nodiscard]] std::string hq_failure(const hq_end& end);

}  // namespace millrace::app
