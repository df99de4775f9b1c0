#include "env/cpu_list.hpp"

#include <algorithm>

#include "env/text_file.hpp"

namespace millrace::env {
namespace {

void sort_unique(cpu_list& cpus) {
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
}

std::optional<unsigned> parse_cpu(std::string_view text) noexcept {
  if (text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;  // no hexadecimal here
  const auto value = parse_number(text);
  if (!value || *value >= max_cpus) return std::nullopt;
  return static_cast<unsigned>(*value);
}

// One side of one --lcores entry, cut off the front of `text`: "7", "2-3" or "(0,2-3)".
std::optional<cpu_list> take_lcore_set(std::string_view& text) {
  std::string_view inside;
  if (text.starts_with('(')) {
    const auto close = text.find(')');
    if (close == std::string_view::npos) return std::nullopt;
    inside = text.substr(1, close - 1);
    text.remove_prefix(close + 1);
  } else {
    const auto end = std::min(text.find_first_of(",@"), text.size());
    inside = text.substr(0, end);
    text.remove_prefix(end);
  }
  auto cpus = parse_cpu_list(inside);
  if (!cpus || cpus->empty()) return std::nullopt;
  return cpus;
}

}  // namespace

std::optional<cpu_list> parse_cpu_list(std::string_view text) {
  cpu_list cpus;
  for (const std::string_view piece : split(trim(text), ',')) {
    const auto dash = piece.find('-');
    const auto first = parse_cpu(piece.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_cpu(piece.substr(dash + 1));
    if (!first || !last || *first > *last) return std::nullopt;
    for (unsigned cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    if (cpus.size() > 4 * max_cpus) return std::nullopt;  // ranges repeated over and over
  }
  sort_unique(cpus);
  return cpus;
}

std::optional<cpu_list> parse_cpu_mask(std::string_view text) {
  text = trim(text);
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  if (text.empty() || text.size() > max_cpus / 4) return std::nullopt;
  cpu_list cpus;
  unsigned cpu = 0;
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, cpu += 4) {
    const auto value = parse_number(std::string("0x") + *digit);
    if (!value) return std::nullopt;
    for (unsigned bit = 0; bit < 4; ++bit)
      if ((*value >> bit & 1) != 0) cpus.push_back(cpu + bit);
  }
  return cpus;
}

std::string format_cpu_list(const cpu_list& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[i]);
    if (last > i) text += (last == i + 1 ? ',' : '-') + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

std::optional<lcore_map> parse_lcore_map(std::string_view text) {
  lcore_map map;
  text = trim(text);
  if (text.empty()) return std::nullopt;
  while (true) {
    const auto lcores = take_lcore_set(text);
    if (!lcores) return std::nullopt;
    auto cpus = lcores;  // without '@' an lcore runs on the CPUs of its own group's numbers
    if (text.starts_with('@')) {
      text.remove_prefix(1);
      cpus = take_lcore_set(text);
      if (!cpus) return std::nullopt;
    }
    map.lcores.insert(map.lcores.end(), lcores->begin(), lcores->end());
    map.cpus.insert(map.cpus.end(), cpus->begin(), cpus->end());
    if (map.lcores.size() + map.cpus.size() > 8 * max_cpus) return std::nullopt;
    if (text.empty()) break;
    if (!text.starts_with(',')) return std::nullopt;
    text.remove_prefix(1);
  }
  sort_unique(map.lcores);
  sort_unique(map.cpus);
  return map;
}

bool contains(const cpu_list& cpus, unsigned cpu) noexcept { return std::binary_search(cpus.begin(), cpus.end(), cpu); }

}  // namespace millrace::env
