// net/wire/numbers.hpp - the assigned numbers that headers name each other by.
//
// Shape    constants in host order, one namespace a registry.
// Source   IANA "IEEE 802 Numbers", "Protocol Numbers", "Service Name and Transport Protocol Port Number Registry".
#pragma once

#include <cstdint>

namespace millrace::net::wire {

namespace ethertype {
inline constexpr std::uint16_t lowest = 0x0600;  // IEEE 802.3 3.2.6: below are lengths
inline constexpr std::uint16_t ipv4 = 0x0800;
inline constexpr std::uint16_t arp = 0x0806;
inline constexpr std::uint16_t bridged_ethernet = 0x6558;  // "transparent Ethernet bridging", in tunnels
inline constexpr std::uint16_t vlan = 0x8100;              // IEEE 802.1Q, customer tag
inline constexpr std::uint16_t ipv6 = 0x86DD;
inline constexpr std::uint16_t mpls = 0x8847;
inline constexpr std::uint16_t mpls_multicast = 0x8848;
inline constexpr std::uint16_t pppoe_discovery = 0x8863;
inline constexpr std::uint16_t pppoe_session = 0x8864;
inline constexpr std::uint16_t qinq = 0x88A8;      // IEEE 802.1ad, service tag
inline constexpr std::uint16_t qinq_old = 0x9100;  // what vendors used before 802.1ad
}  // namespace ethertype

namespace ip_protocol {
inline constexpr std::uint8_t hop_by_hop = 0;
inline constexpr std::uint8_t icmp = 1;
inline constexpr std::uint8_t igmp = 2;
inline constexpr std::uint8_t ipv4 = 4;
inline constexpr std::uint8_t tcp = 6;
inline constexpr std::uint8_t udp = 17;
inline constexpr std::uint8_t ipv6 = 41;
inline constexpr std::uint8_t routing = 43;
inline constexpr std::uint8_t fragment = 44;
inline constexpr std::uint8_t gre = 47;
inline constexpr std::uint8_t ah = 51;
inline constexpr std::uint8_t icmpv6 = 58;
inline constexpr std::uint8_t no_next_header = 59;
inline constexpr std::uint8_t destination_options = 60;
inline constexpr std::uint8_t mobility = 135;
inline constexpr std::uint8_t hip = 139;
inline constexpr std::uint8_t shim6 = 140;
}  // namespace ip_protocol

namespace udp_port {
inline constexpr std::uint16_t gtpu = 2152;         // 3GPP TS 29.281 4.4.2
inline constexpr std::uint16_t vxlan = 4789;        // RFC 7348 5
inline constexpr std::uint16_t geneve = 6081;       // RFC 8926 3.3
inline constexpr std::uint16_t vxlan_linux = 8472;  // Linux' default, older than the assignment
}  // namespace udp_port

}  // namespace millrace::net::wire
