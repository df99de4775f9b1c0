// RFC 8941 4.2, of which all is parsed, because a dictionary that breaks anywhere is none: parse_priority() decides by
// the whole text. Inner lists hold items, never lists, so nothing recurses.
#include "h3/wire/priority.hpp"

namespace millrace::h3::wire {
namespace {

enum class kind : std::uint8_t { integer, decimal, text, token, bytes, boolean, list };

struct bare_item {
  kind what = kind::boolean;
  std::int64_t number = 0;
  bool flag = true;
};

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
constexpr bool is_alpha(char c) noexcept { return is_lower(c) || (c >= 'A' && c <= 'Z'); }

class reader {
  std::string_view left_;

 public:
  explicit reader(std::string_view text) noexcept : left_(text) {}

  [[nodiscard]] bool at_end() const noexcept { return left_.empty(); }
  [[nodiscard]] bool take(char c) noexcept {
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  void skip_spaces() noexcept {
    while (take(' ')) continue;
  }
  void skip_white() noexcept {  // OWS
    while (!left_.empty() && (left_.front() == ' ' || left_.front() == '\t')) left_.remove_prefix(1);
  }

  [[nodiscard]] bool key(std::string_view& out) noexcept {  // 4.2.3.3
    if (left_.empty() || !(is_lower(left_.front()) || left_.front() == '*')) return false;
    std::size_t n = 1;
    while (n < left_.size() && (is_lower(left_[n]) || is_digit(left_[n]) ||
                                std::string_view("_-.*").find(left_[n]) != std::string_view::npos))
      ++n;
    out = left_.substr(0, n);
    left_.remove_prefix(n);
    return true;
  }

  [[nodiscard]] bool item(bare_item& out) noexcept {  // 4.2.3.1
    if (left_.empty()) return false;
    const char c = left_.front();
    if (c == '-' || is_digit(c)) return number(out);
    if (c == '"') return quoted(out);
    if (c == '*' || is_alpha(c)) return token(out);
    if (c == ':') return byte_sequence(out);
    return c == '?' && boolean(out);
  }

  [[nodiscard]] bool parameters() noexcept {  // 4.2.3.2
    while (take(';')) {
      skip_spaces();
      std::string_view name;
      bare_item value;
      if (!key(name) || (take('=') && !item(value))) return false;
    }
    return true;
  }

  // An item or an inner list (4.2.1.2), with its parameters.
  [[nodiscard]] bool member_value(bare_item& out) noexcept {
    if (!take('(')) return item(out) && parameters();
    out.what = kind::list;
    for (;;) {
      skip_spaces();
      if (take(')')) return parameters();
      bare_item one;
      if (!item(one) || !parameters()) return false;
      if (!left_.empty() && left_.front() != ' ' && left_.front() != ')') return false;
    }
  }

 private:
  [[nodiscard]] bool number(bare_item& out) noexcept {  // 4.2.4
    const bool negative = take('-');
    std::int64_t value = 0;
    std::size_t whole = 0;
    for (; !left_.empty() && is_digit(left_.front()); left_.remove_prefix(1)) {
      if (++whole > 15) return false;
      value = value * 10 + (left_.front() - '0');
    }
    if (whole == 0) return false;
    out = {kind::integer, negative ? -value : value, false};
    if (!take('.')) return true;
    std::size_t fraction = 0;
    for (; !left_.empty() && is_digit(left_.front()); left_.remove_prefix(1))
      if (++fraction > 3) return false;
    out.what = kind::decimal;
    return fraction != 0 && whole <= 12;
  }
  [[nodiscard]] bool quoted(bare_item& out) noexcept {  // 4.2.5
    out.what = kind::text;
    left_.remove_prefix(1);
    while (!left_.empty()) {
      char c = left_.front();
      left_.remove_prefix(1);
      if (c == '"') return true;
      if (c == '\\') {
        if (left_.empty() || (left_.front() != '"' && left_.front() != '\\')) return false;
        left_.remove_prefix(1);
      } else if (c < 0x20 || c > 0x7e) {
        return false;
      }
    }
    return false;
  }
  [[nodiscard]] bool token(bare_item& out) noexcept {  // 4.2.6
    out.what = kind::token;
    std::size_t n = 1;
    while (n < left_.size() && (is_alpha(left_[n]) || is_digit(left_[n]) ||
                                std::string_view("!#$%&'*+-.^_`|~:/").find(left_[n]) != std::string_view::npos))
      ++n;
    left_.remove_prefix(n);
    return true;
  }
  [[nodiscard]] bool byte_sequence(bare_item& out) noexcept {  // 4.2.7
    out.what = kind::bytes;
    left_.remove_prefix(1);
    const std::size_t end = left_.find(':');
    if (end == std::string_view::npos) return false;
    for (const char c : left_.substr(0, end))
      if (!is_alpha(c) && !is_digit(c) && c != '+' && c != '/' && c != '=') return false;
    left_.remove_prefix(end + 1);
    return true;
  }
  [[nodiscard]] bool boolean(bare_item& out) noexcept {  // 4.2.8
    left_.remove_prefix(1);
    out.what = kind::boolean;
    out.flag = take('1');
    return out.flag || take('0');
  }
};

}  // namespace

priority parse_priority(std::string_view value) noexcept {
  priority out;
  reader in(value);
  in.skip_spaces();
  while (!in.at_end()) {
    std::string_view name;
    bare_item member;
    if (!in.key(name)) return {};
    if (in.take('=') ? !in.member_value(member) : !in.parameters()) return {};
    // RFC 8941 4.2.2: of a key that comes twice the last one counts; one that cannot be means the default.
    if (name == "u")
      out.urgency = member.what == kind::integer && member.number >= 0 && member.number <= 7
                        ? static_cast<std::uint8_t>(member.number)
                        : priority{}.urgency;
    if (name == "i") out.incremental = member.what == kind::boolean && member.flag;
    in.skip_white();
    if (in.at_end()) return out;
    if (!in.take(',')) return {};
    in.skip_white();
    if (in.at_end()) return {};  // RFC 8941 4.2.2: no comma at the end
  }
  return out;
}

}  // namespace millrace::h3::wire
