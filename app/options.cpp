#include "app/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>

#include "app/command_line.hpp"
#include "app/startup.hpp"

namespace millrace::app {
namespace {

constexpr double most_seconds = 1e9;  // some thirty years; in nanoseconds it fits 64 bits

// Digits and a point. from_chars would take "inf", "nan" and exponents, which nobody means.
std::optional<double> parse_decimal(std::string_view text) noexcept {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (errc != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// A decimal number with an optional letter that multiplies by a power of `base`.
std::optional<std::uint64_t> parse_quantity(std::string_view text, double base, std::string_view letters) noexcept {
  double factor = 1;
  if (!text.empty()) {
    const auto power = letters.find(text.back());
    if (power != std::string_view::npos) {
      factor = std::pow(base, static_cast<double>(power / 2 + 1));
      text.remove_suffix(1);
    }
  }
  const auto number = parse_decimal(text);
  // 2^53: beyond that not every whole number is a double, and no size or rate here comes near.
  if (!number || *number * factor > 9007199254740992.0) return std::nullopt;
  const double value = *number * factor;
  if (value != std::floor(value)) return std::nullopt;  // half a byte
  return static_cast<std::uint64_t>(value);
}

template <class Value, class Parse>
CLI::Option* add_quantity(CLI::App& options, const std::string& name, Value& value, const std::string& what,
                          Parse parse, std::string_view type, std::string_view wanted) {
  const std::string expects(wanted);
  CLI::Option* option = options.add_option_function<std::string>(
      name,
      [&value, parse, name, expects](const std::string& text) {
        const auto parsed = parse(text);
        if (!parsed) throw CLI::ValidationError(name, "'" + text + "' is not " + expects);
        value = *parsed;
      },
      what);
  std::string shown = std::to_string(value);
  if constexpr (std::is_floating_point_v<Value>) {
    shown.erase(shown.find_last_not_of('0') + 1);
    if (shown.ends_with('.')) shown.pop_back();
  }
  return option->type_name(std::string(type))->default_str(shown);
}

}  // namespace

std::optional<double> parse_seconds(std::string_view text) noexcept {
  const auto value = parse_decimal(text);
  return value && *value <= most_seconds ? value : std::nullopt;
}

std::optional<std::uint64_t> parse_size(std::string_view text) noexcept { return parse_quantity(text, 1024, "KkMmGg"); }
std::optional<std::uint64_t> parse_rate(std::string_view text) noexcept { return parse_quantity(text, 1000, "kKMmGg"); }

std::optional<double> parse_percent(std::string_view text) noexcept {
  if (text.ends_with('%')) text.remove_suffix(1);
  const auto value = parse_decimal(text);
  if (!value || *value > 100) return std::nullopt;
  return value;
}

CLI::Option* add_size(CLI::App& options, const std::string& name, std::uint64_t& bytes, const std::string& what) {
  return add_quantity(options, name, bytes, what, parse_size, "BYTES", "a size like 1200, 64K or 1.5M");
}

CLI::Option* add_rate(CLI::App& options, const std::string& name, std::uint64_t& per_second, const std::string& what) {
  return add_quantity(options, name, per_second, what, parse_rate, "RATE", "a rate like 500, 10k or 1.5M");
}

CLI::Option* add_count(CLI::App& options, const std::string& name, std::uint64_t& count, const std::string& what) {
  return add_quantity(options, name, count, what, parse_rate, "N", "a number like 500, 10k or 1.5M");
}

CLI::Option* add_seconds(CLI::App& options, const std::string& name, double& seconds, const std::string& what) {
  return add_quantity(options, name, seconds, what, parse_seconds, "SECONDS",
                      "a number of seconds like 5 or 0.5, at most 10^9");
}

CLI::Option* add_percent(CLI::App& options, const std::string& name, double& percent, const std::string& what) {
  return add_quantity(options, name, percent, what, parse_percent, "PERCENT", "a percentage from 0 to 100");
}

void add_idle_option(CLI::App& options, idle_policy& policy_chosen) {
  const std::map<std::string, idle_policy> policies = {
      {"poll", idle_policy::poll}, {"pause", idle_policy::pause}, {"adaptive", idle_policy::adaptive}};
  options
      .add_option_function<std::string>(
          "--idle",
          [&policy_chosen, policies](const std::string& text) {
            const auto policy = policies.find(text);
            if (policy == policies.end())
              throw CLI::ValidationError("--idle", "'" + text + "' is none of poll, pause, adaptive");
            policy_chosen = policy->second;
          },
          "what to do when nothing arrives: poll|pause|adaptive")
      ->type_name("POLICY")
      ->default_str("adaptive");
}

void add_common_options(CLI::App& options, common_options& common) {
  options.add_option("--json", common.json, "write the result as JSON ('-': stdout)")->type_name("FILE");
  add_seconds(options, "--stats-period", common.stats_period_s, "a line of statistics every so often; 0: none");
  add_idle_option(options, common.idle);
  options.add_flag("--verbose", common.verbose, "show the effective EAL arguments and what was derived");
}

std::optional<int> parse_options(CLI::App& options, std::string_view role, const invocation& call) {
  options.name("millrace [EAL args] -- " + std::string(role));
  // CLI11 takes an empty word for a value of any type; it comes from a variable that is not set.
  std::string before = std::string(role);
  for (const std::string& word : call.role_args) {
    // A value may end in '=' (base64 does); an option may not.
    if (word.empty() || (word.starts_with('-') && word.find('=') == word.size() - 1))
      return report({std::string(role) + ": nothing stands behind '" + (word.empty() ? before : word) + "'",
                     "is a variable of the shell not set?", true});
    before = word;
  }
  std::vector<std::string> backwards(call.role_args.rbegin(), call.role_args.rend());  // as CLI11 takes them
  try {
    options.parse(backwards);
    return std::nullopt;
  } catch (const CLI::Success& wanted) {  // --help
    std::cout << options.help();
    return exit_done;
  } catch (const CLI::ExtrasError&) {
    const std::string word = options.remaining().empty() ? "" : options.remaining().front();
    std::vector<std::string> names;
    for (const CLI::Option* option : options.get_options()) names.push_back(option->get_name());
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string_view near = nearest(word, views);
    return report({std::string(role) + ": no option '" + word + "'",
                   near.empty() ? "millrace -- " + std::string(role) + " --help  lists the options"
                                : "did you mean '" + std::string(near) + "'?",
                   true});
  } catch (const CLI::ParseError& refused) {
    std::string what = refused.what();
    std::replace(what.begin(), what.end(), '\n', ' ');
    return report(
        {std::string(role) + ": " + what, "millrace -- " + std::string(role) + " --help  lists the options", true});
  }
}

}  // namespace millrace::app
