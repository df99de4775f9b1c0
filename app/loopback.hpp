// app/loopback.hpp - the workloads of the role `loopback`, one file each.
//
// Shape    run_loopback() parses, starts EAL and hands a loopback_call to the workload's function, which answers the
//          exit status. Everything a workload makes is gone before EAL is.
// Tests    test/app/loopback_test.py
#pragma once

#include <cstdio>

#include "app/loopback_options.hpp"
#include "app/output_file.hpp"
#include "app/result_json.hpp"
#include "env/eal.hpp"

namespace millrace::app {

struct ring_pair_wish;

struct loopback_call {
  const loopback_options& options;
  const env::eal& eal;
  output_file json;
  std::FILE* people = stdout;  // stderr where the JSON object has stdout to itself
};

// What the rings need with `workers` lcores besides the main one.
[[nodiscard]] ring_pair_wish io_wish(const loopback_options& options, unsigned workers);
[[nodiscard]] ring_pair_wish ends_wish(const loopback_options& options, unsigned workers);

[[nodiscard]] int run_loopback_io(loopback_call& call);
[[nodiscard]] int run_loopback_ends(loopback_call& call);

// Into the result: what all workloads have of parameters.
void add_loopback_workload(const loopback_options& options, workload_parameters& out);

}  // namespace millrace::app
