#include "http/dispatcher.hpp"

#include <algorithm>

namespace millrace::http {

using wire::method;
using wire::status_code;

namespace {

// The names of a set, as Allow lists them.
class allow_text {
  static constexpr std::size_t capacity = [] {
    std::size_t sum = 0;
    for (const std::string_view name : wire::method_names) sum += name.size() + 2;
    return sum;
  }();
  std::array<char, capacity> text_;
  std::size_t size_ = 0;

  void put(std::string_view part) noexcept {
    for (const char c : part) text_[size_++] = c;
  }

 public:
  explicit allow_text(wire::method_set set) noexcept {
    set.add(method::options);
    for (std::size_t i = 0; i < wire::method_count; ++i) {
      const auto m = static_cast<method>(i);
      if (m == method::other || !set.contains(m)) continue;
      if (size_ != 0) put(", ");
      put(to_string(m));
    }
  }
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }
};

}  // namespace

void dispatcher::on_request(exchange& x) noexcept {
  x.filter = this;
  for (request_filter* const f : of_.before)
    if (!f->on_request(x)) return;
  // RFC 9220 3
  if (const std::string_view p = x.request().protocol;
      !p.empty() && std::find(of_.protocols.begin(), of_.protocols.end(), p) == of_.protocols.end()) {
    if (x.request().has_body) x.refuse_body();
    static_cast<void>(x.respond({status_code::not_implemented, {}}, body{}));
    return;
  }
  const route_match match = of_.routes->match(x.request().method, x.request().path);
  if (match.result != route_match::outcome::found || match.handler >= of_.handlers.size()) return answer(x, match);
  x.handler = of_.handlers[match.handler];
  x.route = &match;
  x.handler->on_request(x);
  // `x` may be gone: a handler may abort.
}

void dispatcher::answer(exchange& x, const route_match& match) noexcept {
  const method m = x.request().method;
  const bool is_known = match.result == route_match::outcome::no_method;
  const allow_text allow{match.allowed};
  const field fields[] = {{"allow", allow.view()}};
  response_head head{status_code::not_found, {}};
  if (m == method::options && (is_known || x.request().target == "*"))
    head.status = status_code::no_content;
  else if (m == method::other)
    head.status = status_code::not_implemented;
  else if (is_known)
    head.status = status_code::method_not_allowed;
  if (is_known) head.fields = fields;  // RFC 9110 10.2.1
  if (x.request().has_body) x.refuse_body();
  static_cast<void>(x.respond(head, body{}));  // false: aborted, and told by on_end()
}

void dispatcher::on_response(exchange& x, response_head& head, extra_fields& extra) noexcept {
  for (response_filter* const f : of_.after) f->on_response(x, head, extra);
  const auto add = [&](std::string_view name, std::string_view value) noexcept {
    if (value.empty() || find(head.fields, name) || find(extra.view(), name)) return;
    static_cast<void>(extra.push_back({name, value}));  // filters that left no room have decided
  };
  add("date", date_);  // RFC 9110 6.6.1
  add("server", of_.server);
}

}  // namespace millrace::http
