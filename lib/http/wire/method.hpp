// http/wire/method.hpp - request methods, compared by size and word.
//
// Shape    names are case-sensitive: `get` is another method than `GET`. One that is not ours is `other`: whoever
//          answers it says 501, or 405 where the resource is known.
// Errors   is_method() tells a name that cannot be one (RFC 9110 5.6.2) from one that is merely unknown.
// Source   RFC 9110 9.1 9.3, RFC 5789 2, RFC 9220 3. Tests  test/http/wire/method_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace millrace::http::wire {

enum class method : std::uint8_t { get, head, post, put, delete_, connect, options, trace, patch, other };
inline constexpr std::size_t method_count = 10;

inline constexpr std::array<std::string_view, method_count> method_names = {
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", ""};

// Empty for `other`.
[[nodiscard]] constexpr std::string_view to_string(method m) noexcept {
  return method_names[static_cast<std::size_t>(m)];
}

[[nodiscard]] constexpr method parse_method(std::string_view name) noexcept {
  const auto either = [name](method a, method b) noexcept {
    if (name == to_string(a)) return a;
    return name == to_string(b) ? b : method::other;
  };
  switch (name.size()) {
    case 3:
      return either(method::get, method::put);
    case 4:
      return either(method::head, method::post);
    case 5:
      return either(method::trace, method::patch);
    case 6:
      return either(method::delete_, method::delete_);
    case 7:
      return either(method::options, method::connect);
    default:
      return method::other;
  }
}

// RFC 9110 9.2.1 9.2.2.
[[nodiscard]] constexpr bool is_safe(method m) noexcept {
  return m == method::get || m == method::head || m == method::options || m == method::trace;
}
[[nodiscard]] constexpr bool is_idempotent(method m) noexcept {
  return is_safe(m) || m == method::put || m == method::delete_;
}

// A set of methods, for the Allow field (RFC 9110 10.2.1).
class method_set {
  std::uint16_t bits_ = 0;

 public:
  constexpr void add(method m) noexcept { bits_ = static_cast<std::uint16_t>(bits_ | 1u << static_cast<unsigned>(m)); }
  [[nodiscard]] constexpr bool contains(method m) const noexcept {
    return (bits_ >> static_cast<unsigned>(m) & 1u) != 0;
  }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  friend constexpr bool operator==(method_set, method_set) noexcept = default;
};

}  // namespace millrace::http::wire
