// What an IP protocol number leads to: UDP, TCP, ICMP, a tunnel, or a reason to stop.

#include "net/wire/walk.hpp"

namespace millrace::net::wire::walking {
namespace {

constexpr std::uint32_t udp_size = 8;
constexpr std::uint32_t tcp_size = 20;

step tunnel_behind(std::uint16_t dst_port) noexcept {
  switch (dst_port) {
    case udp_port::vxlan:
    case udp_port::vxlan_linux:
      return step::vxlan;
    case udp_port::geneve:
      return step::geneve;
    case udp_port::gtpu:
      return step::gtpu;
    default:
      return step::stop;
  }
}

// RFC 768. A length beyond the packet lies, except in a first fragment, where the rest comes later; 0 would mean a
// jumbogram (RFC 2675 4), which IP refused already. Bytes behind the length are surplus (RFC 9868), not payload.
step parse_udp(walk& w) noexcept {
  if (!w.has(udp_size)) return w.fail(defect::udp_truncated);
  const std::uint16_t length = w.u16(4);
  if (length < udp_size) return w.fail(defect::udp_bad_length);
  if (!w.announce(length) && !w.out.fragment) return w.fail(defect::udp_bad_length);
  if (!w.note(layer_kind::udp)) return w.fail(defect::tunnel_too_deep);

  w.out.l4 = transport::udp;
  w.out.src_port = w.u16(0);
  w.out.dst_port = w.u16(2);
  w.at += udp_size;
  w.payload_here();
  w.reached = true;
  return w.out.fragment ? step::stop : tunnel_behind(w.out.dst_port);
}

// RFC 9293 3.1. A header that the packet's own length cuts is a bad offset, unless a fragment cut it (RFC 1858 3).
step parse_tcp(walk& w) noexcept {
  if (!w.has(tcp_size)) return w.fail(defect::tcp_truncated);
  const std::uint32_t size = (w.u8(12) >> 4) * 4u;
  if (size < tcp_size) return w.fail(defect::tcp_bad_offset);
  if (!w.has(size)) {
    const bool lied = !w.announces(size) && !w.out.fragment;
    return w.fail(lied ? defect::tcp_bad_offset : defect::tcp_truncated);
  }
  if (!w.note(layer_kind::tcp)) return w.fail(defect::tunnel_too_deep);

  w.out.l4 = transport::tcp;
  w.out.src_port = w.u16(0);
  w.out.dst_port = w.u16(2);
  w.out.tcp_flags = w.u8(13);
  w.at += size;
  w.payload_here();
  w.reached = true;
  return step::stop;
}

// Looked into no further: the packet an ICMP error quotes is not traffic.
step stop_at_icmp(walk& w, layer_kind kind) noexcept {
  if (!w.note(kind)) return w.fail(defect::tunnel_too_deep);
  w.reached = true;
  return step::stop;
}

// RFC 4302 2.2, in IPv4: the headers behind it are in the clear.
step parse_ah(walk& w) noexcept {
  if (!w.has(8)) return w.fail_short(8, defect::ip_bad_extension, defect::ip_truncated);
  const std::uint32_t size = (w.u8(1) + 2u) * 4;
  if (size < 12) return w.fail(defect::ip_bad_extension);
  if (!w.has(size)) return w.fail_short(size, defect::ip_bad_extension, defect::ip_truncated);
  if (!w.note(layer_kind::other, ip_protocol::ah)) return w.fail(defect::ip_bad_extension);
  w.out.ip_protocol = w.u8(0);
  w.at += size;
  return step::ip_protocol;
}

[[nodiscard]] transport transport_of(std::uint8_t protocol, bool ipv6) noexcept {
  if (protocol == ip_protocol::udp) return transport::udp;
  if (protocol == ip_protocol::tcp) return transport::tcp;
  if (protocol == ip_protocol::icmp && !ipv6) return transport::icmp;
  if (protocol == ip_protocol::icmpv6 && ipv6) return transport::icmpv6;
  return protocol == ip_protocol::no_next_header && ipv6 ? transport::none : transport::other;
}

}  // namespace

step follow_ip_protocol(walk& w) noexcept {
  const std::uint8_t protocol = w.out.ip_protocol;
  w.out.l4 = transport_of(protocol, w.ipv6);
  w.out.l4_offset = w.at;
  w.payload_here();
  if (w.out.fragment && !w.out.first_fragment) return step::stop;
  switch (protocol) {
    case ip_protocol::udp:
      return parse_udp(w);
    case ip_protocol::tcp:
      return parse_tcp(w);
    case ip_protocol::ipv4:
      return w.out.fragment ? step::stop : enter_tunnel(w, step::ipv4);
    case ip_protocol::ipv6:
      return w.out.fragment ? step::stop : enter_tunnel(w, step::ipv6);
    case ip_protocol::gre:
      return w.out.fragment ? step::stop : step::gre;
    case ip_protocol::icmp:
      if (!w.ipv6) return stop_at_icmp(w, layer_kind::icmp);
      break;
    case ip_protocol::icmpv6:
      if (w.ipv6) return stop_at_icmp(w, layer_kind::icmpv6);
      break;
    case ip_protocol::igmp:
      if (!w.ipv6) return w.note(layer_kind::igmp) ? step::stop : w.fail(defect::tunnel_too_deep);
      break;
    case ip_protocol::ah:
      if (!w.ipv6) return parse_ah(w);
      break;
    case ip_protocol::no_next_header:
      if (w.ipv6) return step::stop;  // RFC 8200 4.7
      break;
    default:
      break;
  }
  return w.stop_at_other(protocol, defect::ip_protocol_unknown);
}

}  // namespace millrace::net::wire::walking
