// http/wire/target.hpp - the request target: path and query, and the path as a server may look it up.
//
// Shape    split_target() cuts; normalize_path() decodes what is percent-encoded, resolves "." and "..", and makes one
//          slash of several, so that one resource has one name. A path that needs none of it is answered as it came.
// Owner    a normalised path lies in `scratch`, or is the input itself: it lives as long as the shorter of the two.
// Why      whoever decides by the path (a rule, a folder on disk) must see what is served. So decoding happens once
//          and before anything is compared; NUL and control characters are refused, and a path cannot leave its root.
// Limits   the path has at most as many bytes as `scratch`.
// Source   RFC 9110 4.2 7.1, RFC 3986 2.1 5.2.4, RFC 9114 4.3.1. Tests  test/http/wire/target_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace millrace::http::wire {

enum class path_errc : std::uint8_t {
  ok,
  not_absolute,   // does not begin with a slash
  bad_character,  // a control character, a space, `#` or a backslash, as it came or decoded
  bad_escape,     // % without two hex digits
  above_root,     // ".." beyond the first slash
  too_long,       // does not fit into the scratch memory
};

struct split_path {
  std::string_view path;
  std::string_view query;  // without the question mark
  bool has_query = false;
};
[[nodiscard]] split_path split_target(std::string_view target) noexcept;

struct normal_path {
  path_errc code = path_errc::ok;
  std::string_view path{};  // when ok; begins with a slash
};
[[nodiscard]] normal_path normalize_path(std::string_view path, std::span<char> scratch) noexcept;

// Takes the next `name=value` off a query, neither decoded. False when none is left. Empty parts are passed over.
struct query_part {
  std::string_view name;
  std::string_view value;
};
[[nodiscard]] bool next_query_part(std::string_view& query, query_part& out) noexcept;

}  // namespace millrace::http::wire
