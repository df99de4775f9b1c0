// app/config_keys.hpp - the keys of the configuration that hold one value: name, meaning, limits, reading and printing,
// each said once.
//
// Shape    a function a section binds its keys to the struct they fill. The reader, the printer and the search for what
//          an unknown key was meant to be all go over the same rows, so they cannot differ.
// Owner    rows hold references into the struct: they die with it. Errors  read() answers why not; nothing is changed.
// Tests    test/app/config_test.cpp
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/config.hpp"

namespace millrace::app {

// A value as the file has it. What is none of these (a table, an array, a date) is its type's name.
struct other_type {
  std::string_view name;
};
using config_value = std::variant<bool, std::int64_t, double, std::string, other_type>;

struct config_key {
  std::string_view name;
  std::string comment;  // for to_toml() and the documentation
  // Empty: taken. Else what would have been right: "a number from 1 to 65535".
  std::function<std::string(const config_value&)> read;
  std::function<std::string()> print;  // as TOML
};
using config_keys = std::vector<config_key>;

[[nodiscard]] config_keys top_keys(serve_config& c);                   // before any table
[[nodiscard]] config_keys interface_keys(interface_config& c);         // [[interface]], without its lists
[[nodiscard]] config_keys srmp_keys(srmp_config& c);                   // [srmp]
[[nodiscard]] config_keys quic_keys(quic_config& c);                   // [quic]
[[nodiscard]] config_keys http_keys(http_config& c);                   // [http], without its list
[[nodiscard]] config_keys directory_keys(service::site_directory& c);  // [[http.directory]]
[[nodiscard]] config_keys peer_keys(srmp::compatibility& c);           // [srmp.peers]
[[nodiscard]] config_keys rpc_keys(rpc::service_limits& c);            // [rpc]
[[nodiscard]] config_keys limit_keys(net::host_limits& c);             // [limits]
[[nodiscard]] config_keys loop_keys(pipeline::loop_settings& c);       // [loop]
[[nodiscard]] config_keys pool_keys(pool_config& c);                   // [pool]

// "the text \"x\"", "the number 5", "an array": for messages.
[[nodiscard]] std::string describe(const config_value& value);
// A TOML string with its quotes.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace millrace::app
