#include "net/host_config.hpp"

#include <string>

namespace millrace::net {
namespace {

using base::ip_address;
using base::ip_family;

[[nodiscard]] std::string text(const ip_address& a) {
  std::string out(ip_address::max_text_size, '\0');
  out.resize(a.format_to(out));
  return out;
}

[[nodiscard]] base::failure refused(std::string what) {
  return {.what = std::move(what), .hint = {}, .unusable = true};
}

[[nodiscard]] base::outcome check_addresses(const host_config& c) {
  if (c.addresses.size() > max_addresses - 1)
    return refused("more than " + std::to_string(max_addresses - 1) + " addresses on one interface");
  for (std::size_t i = 0; i < c.addresses.size(); ++i) {
    const host_address& a = c.addresses[i];
    if (!wire::is_host_address(a.address)) return refused("address " + text(a.address) + " is none a host can have");
    if (a.prefix_length > wire::address_bits(a.address.family))
      return refused("address " + text(a.address) + ": a prefix of " + std::to_string(a.prefix_length) + " bits");
    // RFC 3021: with 31 bits both addresses are hosts; with less the first and the last are not.
    if (a.address.family == ip_family::v4 && a.prefix_length < 31 &&
        (a.address == wire::first_of_prefix(a.address, a.prefix_length) ||
         a.address == wire::last_of_prefix(a.address, a.prefix_length)))
      return refused("address " + text(a.address) + " is the network's or its broadcast");
    for (std::size_t j = 0; j < i; ++j)
      if (c.addresses[j].address == a.address) return refused("address " + text(a.address) + " is given twice");
  }
  return base::done{};
}

[[nodiscard]] base::outcome check_routes(const host_config& c) {
  if (c.routes.size() + c.addresses.size() + 2 > max_routes)
    return refused("more than " + std::to_string(max_routes) + " routes with those of the addresses");
  for (const host_route& r : c.routes) {
    if (r.prefix.family == ip_family::none || r.prefix_length > wire::address_bits(r.prefix.family))
      return refused("route " + text(r.prefix) + "/" + std::to_string(r.prefix_length) + " is no prefix");
    if (r.gateway.family == ip_family::none) continue;
    if (r.gateway.family != r.prefix.family || !wire::is_host_address(r.gateway))
      return refused("gateway " + text(r.gateway) + " of route " + text(r.prefix) + " is none a router can have");
    bool on_link = wire::is_link_local(r.gateway);
    for (const host_address& a : c.addresses) on_link |= wire::is_in_prefix(r.gateway, a.address, a.prefix_length);
    if (!on_link) return refused("gateway " + text(r.gateway) + " is on none of the addresses' networks");
  }
  return base::done{};
}

[[nodiscard]] base::outcome check_limits(const host_limits& l) {
  if (l.neighbours == 0 || l.neighbours > 1u << 20) return refused("limit neighbours: 1 to 1048576");
  if (l.pending_per_neighbour == 0 || l.pending_frames < l.pending_per_neighbour || l.pending_frames > 65535)
    return refused("limit pending_frames: at least pending_per_neighbour, at most 65535");
  if (l.reassembly_datagrams == 0 || l.reassembly_datagrams > 4096)
    return refused("limit reassembly_datagrams: 1 to 4096");
  if (l.reassembly_bytes < 65536 || l.reassembly_bytes > 128u * 1024 * 1024)
    return refused("limit reassembly_bytes: 64K to 128M");
  if (l.fragments_per_datagram < 2 || l.fragments_per_datagram > 128)
    return refused("limit fragments_per_datagram: 2 to 128");
  if (l.path_mtus == 0 || l.path_mtus > 1u << 20) return refused("limit path_mtus: 1 to 1048576");
  if (l.min_path_mtu_v4 < 68) return refused("limit min_path_mtu_v4: at least 68");
  if (l.retransmit_ns == 0 || l.multicast_solicits == 0)
    return refused("limits retransmit and multicast_solicits: not 0");
  return base::done{};
}

}  // namespace

base::outcome check(const host_config& c) {
  if (wire::is_group(c.mac) || wire::is_zero(c.mac)) return refused("the interface's MAC is none a station can have");
  if (c.vlan && (*c.vlan == 0 || *c.vlan > 4094)) return refused("VLAN " + std::to_string(*c.vlan) + ": 1 to 4094");
  bool v6 = false;
  for (const host_address& a : c.addresses) v6 |= a.address.family == ip_family::v6;
  const unsigned least = v6 ? 1280 : 576;  // RFC 8200 5; RFC 1122 3.3.2
  if (c.mtu < least) return refused("MTU " + std::to_string(c.mtu) + ": at least " + std::to_string(least));
  if (c.instances == 0 || c.instance >= c.instances) return refused("instance beyond instances");
  if (c.neighbours.size() > max_static_neighbours || c.neighbours.size() > c.limits.neighbours)
    return refused("more static neighbours than fit");
  for (const static_neighbour& n : c.neighbours)
    if (!wire::is_host_address(n.address) || wire::is_group(n.mac) || wire::is_zero(n.mac))
      return refused("neighbour " + text(n.address) + " with an address or MAC that no station can have");
  if (base::outcome fine = check_addresses(c); !fine) return fine;
  if (base::outcome fine = check_routes(c); !fine) return fine;
  return check_limits(c.limits);
}

}  // namespace millrace::net
