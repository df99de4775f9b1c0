#include "http/wire/field.hpp"

#include <cstring>

namespace millrace::http::wire {
namespace {

enum : std::uint8_t { token_bit = 1, capital_bit = 2, value_bit = 4 };

constexpr std::array<std::uint8_t, 256> classes = [] {
  std::array<std::uint8_t, 256> out{};
  for (unsigned c = 0; c < 256; ++c) {
    const bool digit = c >= '0' && c <= '9';
    const bool capital = c >= 'A' && c <= 'Z';
    const bool letter = capital || (c >= 'a' && c <= 'z');
    const bool mark = std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
    if (digit || letter || mark) out[c] |= token_bit;
    if (capital) out[c] |= capital_bit;
    if (c == '\t' || (c >= 0x20 && c != 0x7f)) out[c] |= value_bit;
  }
  return out;
}();

[[nodiscard]] std::uint8_t class_of(char c) noexcept { return classes[static_cast<std::uint8_t>(c)]; }

constexpr std::uint64_t ones = 0x0101010101010101u;
constexpr std::uint64_t tops = 0x8080808080808080u;

// True when none of the eight bytes is a control character or DEL; may be false for a tab, which is then looked at by
// itself. Bytes above 127 pass.
[[nodiscard]] bool is_plain(std::uint64_t word) noexcept {
  const std::uint64_t below = (word - ones * 0x20) & ~word;  // top bit: less than a space
  const std::uint64_t del = word ^ ones * 0x7f;              // zero byte: DEL
  const std::uint64_t is_del = (del - ones) & ~del;
  return ((below | is_del) & tops) == 0;
}

}  // namespace

bool is_token(std::string_view text) noexcept {
  std::uint8_t all = token_bit;
  for (const char c : text) all &= class_of(c);
  return !text.empty() && all != 0;
}

bool is_lower_token(std::string_view text) noexcept {
  std::uint8_t all = token_bit;
  std::uint8_t any = 0;
  for (const char c : text) {
    all &= class_of(c);
    any |= class_of(c);
  }
  return !text.empty() && (all & token_bit) != 0 && (any & capital_bit) == 0;
}

bool is_field_value(std::string_view text) noexcept {
  if (text.empty()) return true;
  const auto is_space = [](char c) noexcept { return c == ' ' || c == '\t'; };
  if (is_space(text.front()) || is_space(text.back())) return false;
  while (text.size() >= sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, text.data(), sizeof(word));
    if (!is_plain(word)) break;
    text.remove_prefix(sizeof(word));
  }
  std::uint8_t all = value_bit;
  for (const char c : text) all &= class_of(c);
  return all != 0;
}

bool is_connection_specific(std::string_view name, std::string_view value) noexcept {
  switch (name.size()) {
    case 2:
      return name == "te" && !equal_without_case(value, "trailers");
    case 7:
      return name == "upgrade";
    case 10:
      return name == "connection" || name == "keep-alive";
    case 16:
      return name == "proxy-connection";
    case 17:
      return name == "transfer-encoding";
    default:
      return false;
  }
}

bool is_sendable_field(std::string_view name, std::string_view value) noexcept {
  return is_lower_token(name) && is_field_value(value) && !is_connection_specific(name, value);
}

bool next_element(std::string_view& list, std::string_view& element) noexcept {
  while (!list.empty()) {
    bool quoted = false;
    std::size_t end = 0;
    for (; end < list.size(); ++end) {
      const char c = list[end];
      if (quoted && c == '\\') {
        ++end;  // RFC 9110 5.6.4: what follows stands for itself
      } else if (c == '"') {
        quoted = !quoted;
      } else if (c == ',' && !quoted) {
        break;
      }
    }
    end = end < list.size() ? end : list.size();
    element = trim(list.substr(0, end));
    list.remove_prefix(end < list.size() ? end + 1 : end);
    if (!element.empty()) return true;
  }
  return false;
}

bool parse_decimal(std::string_view text, std::uint64_t& out) noexcept {
  if (text.empty()) return false;
  std::uint64_t n = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (n > (UINT64_MAX - digit) / 10) return false;
    n = n * 10 + digit;
  }
  out = n;
  return true;
}

}  // namespace millrace::http::wire
