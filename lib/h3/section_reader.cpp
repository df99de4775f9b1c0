// Pseudo-header fields are stored like others, in front of them; an index says where each lies, because the store may
// move until the last field is in.
#include "h3/section_reader.hpp"

#include <utility>

#include "http/wire/field.hpp"
#include "http/wire/target.hpp"

namespace millrace::h3 {

using http::wire::method;

namespace {

// RFC 3986 3.2: what a host and a port are made of; no user information (RFC 9114 4.3.1).
constexpr std::array<bool, 256> authority_characters = [] {
  std::array<bool, 256> out{};
  for (unsigned c = 0; c < 256; ++c) {
    const bool alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    out[c] = alnum || std::string_view("-._~!$&'()*+,;=:[]%").find(static_cast<char>(c)) != std::string_view::npos;
  }
  return out;
}();

bool is_authority(std::string_view text) noexcept {
  bool good = !text.empty();
  for (const char c : text) good &= authority_characters[static_cast<std::uint8_t>(c)];
  return good;
}

bool is_scheme(std::string_view text) noexcept {  // RFC 3986 3.1
  const auto alpha = [](char c) noexcept { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  if (text.empty() || !alpha(text.front())) return false;
  for (const char c : text)
    if (!alpha(c) && !(c >= '0' && c <= '9') && c != '+' && c != '-' && c != '.') return false;
  return true;
}

// Neither white space nor control characters nor a fragment: what would end a path elsewhere.
bool is_path_text(std::string_view text) noexcept {
  for (const char c : text) {
    const auto b = static_cast<std::uint8_t>(c);
    if (b <= 0x20 || b == 0x7f || b == '#') return false;
  }
  return !text.empty();
}

bool is_web(std::string_view scheme) noexcept { return scheme == "https" || scheme == "http"; }

}  // namespace

section_errc section_reader::on_field(std::string_view name, std::string_view value) noexcept {
  size_ += name.size() + value.size() + sizeof(http::field);
  if (size_ > rules_.limit_bytes) return section_errc::too_large;
  const bool is_pseudo = name.starts_with(':');
  const section_errc e = is_pseudo ? on_pseudo(name, value) : judge_regular(name, value);
  if (e != section_errc::ok) return e;
  return to_.add(name, value) ? section_errc::ok : section_errc::no_memory;
}

section_errc section_reader::on_pseudo(std::string_view name, std::string_view value) noexcept {
  if (kind_ == section_kind::trailers || first_regular_ != none) return section_errc::pseudo_late;
  unsigned which = pseudo_count;
  if (kind_ == section_kind::response) {
    if (name == ":status") which = status_;
  } else if (name == ":method") {
    which = method_;
  } else if (name == ":scheme") {
    which = scheme_;
  } else if (name == ":path") {
    which = path_;
  } else if (name == ":authority") {
    which = authority_;
  } else if (name == ":protocol") {
    which = protocol_;
  }
  if (which == pseudo_count) return section_errc::pseudo_unknown;
  if (has(which)) return section_errc::pseudo_twice;
  if (!http::wire::is_field_value(value)) return section_errc::bad_value;
  pseudo_[which] = to_.size();
  return section_errc::ok;
}

section_errc section_reader::judge_regular(std::string_view name, std::string_view value) noexcept {
  if (!http::wire::is_lower_token(name)) return section_errc::bad_name;
  if (!http::wire::is_field_value(value)) return section_errc::bad_value;
  if (http::wire::is_connection_specific(name, value)) return section_errc::connection_specific;
  const std::uint32_t at = to_.size();
  if (first_regular_ == none) first_regular_ = at;
  switch (name.size()) {
    case 4:
      if (name != "host") break;
      if (host_ != none) return section_errc::host_differs;
      host_ = at;
      break;
    case 6:
      cookies_ += name == "cookie";
      break;
    case 8:
      if (name == "priority") priority_ = at;
      break;
    case 14:
      if (name != "content-length") break;
      if (std::exchange(has_content_length_, true) || !http::wire::parse_decimal(value, content_length_))
        return section_errc::bad_content_length;
      break;
    default:
      break;
  }
  return section_errc::ok;
}

section_errc section_reader::judge_request() const noexcept {
  if (!has(method_)) return section_errc::pseudo_missing;
  const std::string_view name = value_of(pseudo_[method_]);
  if (!http::wire::is_token(name)) return section_errc::bad_method;
  const method m = http::wire::parse_method(name);
  const std::string_view host = value_of(host_);
  const bool is_connect = m == method::connect;
  if (has(protocol_)) {  // RFC 9220 3, RFC 8441 4: an extended CONNECT has all the others, too
    if (!is_connect || !rules_.extended_connect || !http::wire::is_token(value_of(pseudo_[protocol_])))
      return section_errc::bad_protocol;
  } else if (is_connect) {  // RFC 9114 4.4
    if (has(scheme_) || has(path_)) return section_errc::pseudo_forbidden;
    if (!has(authority_)) return section_errc::pseudo_missing;
    return is_authority(value_of(pseudo_[authority_])) ? section_errc::ok : section_errc::bad_authority;
  }
  if (!has(scheme_) || !has(path_)) return section_errc::pseudo_missing;
  const std::string_view scheme = value_of(pseudo_[scheme_]);
  if (!is_scheme(scheme)) return section_errc::bad_scheme;
  if (has(authority_) || host_ != none || is_web(scheme)) {
    if (!has(authority_) && host_ == none) return section_errc::pseudo_missing;
    const std::string_view authority = has(authority_) ? value_of(pseudo_[authority_]) : host;
    if (!is_authority(authority)) return section_errc::bad_authority;
    if (has(authority_) && host_ != none && host != authority) return section_errc::host_differs;
  }
  const std::string_view path = value_of(pseudo_[path_]);
  if (!is_path_text(path)) return section_errc::bad_path;
  if (is_web(scheme) && path.front() != '/' && !(path == "*" && m == method::options)) return section_errc::bad_path;
  return section_errc::ok;
}

// RFC 9114 4.2.1: the crumbs of a cookie are one field again, where the first one was.
bool section_reader::join_cookies() noexcept {
  const auto is_cookie = [](const http::field& f) noexcept { return f.name == "cookie"; };
  std::size_t whole = 2 * (std::size_t{cookies_} - 1);
  for (const http::field& f : to_.fields()) whole += is_cookie(f) ? f.value.size() : 0;
  char* const room = to_.text(whole);
  if (room == nullptr) return false;
  char* at = room;
  http::field* first = nullptr;
  std::uint32_t kept = 0;
  const std::span<http::field> all = to_.fields();
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (is_cookie(all[i])) {
      if (first != nullptr) {
        std::memcpy(at, "; ", 2);
        at += 2;
      }
      if (!all[i].value.empty()) std::memcpy(at, all[i].value.data(), all[i].value.size());
      at += all[i].value.size();
      if (first != nullptr) continue;
      first = &all[kept];
    }
    if (host_ == i) host_ = kept;
    if (priority_ == i) priority_ = kept;
    all[kept++] = all[i];
  }
  first->value = {room, whole};
  to_.keep(kept);
  return true;
}

section_errc section_reader::finish_request(http::request_head& out) noexcept {
  if (const section_errc e = judge_request(); e != section_errc::ok) return e;
  if (cookies_ > 1 && !join_cookies()) return section_errc::no_memory;
  // The last that may move the store: room for the path as it is looked up.
  const std::string_view target = value_of(pseudo_[path_]);
  const http::wire::split_path cut = http::wire::split_target(target);
  http::wire::normal_path path{};
  if (cut.path.starts_with('/')) {
    path = http::wire::normalize_path(cut.path, {});
    if (path.code == http::wire::path_errc::too_long) {
      char* const room = to_.text(cut.path.size());
      if (room == nullptr) return section_errc::no_memory;
      const std::string_view moved = value_of(pseudo_[path_]).substr(0, cut.path.size());
      path = http::wire::normalize_path(moved, {room, moved.size()});
    }
    if (path.code != http::wire::path_errc::ok) return section_errc::bad_target;
  } else if (has(path_)) {
    path.path = {};  // OPTIONS *, or a scheme of somebody else's
  }
  out.method_name = value_of(pseudo_[method_]);
  out.method = http::wire::parse_method(out.method_name);
  out.scheme = value_of(pseudo_[scheme_]);
  out.authority = has(authority_) ? value_of(pseudo_[authority_]) : value_of(host_);
  out.target = value_of(pseudo_[path_]);
  out.path = path.path;
  out.query = cut.has_query ? out.target.substr(cut.path.size() + 1) : std::string_view{};
  out.protocol = value_of(pseudo_[protocol_]);
  out.fields = regular();
  if (has_content_length_) out.content_length = content_length_;
  return section_errc::ok;
}

section_errc section_reader::finish_response(response_fields& out) noexcept {
  if (!has(status_)) return section_errc::pseudo_missing;
  out.status = http::wire::parse_status_code(value_of(pseudo_[status_]));
  if (out.status == 0 || out.status == 101) return section_errc::bad_status;  // RFC 9114 4.3.2, 4.5
  out.fields = regular();
  if (has_content_length_) out.content_length = content_length_;
  return section_errc::ok;
}

section_errc section_reader::finish_trailers(std::span<const http::field>& out) noexcept {
  out = regular();
  return section_errc::ok;
}

}  // namespace millrace::h3
