// app/serve_ports.hpp - which ports and lcores a configuration means on this machine, and what they need.
//
// Shape    pure: the ports there are, the worker lcores there are, the configuration; a plan comes out. Memory is
//          estimated before EAL runs, from the arguments alone.
// Errors   `unusable`, with the place in the file: no such port, one port twice, no such lcore.
// Tests    test/app/serve_ports_test.cpp
#pragma once

#include <span>

#include "app/config.hpp"
#include "port/plan.hpp"

namespace millrace::app {

struct serve_plan {
  port::plan ports;                 // one an interface of the configuration, in its order
  std::vector<unsigned> lcores;     // that run a loop; empty: the main lcore does it
  std::vector<std::string> unused;  // ports of EAL's that no interface names
};

// `there`: all ports; `workers`: EAL's worker lcores, without `main`.
[[nodiscard]] base::result<serve_plan> plan_serve(const serve_config& config, const config_origins& origins,
                                                  std::span<const port::port_facts> there,
                                                  std::span<const port::worker_place> workers,
                                                  const port::worker_place& main);

// Bytes of EAL memory that pools and tables take, a little above the truth.
[[nodiscard]] std::size_t expected_memory(const serve_config& config, const std::vector<std::string>& eal_args);

}  // namespace millrace::app
