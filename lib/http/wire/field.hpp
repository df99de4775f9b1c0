// http/wire/field.hpp - what names and values of fields may be made of.
//
// Shape    questions over text, eight bytes at a time where it is long. HTTP/2 and 3 write names in lower case;
//          HTTP/1.1 compares them without case.
// Why      a byte that one end takes for the end of a line and the other does not is how requests are smuggled: CR, LF
//          and NUL are refused everywhere, and so is white space at the ends of a value.
// Source   RFC 9110 5.1 5.5 5.6.2, RFC 9114 4.2 4.3, RFC 9113 8.2.1. Tests  test/http/wire/field_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace millrace::http::wire {

// RFC 9110 5.6.2: one or more of the characters a token is made of.
[[nodiscard]] bool is_token(std::string_view text) noexcept;
// A token without capitals: a field name of HTTP/2 and HTTP/3 (RFC 9114 4.2). Pseudo-header names are none.
[[nodiscard]] bool is_lower_token(std::string_view text) noexcept;
// RFC 9110 5.5: no control character but the tab, and no white space at either end. Bytes above 127 are allowed. Empty
// is a value.
[[nodiscard]] bool is_field_value(std::string_view text) noexcept;

// RFC 9114 4.2: fields that speak of a connection of HTTP/1.1 and make a message of HTTP/3 malformed. `name` is in
// lower case. `te` may come with the value "trailers" and no other.
[[nodiscard]] bool is_connection_specific(std::string_view name, std::string_view value) noexcept;

// What may be written as a field, whoever made it up: a name in lower case, a value that ends no line, nothing that
// speaks of a connection. Asked before a field is sent, so that no answer is split where HTTP/1.1 carries it (RFC
// 9110 5.5).
[[nodiscard]] bool is_sendable_field(std::string_view name, std::string_view value) noexcept;

[[nodiscard]] constexpr char to_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}
[[nodiscard]] constexpr bool equal_without_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (to_lower(a[i]) != to_lower(b[i])) return false;
  return true;
}

// RFC 9110 5.6.3: space and tab.
[[nodiscard]] constexpr std::string_view trim(std::string_view text) noexcept {
  const auto is_space = [](char c) noexcept { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Takes the next element off a list (RFC 9110 5.6.1), trimmed; commas inside quoted strings do not end one. Empty
// elements are passed over. False when none is left.
[[nodiscard]] bool next_element(std::string_view& list, std::string_view& element) noexcept;

// Decimal digits and nothing else. False when empty, not digits, or beyond 2^64 - 1 (RFC 9110 8.6).
[[nodiscard]] bool parse_decimal(std::string_view text, std::uint64_t& out) noexcept;

}  // namespace millrace::http::wire
