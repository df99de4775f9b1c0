// app/options.hpp - what the roles' options have in common: quantities, shared options, one way to refuse.
//
// Units    sizes take K/M/G (1024), rates k/M/G (1000), durations are seconds, fractions allowed, percent is 0 to 100.
// Errors   parse_options() turns every refusal into exit status 2 with a message that names the argument.
// Source   design.md, Command line. Tests  test/app/options_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/role.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace millrace::app {

// The quantity a whole text is; nullopt for anything else, negative and overflowing numbers and more than 10^9 seconds
// included.
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text) noexcept;
[[nodiscard]] std::optional<std::uint64_t> parse_rate(std::string_view text) noexcept;
[[nodiscard]] std::optional<double> parse_seconds(std::string_view text) noexcept;
[[nodiscard]] std::optional<double> parse_percent(std::string_view text) noexcept;

// As CLI11's add_option: the variable keeps its value, which --help shows, unless the option is given.
CLI::Option* add_size(CLI::App& options, const std::string& name, std::uint64_t& bytes, const std::string& what);
// A number of things: digits, with k, M or G of 1000.
CLI::Option* add_count(CLI::App& options, const std::string& name, std::uint64_t& count, const std::string& what);
CLI::Option* add_rate(CLI::App& options, const std::string& name, std::uint64_t& per_second, const std::string& what);
CLI::Option* add_seconds(CLI::App& options, const std::string& name, double& seconds, const std::string& what);
CLI::Option* add_percent(CLI::App& options, const std::string& name, double& percent, const std::string& what);

// What a loop does with empty polls: nothing; rte_pause; rte_pause, then short sleeps.
enum class idle_policy : std::uint8_t { poll, pause, adaptive };
[[nodiscard]] constexpr std::string_view to_string(idle_policy policy) noexcept {
  return policy == idle_policy::poll ? "poll" : policy == idle_policy::pause ? "pause" : "adaptive";
}

struct common_options {
  std::string json;           // file of the result, "-" is stdout, empty: none
  double stats_period_s = 0;  // 0: no lines while running
  idle_policy idle = idle_policy::adaptive;
  bool verbose = false;
};
// --idle alone, for roles whose other options mean something else.
void add_idle_option(CLI::App& options, idle_policy& policy_chosen);
void add_common_options(CLI::App& options, common_options& common);

// Nothing when the role is to run; else the exit status: 0 after --help, 2 after a refusal. The variables bound to the
// options outlive this call.
[[nodiscard]] std::optional<int> parse_options(CLI::App& options, std::string_view role, const invocation& call);

}  // namespace millrace::app
