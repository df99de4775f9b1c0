// A machine over single bytes, because a head may be cut anywhere and nothing may be kept. Method tokens are compared
// with the eight bytes kept in start_; field names are matched in parallel, one bit a candidate, as their bytes pass.
#include "srmp/wire/opening.hpp"

#include <array>

namespace millrace::srmp::wire {
namespace {

// RFC 9110 9.3, RFC 5789 (PATCH), RFC 9113 3.4 (the preface "PRI * HTTP/2.0").
constexpr std::array<std::string_view, 10> methods = {"GET ",     "HEAD ",    "POST ",  "PUT ",   "DELETE ",
                                                      "CONNECT ", "OPTIONS ", "TRACE ", "PATCH ", "PRI "};
constexpr std::array<std::string_view, 2> names = {"upgrade:", "sec-websocket-key:"};
constexpr std::uint8_t upgrade_bit = 1;
constexpr std::string_view websocket_word = "websocket";

constexpr std::uint8_t lower(std::uint8_t byte) noexcept {
  return byte >= 'A' && byte <= 'Z' ? static_cast<std::uint8_t>(byte + ('a' - 'A')) : byte;
}

}  // namespace

void opening::on_method_byte(std::uint8_t byte) noexcept {
  start_[size_++] = byte;
  const std::string_view start = base::as_text(base::byte_view(start_, size_));
  for (const std::string_view method : methods) {
    if (!method.starts_with(start)) continue;
    if (method.size() == start.size()) {
      where_ = where::request_line;
      if (start != methods[0]) kind_ = opening_kind::http;
    }
    return;
  }
  kind_ = opening_kind::srmp;
}

void opening::on_name_byte(std::uint8_t byte) noexcept {
  const std::uint8_t c = lower(byte);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (matched_ >= names[i].size() || static_cast<std::uint8_t>(names[i][matched_]) != c)
      names_ &= static_cast<std::uint8_t>(~(1u << i));
  }
  ++matched_;
  if (names_ == 0) {
    where_ = where::skip_line;
  } else if (c == ':') {
    where_ = where::value;
    is_upgrade_field_ = names_ == upgrade_bit;
    matched_ = 0;
  }
}

// RFC 9110 7.8: Upgrade lists names between commas, compared without case; a version may follow a slash. A name that
// merely ends or goes on with the word is another one.
void opening::on_value_byte(std::uint8_t byte) noexcept {
  if (!is_upgrade_field_) {
    has_key_ = has_key_ || (byte != ' ' && byte != '\t');
    return;
  }
  const std::uint8_t c = lower(byte);
  if (c == ',' || c == ' ' || c == '\t' || c == '/') {
    has_upgrade_ = has_upgrade_ || (where_ == where::value && matched_ == websocket_word.size());
    where_ = c == '/' ? where::value_other : c == ',' || where_ == where::value ? where::value : where_;
    matched_ = 0;
  } else if (where_ == where::value) {
    if (matched_ < websocket_word.size() && static_cast<std::uint8_t>(websocket_word[matched_]) == c) {
      ++matched_;
    } else {
      where_ = where::value_other;
    }
  }
}

void opening::on_head_byte(std::uint8_t byte) noexcept {
  if (byte == '\n') {
    if (where_ == where::line_start) {
      kind_ = has_upgrade_ && has_key_ ? opening_kind::websocket : opening_kind::http;
      return;
    }
    if (where_ == where::value && is_upgrade_field_ && matched_ == websocket_word.size()) has_upgrade_ = true;
    where_ = where::line_start;
    return;
  }
  if (byte == '\r') return;  // RFC 9112 2.2: a line may end in LF alone
  switch (where_) {
    case where::line_start:
      where_ = where::name;
      names_ = (1u << names.size()) - 1;
      matched_ = 0;
      on_name_byte(byte);
      return;
    case where::name:
      on_name_byte(byte);
      return;
    case where::value:
    case where::value_other:
      on_value_byte(byte);
      return;
    case where::method:
    case where::request_line:
    case where::skip_line:
      return;
  }
}

opening_kind opening::on_bytes(base::byte_view in) noexcept {
  for (const std::uint8_t byte : in) {
    if (kind_ != opening_kind::undecided) break;
    if (where_ == where::method) {
      on_method_byte(byte);
    } else {
      on_head_byte(byte);
    }
    if (++seen_ == max_opening_head && kind_ == opening_kind::undecided) kind_ = opening_kind::http;
  }
  return kind_;
}

opening_kind opening::on_end() noexcept {
  if (kind_ == opening_kind::undecided) kind_ = where_ == where::method ? opening_kind::srmp : opening_kind::http;
  return kind_;
}

}  // namespace millrace::srmp::wire
