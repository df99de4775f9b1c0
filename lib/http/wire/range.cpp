#include "http/wire/range.hpp"

#include <algorithm>
#include <charconv>

#include "http/wire/field.hpp"

namespace millrace::http::wire {

byte_range parse_range(std::string_view value, std::uint64_t size) noexcept {
  constexpr std::string_view unit = "bytes=";
  value = trim(value);
  // RFC 9110 14.1: units have no case.
  if (value.size() <= unit.size() || !equal_without_case(value.substr(0, unit.size()), unit)) return {};
  value.remove_prefix(unit.size());
  std::string_view one;
  std::string_view second;
  if (!next_element(value, one) || next_element(value, second)) return {};
  const std::size_t dash = one.find('-');
  if (dash == std::string_view::npos) return {};
  const std::string_view from = one.substr(0, dash);
  const std::string_view to = one.substr(dash + 1);
  std::uint64_t first = 0;
  std::uint64_t last = UINT64_MAX;
  if (from.empty()) {  // the last so many
    std::uint64_t count = 0;
    if (!parse_decimal(to, count)) return {};
    if (count == 0 || size == 0) return {range_verdict::not_satisfiable, 0, 0};
    return {range_verdict::part, size - std::min(count, size), size - 1};
  }
  if (!parse_decimal(from, first) || (!to.empty() && !parse_decimal(to, last))) return {};
  if (last < first) return {};  // RFC 9110 14.1.1: invalid
  if (first >= size) return {range_verdict::not_satisfiable, 0, 0};
  return {range_verdict::part, first, std::min(last, size - 1)};
}

content_range_text emit_content_range(const byte_range& range, std::uint64_t size) noexcept {
  content_range_text out;
  char* at = out.chars.data();
  char* const end = at + out.chars.size();
  const auto text = [&](std::string_view t) { at = std::copy(t.begin(), t.end(), at); };
  const auto number = [&](std::uint64_t n) { at = std::to_chars(at, end, n).ptr; };
  text("bytes ");
  if (range.verdict == range_verdict::part) {
    number(range.first);
    text("-");
    number(range.last);
  } else {
    text("*");
  }
  text("/");
  number(size);
  out.size = static_cast<std::size_t>(at - out.chars.data());
  return out;
}

}  // namespace millrace::http::wire
