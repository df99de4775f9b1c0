#include "http/wire/conditional.hpp"

#include <algorithm>

#include "http/wire/date.hpp"
#include "http/wire/field.hpp"

namespace millrace::http::wire {
namespace {

[[nodiscard]] bool is_weak(std::string_view tag) noexcept { return tag.starts_with("W/"); }
[[nodiscard]] std::string_view opaque(std::string_view tag) noexcept { return is_weak(tag) ? tag.substr(2) : tag; }

// Takes the next entity tag off a list. Between its quotes no backslash escapes anything, as it would in a quoted
// string (RFC 9110 8.8.3). False: none is left, or what stands there is none; the rest of the list is then not read.
[[nodiscard]] bool next_tag(std::string_view& list, std::string_view& tag) noexcept {
  while (!list.empty() && (list.front() == ',' || list.front() == ' ' || list.front() == '\t')) list.remove_prefix(1);
  const std::size_t quote = is_weak(list) ? 2 : 0;
  if (quote >= list.size() || list[quote] != '"') return false;
  const std::size_t end = list.find('"', quote + 1);
  if (end == std::string_view::npos) return false;
  tag = list.substr(0, end + 1);
  list = trim(list.substr(end + 1));
  return is_entity_tag(tag) && (list.empty() || list.front() == ',');
}

// RFC 9110 13.1.1 13.1.2: `*`, or a list.
[[nodiscard]] bool any_matches(std::string_view list, const validators& now, bool strongly) noexcept {
  if (trim(list) == "*") return now.exists;
  std::string_view tag;
  while (next_tag(list, tag)) {
    if (now.etag.empty()) continue;
    if (strongly ? equal_strongly(tag, now.etag) : equal_weakly(tag, now.etag)) return true;
  }
  return false;
}

// RFC 9110 13.1.3 13.1.4: a date that cannot be read, or nothing to compare it with, is no condition.
[[nodiscard]] std::optional<bool> changed_since(std::string_view date, const validators& now,
                                                std::int64_t now_s) noexcept {
  const auto since = parse_date(date, now_s);
  if (!since || !now.last_modified_s) return std::nullopt;
  return *now.last_modified_s > *since;
}

}  // namespace

bool is_entity_tag(std::string_view text) noexcept {
  const std::string_view tag = opaque(text);
  if (tag.size() < 2 || tag.front() != '"' || tag.back() != '"') return false;
  const std::string_view inside = tag.substr(1, tag.size() - 2);
  return std::all_of(inside.begin(), inside.end(), [](char c) {
    const auto byte = static_cast<std::uint8_t>(c);
    return byte == 0x21 || (byte >= 0x23 && byte != 0x7f);
  });
}

bool equal_strongly(std::string_view a, std::string_view b) noexcept { return !is_weak(a) && a == b; }
bool equal_weakly(std::string_view a, std::string_view b) noexcept { return opaque(a) == opaque(b); }

verdict judge(method m, const preconditions& asked, const validators& now, std::int64_t now_s) noexcept {
  const bool reads = m == method::get || m == method::head;
  // RFC 9110 13.2.2, steps 1 and 2: the date speaks only where no tag does.
  if (asked.if_match) {
    if (!any_matches(*asked.if_match, now, true)) return verdict::precondition_failed;
  } else if (asked.if_unmodified_since) {
    if (changed_since(*asked.if_unmodified_since, now, now_s).value_or(false)) return verdict::precondition_failed;
  }
  // Steps 3 and 4.
  if (asked.if_none_match) {
    if (any_matches(*asked.if_none_match, now, false))
      return reads ? verdict::not_modified : verdict::precondition_failed;
  } else if (asked.if_modified_since && reads) {
    if (!changed_since(*asked.if_modified_since, now, now_s).value_or(true)) return verdict::not_modified;
  }
  return verdict::proceed;
}

bool range_applies(const preconditions& asked, const validators& now, std::int64_t now_s) noexcept {
  if (!asked.if_range) return true;
  const std::string_view value = trim(*asked.if_range);
  if (is_entity_tag(value)) return equal_strongly(value, now.etag);
  // RFC 9110 13.1.5: exactly the date, which has to be a strong validator: 60 seconds old (8.8.2.2).
  const auto date = parse_date(value, now_s);
  return date && now.last_modified_s && *date == *now.last_modified_s && now_s - *date >= 60;
}

}  // namespace millrace::http::wire
