// app/load_options.hpp - what `load` was asked to do.
//
// Shape    plain values, filled by parse_load_options(); what only the ports can tell is added by the role itself.
// Units    as each option says. Errors  refusals name the option; exit status 2.
// Tests    test/app/load_options_test.cpp, test/app/load_test.py
#pragma once

#include <optional>
#include <string>

#include "app/options.hpp"
#include "loadgen/load_settings.hpp"
#include "net/host_config.hpp"
#include "port/plan.hpp"

namespace millrace::app {

struct load_target {
  base::endpoint where;
  std::string method;  // empty: raw frames
};

// "srmp+udp://HOST:PORT[/METHOD]"; HOST is an IPv4 address or an IPv6 one in brackets, PORT may be left out (5500).
[[nodiscard]] base::result<load_target> parse_load_target(const std::string& text);

struct load_options {
  common_options common;
  loadgen::load_settings asked;  // of all generators together
  net::host_config host;         // our side: address, route, MTU; MAC and offloads are the port's
  port::plan_request plan;
  std::uint16_t burst_pkts = 32;
};

// Nothing when the role is to run; else the exit status.
[[nodiscard]] std::optional<int> parse_load_options(const invocation& call, load_options& out);

}  // namespace millrace::app
