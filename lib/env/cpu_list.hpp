// env/cpu_list.hpp - sets of CPU numbers as the kernel and EAL write them.
//
// Shape    ascending, each once. Limits  numbers below max_cpus; more is refused, so "0-4000000000" costs nothing.
// Errors   nullopt on anything that is not a list.
// Source   kernel "List format" (admin-guide/cputopology), EAL -l, -c and --lcores. Tests  test/env/cpu_list_test.cpp
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::env {

inline constexpr unsigned max_cpus = 4096;

using cpu_list = std::vector<unsigned>;

// "0,2-3"; an empty text is an empty list.
[[nodiscard]] std::optional<cpu_list> parse_cpu_list(std::string_view text);
// "0xf", "F0".
[[nodiscard]] std::optional<cpu_list> parse_cpu_mask(std::string_view text);
// "0,2-3"
[[nodiscard]] std::string format_cpu_list(const cpu_list& cpus);

// EAL --lcores: "LCORES[@CPUS][,...]", each side a number, or numbers and ranges in parentheses.
struct lcore_map {
  cpu_list lcores;
  cpu_list cpus;  // union over all lcores: where they may run
};
[[nodiscard]] std::optional<lcore_map> parse_lcore_map(std::string_view text);

[[nodiscard]] bool contains(const cpu_list& cpus, unsigned cpu) noexcept;

}  // namespace millrace::env
