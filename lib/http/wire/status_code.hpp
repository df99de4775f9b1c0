// http/wire/status_code.hpp - status codes: the ones we send, by name; all others by number.
//
// Shape    a code is a number from 100 to 999; reason() is what HTTP/1.1 writes behind it and logs print.
// Source   RFC 9110 15, RFC 6585 4 5, RFC 8297 2, RFC 8470 5.2. Tests  test/http/wire/status_code_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace millrace::http::wire {

enum class status_code : std::uint16_t {
  continue_ = 100,
  switching_protocols = 101,
  early_hints = 103,
  ok = 200,
  created = 201,
  accepted = 202,
  no_content = 204,
  partial_content = 206,
  moved_permanently = 301,
  found = 302,
  see_other = 303,
  not_modified = 304,
  temporary_redirect = 307,
  permanent_redirect = 308,
  bad_request = 400,
  unauthorized = 401,
  forbidden = 403,
  not_found = 404,
  method_not_allowed = 405,
  not_acceptable = 406,
  request_timeout = 408,
  conflict = 409,
  gone = 410,
  length_required = 411,
  precondition_failed = 412,
  content_too_large = 413,
  uri_too_long = 414,
  unsupported_media_type = 415,
  range_not_satisfiable = 416,
  expectation_failed = 417,
  misdirected_request = 421,
  unprocessable_content = 422,
  too_early = 425,
  upgrade_required = 426,
  too_many_requests = 429,
  request_header_fields_too_large = 431,
  internal_server_error = 500,
  not_implemented = 501,
  bad_gateway = 502,
  service_unavailable = 503,
  gateway_timeout = 504,
  http_version_not_supported = 505,
};

// Empty for a code without a name here.
[[nodiscard]] std::string_view reason(status_code code) noexcept;

// RFC 9110 15.2: an answer that another one follows.
[[nodiscard]] constexpr bool is_interim(status_code code) noexcept { return static_cast<unsigned>(code) / 100 == 1; }
// RFC 9110 6.4.1: interim answers, 204 and 304 have no content, whatever their fields say.
[[nodiscard]] constexpr bool has_content(status_code code) noexcept {
  return !is_interim(code) && code != status_code::no_content && code != status_code::not_modified;
}

// Three digits. The code is 100 to 999.
[[nodiscard]] constexpr std::array<char, 3> digits(status_code code) noexcept {
  const auto n = static_cast<unsigned>(code);
  return {static_cast<char>('0' + n / 100 % 10), static_cast<char>('0' + n / 10 % 10), static_cast<char>('0' + n % 10)};
}
// Answers 0 for what is not three digits from 100 to 599. RFC 9110 15: others are invalid.
[[nodiscard]] constexpr std::uint16_t parse_status_code(std::string_view text) noexcept {
  if (text.size() != 3) return 0;
  unsigned n = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return 0;
    n = n * 10 + static_cast<unsigned>(c - '0');
  }
  return n >= 100 && n <= 599 ? static_cast<std::uint16_t>(n) : 0;
}

}  // namespace millrace::http::wire
