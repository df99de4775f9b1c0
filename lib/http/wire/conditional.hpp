// http/wire/conditional.hpp - requests that ask for something only if it has, or has not, changed.
//
// Shape    the caller collects the fields of the request and says what the resource is now; judge() answers what the
//          response is to be, in the order RFC 9110 13.2.2 prescribes.
// Owner    nothing is kept.
// Errors   a field that is not what it should be is passed over, as the sections of each say; If-Match and
//          If-None-Match that cannot be read match nothing.
// Source   RFC 9110 8.8 13.1 13.2. Tests  test/http/wire/conditional_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "http/wire/method.hpp"

namespace millrace::http::wire {

// What a resource is at present. Empty and nothing: not known.
struct validators {
  std::string_view etag{};                        // with its quotes, and W/ when weak
  std::optional<std::int64_t> last_modified_s{};  // since 1970
  bool exists = true;                             // for `*`
};

// Field values as they came; a field that did not come is nothing. Several lines of one are joined by commas first.
struct preconditions {
  std::optional<std::string_view> if_match{};
  std::optional<std::string_view> if_none_match{};
  std::optional<std::string_view> if_modified_since{};
  std::optional<std::string_view> if_unmodified_since{};
  std::optional<std::string_view> if_range{};
};

enum class verdict : std::uint8_t {
  proceed,
  not_modified,         // 304
  precondition_failed,  // 412
};
[[nodiscard]] verdict judge(method m, const preconditions& asked, const validators& now, std::int64_t now_s) noexcept;

// RFC 9110 13.1.5: whether a Range field is to be honoured. True without If-Range.
[[nodiscard]] bool range_applies(const preconditions& asked, const validators& now, std::int64_t now_s) noexcept;

// RFC 9110 8.8.3: an opaque string in quotes, W/ in front when weak.
[[nodiscard]] bool is_entity_tag(std::string_view text) noexcept;
// RFC 9110 8.8.3.2. Strong: both the same and neither weak. Weak: the same apart from W/.
[[nodiscard]] bool equal_strongly(std::string_view a, std::string_view b) noexcept;
[[nodiscard]] bool equal_weakly(std::string_view a, std::string_view b) noexcept;

}  // namespace millrace::http::wire
