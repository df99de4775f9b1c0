// app/serve_options.hpp - what `serve` was asked to do: its options, laid over the configuration file.
//
// Shape    the file (--config) stands on the defaults, options stand on the file.
// Errors   refusals name the option, or the place in the file; exit status 2.
// Tests    test/app/config_test.cpp, test/app/serve_test.py
#pragma once

#include <optional>

#include "app/config.hpp"

namespace millrace::app {

struct serve_options {
  common_options common;    // idle and stats_period_s are those of config
  serve_config config;      // checked
  config_origins origins;   // of its values
  std::string config_file;  // as it was given; empty: none
  bool check = false;
  bool print_config = false;
};

// Nothing when the role is to run; else the exit status.
[[nodiscard]] std::optional<int> parse_serve_options(const invocation& call, serve_options& out);

}  // namespace millrace::app
