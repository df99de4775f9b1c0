// base/ip_address.hpp - addresses and endpoints of both IP versions, as values that hash and print.
//
// Shape    16 bytes in network order and a family; an IPv4 address lies in the first 4 bytes, the rest is zero, so
//          that equality is a comparison of all bytes.
// Text     format_to writes RFC 5952 form; an endpoint is "ADDR:PORT" or "[ADDR6]:PORT".
// Errors   parse answers nullopt on anything inet_pton refuses.
// Source   RFC 4291 2.2, RFC 5952. Tests  test/base/ip_address_test.cpp
#pragma once

#include <array>
#include <compare>
#include <optional>

#include "base/bytes.hpp"

namespace millrace::base {

enum class ip_family : std::uint8_t { none, v4, v6 };

struct ip_address {
  std::array<std::uint8_t, 16> octets{};  // network order
  ip_family family = ip_family::none;

  static constexpr std::size_t max_text_size = 46;

  [[nodiscard]] static ip_address v4(byte_view four) noexcept;     // reads exactly 4 bytes
  [[nodiscard]] static ip_address v6(byte_view sixteen) noexcept;  // reads exactly 16 bytes
  [[nodiscard]] static std::optional<ip_address> parse(std::string_view text) noexcept;

  [[nodiscard]] byte_view bytes() const noexcept {
    return {octets.data(), family == ip_family::v4 ? 4u : family == ip_family::v6 ? 16u : 0u};
  }
  // Writes at most max_text_size characters into `out`; answers how many.
  std::size_t format_to(std::span<char> out) const noexcept;

  friend constexpr auto operator<=>(const ip_address&, const ip_address&) noexcept = default;
};

struct endpoint {
  ip_address address;
  std::uint16_t port = 0;  // host order

  static constexpr std::size_t max_text_size = ip_address::max_text_size + 8;

  std::size_t format_to(std::span<char> out) const noexcept;

  friend constexpr auto operator<=>(const endpoint&, const endpoint&) noexcept = default;
};

}  // namespace millrace::base
