// app/http_config.hpp - what `serve` is told about HTTP, whatever version carries it, as plain values.
//
// Units    in the names. Tests  test/app/config_test.cpp
#pragma once

#include <vector>

#include "service/site_scan.hpp"

namespace millrace::app {

struct http_config {
  std::vector<service::site_directory> directories;  // [[http.directory]]
  service::site_settings limits;                     // of all of them; and of quic.root, which is served at /
};

inline constexpr std::size_t max_directories = 64;

}  // namespace millrace::app
