// net/host_config.hpp - what a host is told at start: who it is on its link, and the ways out.
//
// Shape    plain data. One host is one interface: one port, one VLAN or none. A port with two VLANs has two hosts.
// Limits   max_addresses addresses, max_routes routes, max_static_neighbours neighbours.
// Errors   check(): the first thing that cannot work, as the operator would name it.
// Tests    test/net/tables_test.cpp
#pragma once

#include <optional>
#include <vector>

#include "base/result.hpp"
#include "net/limits.hpp"
#include "net/wire/address.hpp"

namespace millrace::net {

inline constexpr std::size_t max_addresses = 16;
inline constexpr std::size_t max_routes = 64;
inline constexpr std::size_t max_static_neighbours = 64;

struct host_address {
  base::ip_address address;
  std::uint8_t prefix_length = 0;
};

struct host_route {
  base::ip_address prefix;  // 0.0.0.0 or :: with length 0: the default
  std::uint8_t prefix_length = 0;
  base::ip_address gateway;  // family none: the prefix is on the link
};

struct static_neighbour {
  base::ip_address address;
  wire::mac_address mac;
};

// What the port does for us; without it the host does it itself.
struct checksum_offload {
  bool tx_ipv4 = false;  // the IPv4 header's field is left zero
  bool tx_udp = false;   // UDP's field holds the pseudo-header's sum, as DPDK wants it
  // With tx_udp: nobody puts it in. The port is a ring in this machine's memory, and who takes the packet from it is
  // told that its data are sound: what virtio does between guests, and a kernel on its loopback.
  bool in_memory = false;
};

struct host_config {
  wire::mac_address mac;
  std::optional<std::uint16_t> vlan;  // 1 to 4094; none: untagged
  std::uint16_t mtu = 1500;           // of IP packets on this link
  std::vector<host_address> addresses;
  std::vector<host_route> routes;  // beyond the prefixes of the addresses, which are routes by themselves
  std::vector<static_neighbour> neighbours;
  bool link_local = true;          // with any IPv6 address: one of RFC 4862 5.3 beside it
  std::uint8_t dad_transmits = 1;  // RFC 4862 5.1; 0: addresses are ours at once
  bool announce = true;            // gratuitous ARP and unsolicited advertisements at start
  bool accept_broadcast = false;   // deliver UDP that came to a broadcast address or to all nodes
  checksum_offload offload;
  // Hosts that share one interface, one an lcore: this one's number and how many there are. Identifiers of fragments
  // are then apart, and what one learns is passed on (host::poll_news).
  std::uint16_t instance = 0;
  std::uint16_t instances = 1;
  std::uint64_t seed = 0;  // secret, from crypto/random, the same for all instances: hashes and flow labels
  host_limits limits;
};

[[nodiscard]] base::outcome check(const host_config& config);

}  // namespace millrace::net
