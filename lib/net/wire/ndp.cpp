#include "net/wire/ndp.hpp"

#include "base/byte_reader.hpp"

namespace millrace::net::wire {
namespace {

using base::parse_errc;

constexpr std::uint8_t option_source_mac = 1;
constexpr std::uint8_t option_target_mac = 2;
constexpr std::size_t fixed_size = 24;  // header word, flags word, target

[[nodiscard]] bool take_mac(base::byte_view option, bool& has, mac_address& mac) noexcept {
  if (option.size() != 8) return false;  // RFC 2464 6
  std::memcpy(mac.octets.data(), option.data() + 2, 6);
  has = true;
  return !is_group(mac) && !is_zero(mac);
}

}  // namespace

base::parse_status parse(base::byte_view message, neighbour_message& out) noexcept {
  if (message.size() < fixed_size) return {parse_errc::truncated, static_cast<std::uint32_t>(message.size())};
  const std::uint8_t type = message[0];
  if (type != icmp6::neighbour_solicitation && type != icmp6::neighbour_advertisement)
    return {parse_errc::bad_value, 0};
  if (message[1] != 0) return {parse_errc::bad_value, 1};  // RFC 4861 7.1.1, 7.1.2
  neighbour_message found;
  if (type == icmp6::neighbour_advertisement) found.flags = base::load_be32(message.data() + 4);
  found.target = base::ip_address::v6(message.subspan(8, 16));
  if (is_multicast(found.target)) return {parse_errc::bad_value, 8};

  std::size_t at = fixed_size;
  for (std::size_t count = 0; at < message.size(); ++count) {
    const auto where = static_cast<std::uint32_t>(at);
    if (count == max_ndp_options) return {parse_errc::too_many, where};
    if (message.size() - at < 2) return {parse_errc::truncated, where};
    const std::size_t size = message[at + 1] * std::size_t{8};  // RFC 4861 4.6: eights of bytes, never 0
    if (size == 0 || size > message.size() - at) return {parse_errc::bad_length, where};
    const base::byte_view option = message.subspan(at, size);
    if (option[0] == option_source_mac && !take_mac(option, found.has_source_mac, found.source_mac))
      return {parse_errc::bad_value, where};
    if (option[0] == option_target_mac && !take_mac(option, found.has_target_mac, found.target_mac))
      return {parse_errc::bad_value, where};
    at += size;
  }
  out = found;
  return {};
}

bool emit_body(const neighbour_message& message, base::byte_writer& out) noexcept {
  const std::size_t options = (message.has_source_mac ? 1u : 0u) + (message.has_target_mac ? 1u : 0u);
  base::byte_span room;
  if (message.target.family != base::ip_family::v6 || !out.reserve(16 + options * 8, room)) return false;
  std::memcpy(room.data(), message.target.octets.data(), 16);
  std::uint8_t* p = room.data() + 16;
  const auto put = [&p](std::uint8_t kind, const mac_address& mac) {
    p[0] = kind;
    p[1] = 1;
    std::memcpy(p + 2, mac.octets.data(), 6);
    p += 8;
  };
  if (message.has_source_mac) put(option_source_mac, message.source_mac);
  if (message.has_target_mac) put(option_target_mac, message.target_mac);
  return true;
}

}  // namespace millrace::net::wire
