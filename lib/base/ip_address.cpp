#include "base/ip_address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace millrace::base {

ip_address ip_address::v4(byte_view four) noexcept {
  ip_address out;
  std::memcpy(out.octets.data(), four.data(), 4);
  out.family = ip_family::v4;
  return out;
}

ip_address ip_address::v6(byte_view sixteen) noexcept {
  ip_address out;
  std::memcpy(out.octets.data(), sixteen.data(), 16);
  out.family = ip_family::v6;
  return out;
}

std::optional<ip_address> ip_address::parse(std::string_view text) noexcept {
  std::array<char, max_text_size> copy{};  // inet_pton wants a terminator
  if (text.size() >= copy.size()) return std::nullopt;
  std::copy(text.begin(), text.end(), copy.begin());
  ip_address out;
  if (::inet_pton(AF_INET, copy.data(), out.octets.data()) == 1) {
    out.family = ip_family::v4;
    return out;
  }
  if (::inet_pton(AF_INET6, copy.data(), out.octets.data()) == 1) {
    out.family = ip_family::v6;
    return out;
  }
  return std::nullopt;
}

std::size_t ip_address::format_to(std::span<char> out) const noexcept {
  std::array<char, max_text_size> text{};
  if (family == ip_family::none ||
      ::inet_ntop(family == ip_family::v4 ? AF_INET : AF_INET6, octets.data(), text.data(), text.size()) == nullptr)
    text[0] = '-', text[1] = '\0';
  const std::size_t size = std::strlen(text.data());
  if (size > out.size()) return 0;
  std::copy_n(text.data(), size, out.data());
  return size;
}

std::size_t endpoint::format_to(std::span<char> out) const noexcept {
  std::array<char, max_text_size> text{};
  std::size_t size = 0;
  const bool brackets = address.family == ip_family::v6;
  if (brackets) text[size++] = '[';
  size += address.format_to(std::span<char>(text).subspan(size));
  if (brackets) text[size++] = ']';
  text[size++] = ':';
  size = static_cast<std::size_t>(std::to_chars(text.data() + size, text.data() + text.size(), port).ptr - text.data());
  if (size > out.size()) return 0;
  std::copy_n(text.data(), size, out.data());
  return size;
}

}  // namespace millrace::base
