#include "net/wire/address.hpp"

#include <algorithm>

namespace millrace::net::wire {
namespace {

using base::ip_address;
using base::ip_family;

// ::ffff:0:0/96, RFC 4291 2.5.5.2: RFC 6890 2.2.3 keeps it off the wire.
[[nodiscard]] bool is_v4_mapped(const ip_address& a) noexcept {
  return base::load_le64(a.octets.data()) == 0 && base::load_be32(a.octets.data() + 8) == 0xFFFF;
}
[[nodiscard]] bool is_v6_loopback(const ip_address& a) noexcept {
  return base::load_be64(a.octets.data()) == 0 && base::load_be64(a.octets.data() + 8) == 1;
}

// The bits of byte `i` that belong to a prefix of `length` bits.
[[nodiscard]] std::uint8_t mask_at(std::size_t i, unsigned length) noexcept {
  const unsigned before = static_cast<unsigned>(i) * 8;
  if (length <= before) return 0;
  return length - before >= 8 ? 0xFF : static_cast<std::uint8_t>(0xFF00 >> (length - before));
}

}  // namespace

ip_address from_u32(std::uint32_t v4) noexcept {
  ip_address a;
  base::store_be32(a.octets.data(), v4);
  a.family = ip_family::v4;
  return a;
}

// RFC 1122 3.2.1.3 a to g; RFC 4291 2.5.2, 2.5.3, 2.7.
bool is_martian_source(const ip_address& a) noexcept {
  if (a.family == ip_family::v4) return a.octets[0] == 0 || a.octets[0] == 127 || a.octets[0] >= 224;
  if (a.family != ip_family::v6) return true;
  return is_multicast(a) || is_unspecified(a) || is_v6_loopback(a) || is_v4_mapped(a);
}

bool is_martian_destination(const ip_address& a) noexcept {
  if (a.family == ip_family::v4) return a.octets[0] == 0 || a.octets[0] == 127;
  if (a.family != ip_family::v6) return true;
  return is_unspecified(a) || is_v6_loopback(a) || is_v4_mapped(a);
}

bool is_host_address(const ip_address& a) noexcept { return !is_martian_source(a); }

bool is_in_prefix(const ip_address& a, const ip_address& prefix, unsigned length) noexcept {
  if (a.family != prefix.family || a.family == ip_family::none) return false;
  const unsigned bits = std::min(length, address_bits(a.family));
  for (std::size_t i = 0; i * 8 < bits; ++i)
    if (((a.octets[i] ^ prefix.octets[i]) & mask_at(i, bits)) != 0) return false;
  return true;
}

ip_address first_of_prefix(const ip_address& a, unsigned length) noexcept {
  ip_address out = a;
  for (std::size_t i = 0; i < address_bits(a.family) / 8; ++i) out.octets[i] &= mask_at(i, length);
  return out;
}

ip_address last_of_prefix(const ip_address& a, unsigned length) noexcept {
  ip_address out = a;
  for (std::size_t i = 0; i < address_bits(a.family) / 8; ++i)
    out.octets[i] = static_cast<std::uint8_t>(out.octets[i] | (0xFF ^ mask_at(i, length)));
  return out;
}

ip_address all_nodes() noexcept { return {{0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, ip_family::v6}; }

ip_address all_mldv2_routers() noexcept {
  return {{0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x16}, ip_family::v6};
}

ip_address solicited_node(const ip_address& v6) noexcept {  // RFC 4291 2.7.1
  return {{0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF, v6.octets[13], v6.octets[14], v6.octets[15]}, ip_family::v6};
}

ip_address link_local_of(const mac_address& mac) noexcept {
  const auto& m = mac.octets;
  return {{0xFE, 0x80, 0, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(m[0] ^ 2), m[1], m[2], 0xFF, 0xFE, m[3], m[4], m[5]},
          ip_family::v6};
}

mac_address multicast_mac(const ip_address& group) noexcept {
  const auto& o = group.octets;
  if (group.family == ip_family::v4)  // RFC 1112 6.4: the low 23 bits
    return {{0x01, 0x00, 0x5E, static_cast<std::uint8_t>(o[1] & 0x7F), o[2], o[3]}};
  return {{0x33, 0x33, o[12], o[13], o[14], o[15]}};  // RFC 2464 7
}

}  // namespace millrace::net::wire
