// app/load_options.hpp - what `load` was asked to do.
//
// Shape    plain values, filled by parse_load_options(); what only the ports can tell is added by the role itself.
// Units    as each option says. Errors  refusals name the option; exit status 2.
// Tests    test/app/load_options_test.cpp, test/app/load_test.py
#pragma once

#include <optional>

#include "app/load_quic_options.hpp"
#include "app/load_target.hpp"
#include "app/options.hpp"
#include "loadgen/load_settings.hpp"
#include "net/host_config.hpp"
#include "port/plan.hpp"

namespace millrace::app {

struct load_options {
  common_options common;
  load_scheme scheme = load_scheme::srmp_udp;
  loadgen::load_settings asked;  // of all generators together; of hq what all schemes share
  load_quic_options quic;        // where the scheme is hq or srmp_quic
  net::host_config host;         // our side: address, route, MTU; MAC and offloads are the port's
  port::plan_request plan;
  std::uint16_t burst_pkts = 32;
};

// Nothing when the role is to run; else the exit status.
[[nodiscard]] std::optional<int> parse_load_options(const invocation& call, load_options& out);

}  // namespace millrace::app
