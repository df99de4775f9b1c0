#include "http/router.hpp"

#include <cstring>

namespace millrace::http {
namespace {

// Eight bytes of the front without reading behind the end.
[[nodiscard]] std::uint64_t first_word(std::string_view text) noexcept {
  std::uint64_t word = 0;
  if (text.size() >= sizeof(word)) {
    std::memcpy(&word, text.data(), sizeof(word));
  } else if (text.size() >= sizeof(std::uint32_t)) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::memcpy(&low, text.data(), sizeof(low));
    std::memcpy(&high, text.data() + text.size() - sizeof(high), sizeof(high));
    // The two overlap; only what the first has not is taken of the second.
    word = low | std::uint64_t{high} >> 8 * (8 - text.size()) << 32;
  } else {
    for (std::size_t i = 0; i < text.size(); ++i) word |= std::uint64_t{static_cast<std::uint8_t>(text[i])} << 8 * i;
  }
  return word;
}

}  // namespace

std::string_view route_match::parameter(std::string_view name) const noexcept {
  for (const path_parameter& p : parameters)
    if (p.name == name) return p.value;
  return {};
}

std::uint32_t router::child_of(const node& n, std::string_view segment) const noexcept {
  const std::uint64_t word = first_word(segment);
  const child* at = children_.data() + n.first_child;
  std::uint32_t count = n.children;
  const auto less = [&](const child& c) noexcept {
    if (c.size != segment.size()) return c.size < segment.size();
    if (c.word != word) return c.word < word;
    return segment.size() > sizeof(word) && std::memcmp(texts_.data() + c.text, segment.data(), segment.size()) < 0;
  };
  while (count != 0) {  // the first that is not less
    const std::uint32_t half = count / 2;
    if (less(at[half])) {
      at += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  if (at == children_.data() + n.first_child + n.children || at->size != segment.size() || at->word != word)
    return none;
  if (segment.size() > sizeof(word) && std::memcmp(texts_.data() + at->text, segment.data(), segment.size()) != 0)
    return none;
  return at->node;
}

route_match router::match(wire::method m, std::string_view path) const noexcept {
  route_match out;
  if (!path.starts_with('/') || nodes_.empty()) return out;
  struct place {
    std::size_t begin;
    std::size_t size;
  };
  std::array<place, path_segments_max + 1> segments;
  std::size_t depth = 0;
  const node* at = nodes_.data();
  bool whole = false;  // the path ended at `at`
  for (std::size_t begin = 1; !whole && depth < segments.size();) {
    const char* const from = path.data() + begin;
    const void* const slash = std::memchr(from, '/', path.size() - begin);
    const std::size_t size =
        slash == nullptr ? path.size() - begin : static_cast<std::size_t>(static_cast<const char*>(slash) - from);
    segments[depth++] = {begin, size};
    std::uint32_t next = child_of(*at, {from, size});
    if (next == none && size != 0) next = at->parameter;
    if (next == none) break;
    at = nodes_.data() + next;
    whole = slash == nullptr;
    begin += size + 1;
  }
  const auto& routes = whole ? at->here : at->rest;
  const std::uint32_t chosen = routes[static_cast<std::size_t>(m)];
  if (chosen == none) {
    for (std::size_t i = 0; i < routes.size(); ++i)
      if (routes[i] != none) out.allowed.add(static_cast<wire::method>(i));
    out.result = out.allowed.empty() ? route_match::outcome::no_path : route_match::outcome::no_method;
    return out;
  }
  const route& found = routes_[chosen];
  out.result = route_match::outcome::found;
  out.handler = found.handler;
  for (std::uint32_t i = 0; i < found.captures; ++i) {
    const capture& c = captures_[found.first_capture + i];
    const place& p = segments[c.segment];
    static_cast<void>(out.parameters.push_back({std::string_view(texts_).substr(c.name_begin, c.name_size),
                                                c.rest ? path.substr(p.begin) : path.substr(p.begin, p.size)}));
  }
  return out;
}

}  // namespace millrace::http
