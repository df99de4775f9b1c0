// app/fwd_options.hpp - what `fwd` was asked to do.
//
// Shape    plain values, filled by parse_fwd_options() and, for what only the ports can tell, by the role itself.
// Units    as each option says. Errors  refusals name the option; exit status 2.
// Tests    test/app/fwd_test.py
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/options.hpp"
#include "loadgen/traffic.hpp"
#include "pipeline/engine.hpp"
#include "port/plan.hpp"

namespace millrace::app {

struct fwd_options {
  common_options common;
  pipeline::engine_settings engine;
  port::plan_request plan;
  loadgen::frame_options frames;
  std::string traffic = "quic,srmp,udp,tcp";
  std::optional<unsigned> tx_first;  // absent: seed software rings by ourselves
  double duration_s = 0;             // 0: until stopped
};

// Nothing when the role is to run; else the exit status.
[[nodiscard]] std::optional<int> parse_fwd_options(const invocation& call, fwd_options& out);

}  // namespace millrace::app
