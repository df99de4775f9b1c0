// http/wire/date.hpp - times as HTTP writes them.
//
// Shape    emit_date() writes the one form that is to be sent; parse_date() reads the three that may come. date_cache
//          keeps the text of a second, one for each lcore.
// Units    seconds since 1970-01-01 UTC, which may be negative; no leap seconds.
// Errors   parse_date: nothing for what is no date. emit_date writes years 0 to 9999 and takes what lies outside as the
//          nearest of them.
// Source   RFC 9110 5.6.7 6.6.1. Tests  test/http/wire/date_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::http::wire {

inline constexpr std::size_t date_size = 29;  // "Sun, 06 Nov 1994 08:49:37 GMT"
using date_text = std::array<char, date_size>;

[[nodiscard]] date_text emit_date(std::int64_t unix_s) noexcept;

// `now_s` settles the century of the obsolete form with two digits: RFC 9110 5.6.7 wants one that is not more than 50
// years ahead.
[[nodiscard]] std::optional<std::int64_t> parse_date(std::string_view text, std::int64_t now_s) noexcept;

class date_cache {
  std::int64_t second_ = INT64_MIN;
  date_text text_{};

 public:
  // The view lives until the next call.
  [[nodiscard]] std::string_view at(std::int64_t unix_s) noexcept {
    if (unix_s != second_) {
      text_ = emit_date(unix_s);
      second_ = unix_s;
    }
    return {text_.data(), text_.size()};
  }
};

}  // namespace millrace::http::wire
