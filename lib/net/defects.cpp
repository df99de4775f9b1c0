#include "net/defects.hpp"

#include "net/wire/numbers.hpp"

namespace millrace::net {

stats::drop_reason to_drop_reason(wire::defect why) noexcept {
  using stats::drop_reason;
  using wire::defect;
  switch (why) {
    case defect::none:
      return drop_reason::none;
    case defect::link_truncated:
      return drop_reason::l2_truncated;
    case defect::link_unknown_type:
      return drop_reason::capture_unknown_link_type;
    case defect::ethertype_unknown:
      return drop_reason::l2_unknown_ethertype;
    case defect::length_contradiction:
      return drop_reason::l2_bad_length;
    case defect::too_many_tags:
      return drop_reason::l2_too_many_tags;
    case defect::mpls_malformed:
      return drop_reason::mpls_malformed;
    case defect::pppoe_malformed:
      return drop_reason::pppoe_malformed;
    case defect::ip_truncated:
      return drop_reason::ip_truncated;
    case defect::ip_bad_version:
      return drop_reason::ip_bad_version;
    case defect::ip_bad_header_length:
      return drop_reason::ip_bad_header_length;
    case defect::ip_bad_total_length:
      return drop_reason::ip_bad_total_length;
    case defect::ip_bad_options:
      return drop_reason::ip_bad_options;
    case defect::ip_bad_extension:
      return drop_reason::ip_bad_extension;
    case defect::ip_protocol_unknown:
      return drop_reason::ip_unknown_protocol;
    case defect::tunnel_truncated:
      return drop_reason::tunnel_truncated;
    case defect::tunnel_malformed:
      return drop_reason::tunnel_malformed;
    case defect::tunnel_unsupported:
      return drop_reason::tunnel_unsupported;
    case defect::tunnel_too_deep:
      return drop_reason::tunnel_too_deep;
    case defect::udp_truncated:
      return drop_reason::udp_truncated;
    case defect::udp_bad_length:
      return drop_reason::udp_bad_length;
    case defect::tcp_truncated:
      return drop_reason::tcp_truncated;
    case defect::tcp_bad_offset:
      return drop_reason::tcp_bad_offset;
  }
  return drop_reason::none;
}

stats::drop_reason to_drop_reason(const wire::decoded& frame) noexcept {
  using stats::drop_reason;
  if (frame.why != wire::defect::none) return to_drop_reason(frame.why);
  // These two end a frame whose l4 may still be that of a tunnel around them.
  if (frame.ethertype == wire::ethertype::arp) return drop_reason::arp;
  if (frame.ethertype == wire::ethertype::pppoe_discovery) return drop_reason::l2_unknown_ethertype;
  if (frame.fragment) return drop_reason::ip_fragment;
  switch (frame.l4) {
    case wire::transport::udp:
    case wire::transport::tcp:
      return drop_reason::none;
    case wire::transport::icmp:
    case wire::transport::icmpv6:
      return drop_reason::icmp;
    case wire::transport::other:
      return drop_reason::ip_unknown_protocol;
    case wire::transport::none:
      break;
  }
  return drop_reason::ip_unknown_protocol;  // IPv6 without a next header
}

stats::drop_reason to_drop_reason(wire::capture_fault fault) noexcept {
  using stats::drop_reason;
  using wire::capture_fault;
  switch (fault) {
    case capture_fault::none:
      return drop_reason::none;
    case capture_fault::truncated:
      return drop_reason::capture_truncated_file;
    case capture_fault::not_a_capture:
    case capture_fault::unknown_version:
    case capture_fault::bad_block_length:
    case capture_fault::bad_captured_length:
    case capture_fault::bad_secrets_length:
    case capture_fault::bad_interface_options:
    case capture_fault::unknown_interface:
    case capture_fault::too_many_interfaces:
      return drop_reason::capture_malformed;
  }
  return drop_reason::none;
}

}  // namespace millrace::net
