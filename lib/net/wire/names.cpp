// Names of the decoder's enums, as tools print them.

#include "net/wire/decode.hpp"

namespace millrace::net::wire {

std::string_view to_string(defect d) noexcept {
  switch (d) {
    case defect::none:
      return "none";
    case defect::link_truncated:
      return "link_truncated";
    case defect::link_unknown_type:
      return "link_unknown_type";
    case defect::ethertype_unknown:
      return "ethertype_unknown";
    case defect::length_contradiction:
      return "length_contradiction";
    case defect::too_many_tags:
      return "too_many_tags";
    case defect::mpls_malformed:
      return "mpls_malformed";
    case defect::pppoe_malformed:
      return "pppoe_malformed";
    case defect::ip_truncated:
      return "ip_truncated";
    case defect::ip_bad_version:
      return "ip_bad_version";
    case defect::ip_bad_header_length:
      return "ip_bad_header_length";
    case defect::ip_bad_total_length:
      return "ip_bad_total_length";
    case defect::ip_bad_options:
      return "ip_bad_options";
    case defect::ip_bad_extension:
      return "ip_bad_extension";
    case defect::ip_protocol_unknown:
      return "ip_protocol_unknown";
    case defect::tunnel_truncated:
      return "tunnel_truncated";
    case defect::tunnel_malformed:
      return "tunnel_malformed";
    case defect::tunnel_unsupported:
      return "tunnel_unsupported";
    case defect::tunnel_too_deep:
      return "tunnel_too_deep";
    case defect::udp_truncated:
      return "udp_truncated";
    case defect::udp_bad_length:
      return "udp_bad_length";
    case defect::tcp_truncated:
      return "tcp_truncated";
    case defect::tcp_bad_offset:
      return "tcp_bad_offset";
  }
  return "unknown";
}

std::string_view to_string(layer_kind k) noexcept {
  switch (k) {
    case layer_kind::ethernet:
      return "ethernet";
    case layer_kind::sll:
      return "sll";
    case layer_kind::sll2:
      return "sll2";
    case layer_kind::null_loopback:
      return "null_loopback";
    case layer_kind::ppp:
      return "ppp";
    case layer_kind::vlan:
      return "vlan";
    case layer_kind::qinq:
      return "qinq";
    case layer_kind::mpls:
      return "mpls";
    case layer_kind::pppoe_session:
      return "pppoe_session";
    case layer_kind::pppoe_discovery:
      return "pppoe_discovery";
    case layer_kind::arp:
      return "arp";
    case layer_kind::ipv4:
      return "ipv4";
    case layer_kind::ipv6:
      return "ipv6";
    case layer_kind::ipv6_extension:
      return "ipv6_extension";
    case layer_kind::icmp:
      return "icmp";
    case layer_kind::icmpv6:
      return "icmpv6";
    case layer_kind::igmp:
      return "igmp";
    case layer_kind::gre:
      return "gre";
    case layer_kind::vxlan:
      return "vxlan";
    case layer_kind::geneve:
      return "geneve";
    case layer_kind::gtpu:
      return "gtpu";
    case layer_kind::udp:
      return "udp";
    case layer_kind::tcp:
      return "tcp";
    case layer_kind::llc:
      return "llc";
    case layer_kind::other:
      return "other";
  }
  return "unknown";
}

}  // namespace millrace::net::wire
