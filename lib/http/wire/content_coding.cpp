#include "http/wire/content_coding.hpp"

#include "http/wire/field.hpp"

namespace millrace::http::wire {
namespace {

constexpr unsigned full_weight = 1000;

// A member of the list: a name, and the weight behind it.
struct preference {
  std::string_view name;
  unsigned weight = full_weight;
};
[[nodiscard]] std::optional<preference> parse_preference(std::string_view member) noexcept {
  const std::size_t semicolon = member.find(';');
  preference out{trim(member.substr(0, semicolon))};
  if (!is_token(out.name)) return std::nullopt;
  if (semicolon == std::string_view::npos) return out;
  const std::string_view parameter = trim(member.substr(semicolon + 1));
  if (parameter.size() < 2 || to_lower(parameter[0]) != 'q' || parameter[1] != '=') return std::nullopt;
  const auto weight = parse_weight(parameter.substr(2));
  if (!weight) return std::nullopt;
  out.weight = *weight;
  return out;
}

}  // namespace

std::optional<unsigned> parse_weight(std::string_view text) noexcept {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
  if (text.size() > 1 && text[1] != '.') return std::nullopt;
  unsigned out = text[0] == '1' ? full_weight : 0;
  unsigned place = full_weight / 10;
  for (std::size_t i = 2; i < text.size(); ++i, place /= 10) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    out += place * static_cast<unsigned>(text[i] - '0');
  }
  if (out > full_weight) return std::nullopt;
  return out;
}

std::optional<content_coding> choose(std::optional<std::string_view> accept_encoding,
                                     const stored_codings& stored) noexcept {
  if (!accept_encoding) return content_coding::identity;
  std::array<std::optional<unsigned>, content_coding_count> named{};
  std::optional<unsigned> any;
  std::string_view list = *accept_encoding;
  std::string_view member;
  while (next_element(list, member)) {
    const auto p = parse_preference(member);
    if (!p) continue;
    if (p->name == "*") any = p->weight;
    for (std::size_t i = 0; i < content_coding_count; ++i) {
      // RFC 9110 8.4.1.3: x-gzip is gzip.
      if (equal_without_case(p->name, content_coding_names[i]) || (i == 1 && equal_without_case(p->name, "x-gzip")))
        named[i] = p->weight;
    }
  }
  std::optional<content_coding> best;
  unsigned best_weight = 0;
  for (std::size_t i = 0; i < content_coding_count; ++i) {
    // RFC 9110 12.5.3: identity is acceptable unless it is refused, by name or by `*`; the others only when named.
    // Where it is not named, any coding that is beats it.
    const bool is_identity = i == 0;
    const unsigned weight = named[i] ? *named[i] : any.value_or(is_identity ? 1 : 0);
    if (!stored[i] || weight == 0 || weight < best_weight) continue;
    best = static_cast<content_coding>(i);
    best_weight = weight;
  }
  return best;
}

}  // namespace millrace::http::wire
