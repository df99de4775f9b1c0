// app/load_report.hpp - what `load` and `loopback` say of the client's side: text for people, members of the result.
//
// Shape    a role gathers load_end from its generators (gather()), prints load_text(), fills the members of run_result
//          that are the client's: duration_s, rate, latency_ns, errors. Packets, drops and the balance are its own.
// Units    as the texts say; docs/json.md has those of the result.
// Errors   load_failure(): why the run is a failed one; empty when it is not.
// Tests    test/app/load_report_test.cpp
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "app/quic_report.hpp"
#include "app/result_json.hpp"
#include "loadgen/load_settings.hpp"
#include "stats/latency_histogram.hpp"

namespace millrace::loadgen {
class srmp_load;
class srmp_quic_load;
}  // namespace millrace::loadgen

namespace millrace::app {

struct load_end {
  loadgen::load_settings asked;  // of one generator; connections, rate and requests of all together
  loadgen::load_figures did;     // added up
  std::optional<quic_end> quic;  // of messages over QUIC: their connections
  std::unique_ptr<stats::latency_histogram> latency = std::make_unique<stats::latency_histogram>();
};

// `asked`: what was wanted of all generators together.
[[nodiscard]] load_end gather(const loadgen::load_settings& asked,
                              std::span<const std::unique_ptr<loadgen::srmp_load>> loads);
[[nodiscard]] load_end gather(const loadgen::load_settings& asked,
                              std::span<const std::unique_ptr<loadgen::srmp_quic_load>> loads);

// "IPV4:PORT", "[IPV6]:PORT".
[[nodiscard]] std::string to_text(const base::endpoint& where);

// A line of a period, from two readings.
[[nodiscard]] std::string load_period_text(double at_s, double period_s, const loadgen::load_figures& before,
                                           const loadgen::load_figures& now);
// Rate, goodput, latency, errors; several lines, each indented by two.
[[nodiscard]] std::string load_text(const load_end& end);

void add_load_workload(const loadgen::load_settings& asked, workload_parameters& out);
void fill_load_result(const load_end& end, run_result& out);

// Nothing was ever answered, or the target answered nothing but errors. Lost connections are forgiven: their requests
// are time-outs, and the errors tell.
// `unroutable`: datagrams that no route led anywhere.
[[nodiscard]] std::string load_failure(const load_end& end, std::uint64_t unroutable = 0);

}  // namespace millrace::app
