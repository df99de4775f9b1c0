// Link layers: what stands first in a frame, and what an ethertype leads to.

#include "net/wire/walk.hpp"

namespace millrace::net::wire::walking {
namespace {

constexpr std::uint32_t ethernet_size = 14;
constexpr std::uint32_t sll_size = 16;
constexpr std::uint32_t sll2_size = 20;
constexpr std::uint16_t longest_802_3 = 1500;  // IEEE 802.3 3.2.7: the values up to the first ethertype are undefined

constexpr std::uint16_t arphrd_netlink = 824;  // the protocol field of a cooked header is no ethertype then
constexpr std::uint16_t sll_llc = 0x0004;      // tcpdump.org LINKTYPE_LINUX_SLL: an 802.2 LLC header follows

// A length field of IEEE 802.3: LLC follows, and padding after the length.
step parse_802_3(walk& w, std::uint16_t length) noexcept {
  if (length > longest_802_3 || !w.announce(length)) return w.fail(defect::length_contradiction);
  return step::llc;
}

step parse_snap(walk& w) noexcept {
  const std::uint32_t organisation = base::load_be24(w.data + w.at + 3);
  const std::uint16_t type = w.u16(6);
  w.at += 8;
  // RFC 1042 and IEEE 802.1H: ethertypes under these two; others are a vendor's own numbers.
  if ((organisation != 0x000000 && organisation != 0x0000F8) || type < ethertype::lowest)
    return w.stop_at_other(type, defect::ethertype_unknown);
  return follow_ethertype(w, type);
}

}  // namespace

step follow_ethertype(walk& w, std::uint16_t type) noexcept {
  if (type < ethertype::lowest) return parse_802_3(w, type);
  w.out.ethertype = type;
  switch (type) {
    case ethertype::ipv4:
      return step::ipv4;
    case ethertype::ipv6:
      return step::ipv6;
    case ethertype::vlan:
    case ethertype::qinq:
    case ethertype::qinq_old:
      return step::vlan;
    case ethertype::mpls:
    case ethertype::mpls_multicast:
      return step::mpls;
    case ethertype::pppoe_session:
      return step::pppoe_session;
    case ethertype::pppoe_discovery:
      return step::pppoe_discovery;
    case ethertype::arp:
      return w.note(layer_kind::arp) ? step::stop : w.fail(defect::too_many_tags);
    default:
      return w.stop_at_other(type, defect::ethertype_unknown);
  }
}

step parse_ethernet(walk& w) noexcept {
  if (!w.has(ethernet_size)) return w.fail(defect::link_truncated);
  if (!w.note(layer_kind::ethernet)) return w.fail(defect::tunnel_too_deep);
  w.tags = 0;
  const std::uint16_t type = w.u16(12);
  w.at += ethernet_size;
  return follow_ethertype(w, type);
}

// IEEE 802.2: two service access points, then a control field of one byte in unnumbered frames and two in others.
step parse_llc(walk& w) noexcept {
  if (!w.has(3)) return w.fail_short(3, defect::length_contradiction, defect::link_truncated);
  const std::uint16_t access_points = w.u16(0);
  const std::uint8_t control = w.u8(2);
  constexpr std::uint8_t unnumbered_information = 3;
  const bool snap = access_points == 0xAAAA && control == unnumbered_information;
  if (snap && !w.has(8)) return w.fail_short(8, defect::length_contradiction, defect::link_truncated);
  if (!w.note(layer_kind::llc)) return w.fail(defect::too_many_tags);
  if (snap) return parse_snap(w);
  w.at += 3;
  if (access_points == 0x0606 && control == unnumbered_information) return step::ipv4;  // RFC 948
  return w.stop_at_other(access_points, defect::ethertype_unknown);                     // spanning tree, IS-IS, NetBIOS
}

// tcpdump.org LINKTYPE_LINUX_SLL. The address length may exceed the 8 bytes that are kept; it does not move anything.
step parse_sll(walk& w) noexcept {
  if (!w.has(sll_size)) return w.fail(defect::link_truncated);
  if (w.u16(2) == arphrd_netlink) return w.fail(defect::link_unknown_type);
  static_cast<void>(w.note(layer_kind::sll));  // the first layer always finds room
  const std::uint16_t type = w.u16(14);
  w.at += sll_size;
  if (type == sll_llc) return step::llc;
  return type < ethertype::lowest ? w.stop_at_other(type, defect::ethertype_unknown) : follow_ethertype(w, type);
}

step parse_sll2(walk& w) noexcept {
  if (!w.has(sll2_size)) return w.fail(defect::link_truncated);
  if (w.u16(8) == arphrd_netlink) return w.fail(defect::link_unknown_type);
  static_cast<void>(w.note(layer_kind::sll2));
  const std::uint16_t type = w.u16(0);
  w.at += sll2_size;
  if (type == sll_llc) return step::llc;
  return type < ethertype::lowest ? w.stop_at_other(type, defect::ethertype_unknown) : follow_ethertype(w, type);
}

// tcpdump.org LINKTYPE_NULL, LINKTYPE_LOOP: an address family as the capturing system numbers it, in its byte order or
// in network order. No family is so large that the two readings could be confused.
step parse_loopback(walk& w, bool network_order) noexcept {
  if (!w.has(4)) return w.fail(defect::link_truncated);
  std::uint32_t family = w.u32(0);
  if (!network_order && (family & 0xFFFF) == 0) family = base::load_le32(w.data + w.at);
  static_cast<void>(w.note(layer_kind::null_loopback));
  w.at += 4;
  switch (family) {
    case 2:  // AF_INET everywhere
      return step::ipv4;
    case 10:  // AF_INET6 of Linux
    case 24:  // of NetBSD, OpenBSD, BSD/OS
    case 28:  // of FreeBSD
    case 30:  // of Darwin
      return step::ipv6;
    default:
      return w.stop_at_other(static_cast<std::uint16_t>(std::min<std::uint32_t>(family, 0xFFFF)),
                             defect::ethertype_unknown);
  }
}

step parse_raw_ip(walk& w) noexcept {
  if (!w.has(1)) return w.fail(defect::ip_truncated);
  const unsigned version = w.u8(0) >> 4;
  if (version == 4) return step::ipv4;
  return version == 6 ? step::ipv6 : w.fail(defect::ip_bad_version);
}

}  // namespace millrace::net::wire::walking
