#include "net/wire/arp.hpp"

#include "base/byte_reader.hpp"

namespace millrace::net::wire {
namespace {

using base::parse_errc;

constexpr std::uint16_t hardware_ethernet = 1;

void copy_mac(mac_address& out, base::byte_view six) noexcept { std::memcpy(out.octets.data(), six.data(), 6); }

}  // namespace

base::parse_status parse(base::byte_view in, arp_packet& out) noexcept {
  if (in.size() < arp_packet::encoded_size) return {parse_errc::truncated, static_cast<std::uint32_t>(in.size())};
  const std::uint8_t* const p = in.data();
  // RFC 826, packet reception: hardware, protocol, then the lengths, which are optional to check.
  if (base::load_be16(p) != hardware_ethernet) return {parse_errc::unsupported, 0};
  if (base::load_be16(p + 2) != ethertype::ipv4) return {parse_errc::unsupported, 2};
  if (p[4] != 6 || p[5] != 4) return {parse_errc::bad_length, 4};
  const std::uint16_t operation = base::load_be16(p + 6);
  if (operation != 1 && operation != 2) return {parse_errc::unsupported, 6};
  arp_packet packet;
  packet.operation = static_cast<arp_operation>(operation);
  copy_mac(packet.sender_mac, in.subspan(8, 6));
  packet.sender = base::ip_address::v4(in.subspan(14, 4));
  copy_mac(packet.target_mac, in.subspan(18, 6));
  packet.target = base::ip_address::v4(in.subspan(24, 4));
  if (is_group(packet.sender_mac) || is_zero(packet.sender_mac)) return {parse_errc::bad_value, 8};
  out = packet;
  return {};
}

bool emit(const arp_packet& packet, base::byte_writer& out) noexcept {
  base::byte_span room;
  if (packet.sender.family != base::ip_family::v4 || packet.target.family != base::ip_family::v4 ||
      !out.reserve(arp_packet::encoded_size, room))
    return false;
  std::uint8_t* const p = room.data();
  base::store_be16(p, hardware_ethernet);
  base::store_be16(p + 2, ethertype::ipv4);
  p[4] = 6;
  p[5] = 4;
  base::store_be16(p + 6, static_cast<std::uint16_t>(packet.operation));
  std::memcpy(p + 8, packet.sender_mac.octets.data(), 6);
  std::memcpy(p + 14, packet.sender.octets.data(), 4);
  std::memcpy(p + 18, packet.target_mac.octets.data(), 6);
  std::memcpy(p + 24, packet.target.octets.data(), 4);
  return true;
}

}  // namespace millrace::net::wire
