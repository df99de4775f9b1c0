// net/wire/address.hpp - what kinds of address there are, and what follows from an address: masks, groups, MACs.
//
// Shape    questions about one address of either family (false for family none), and the few derived addresses.
// Owner    nothing. Errors  none.
// Source   RFC 1122 3.2.1.3, RFC 1112 6.4, RFC 2464 7, RFC 4291 2, RFC 6890. Tests  test/net/tables_test.cpp
#pragma once

#include "base/endian.hpp"
#include "base/ip_address.hpp"
#include "net/wire/headers.hpp"

namespace millrace::net::wire {

inline constexpr mac_address broadcast_mac{{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}};

// Group bit of IEEE 802.3 3.2.3: broadcast and multicast.
[[nodiscard]] constexpr bool is_group(const mac_address& mac) noexcept { return (mac.octets[0] & 1) != 0; }
[[nodiscard]] constexpr bool is_zero(const mac_address& mac) noexcept { return mac == mac_address{}; }

// Host order.
[[nodiscard]] inline std::uint32_t to_u32(const base::ip_address& v4) noexcept {
  return base::load_be32(v4.octets.data());
}
[[nodiscard]] base::ip_address from_u32(std::uint32_t v4) noexcept;

[[nodiscard]] inline bool is_unspecified(const base::ip_address& a) noexcept {
  return base::load_le64(a.octets.data()) == 0 && base::load_le64(a.octets.data() + 8) == 0;
}
[[nodiscard]] inline bool is_multicast(const base::ip_address& a) noexcept {
  return a.family == base::ip_family::v4 ? (a.octets[0] & 0xF0) == 0xE0
                                         : a.family == base::ip_family::v6 && a.octets[0] == 0xFF;
}
[[nodiscard]] inline bool is_limited_broadcast(const base::ip_address& a) noexcept {
  return a.family == base::ip_family::v4 && base::load_le32(a.octets.data()) == 0xFFFF'FFFF;
}
// fe80::/10 and 169.254.0.0/16.
[[nodiscard]] inline bool is_link_local(const base::ip_address& a) noexcept {
  if (a.family == base::ip_family::v4) return a.octets[0] == 169 && a.octets[1] == 254;
  return a.family == base::ip_family::v6 && a.octets[0] == 0xFE && (a.octets[1] & 0xC0) == 0x80;
}

// Never the source of a packet on a wire: "this network", loopback, groups, class E with the limited broadcast; in IPv6
// the unspecified address (neighbour discovery excepts itself), loopback, groups, and IPv4 addresses in IPv6's dress.
[[nodiscard]] bool is_martian_source(const base::ip_address& a) noexcept;
// Never a destination on a wire: "this network" and loopback, in IPv6 also IPv4-mapped.
[[nodiscard]] bool is_martian_destination(const base::ip_address& a) noexcept;
// An address a host, a gateway or a neighbour can have.
[[nodiscard]] bool is_host_address(const base::ip_address& a) noexcept;

// Same family, and the first `length` bits equal. A length beyond the family's is that of the whole address.
[[nodiscard]] bool is_in_prefix(const base::ip_address& a, const base::ip_address& prefix, unsigned length) noexcept;
// All bits behind the first `length` zero, or all one.
[[nodiscard]] base::ip_address first_of_prefix(const base::ip_address& a, unsigned length) noexcept;
[[nodiscard]] base::ip_address last_of_prefix(const base::ip_address& a, unsigned length) noexcept;
[[nodiscard]] constexpr unsigned address_bits(base::ip_family family) noexcept {
  return family == base::ip_family::v4 ? 32 : family == base::ip_family::v6 ? 128 : 0;
}

[[nodiscard]] base::ip_address all_nodes() noexcept;                                 // ff02::1, RFC 4291 2.7.1
[[nodiscard]] base::ip_address all_mldv2_routers() noexcept;                         // ff02::16, RFC 3810 5.2.14
[[nodiscard]] base::ip_address solicited_node(const base::ip_address& v6) noexcept;  // ff02::1:ffXX:XXXX
[[nodiscard]] base::ip_address link_local_of(const mac_address& mac) noexcept;       // RFC 2464 4, 5
[[nodiscard]] mac_address multicast_mac(const base::ip_address& group) noexcept;     // of a multicast address

}  // namespace millrace::net::wire
