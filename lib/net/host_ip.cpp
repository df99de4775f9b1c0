// The long way in: IP headers, addresses that may not be, fragments, and whose the payload is. The order of questions
// is that of RFC 1122 3.2.1 and 3.3.6: a packet whose addresses are wrong is never answered, so they are judged before
// anything that earns an error.

#include "net/host.hpp"
#include "net/wire/checksum.hpp"

namespace millrace::net {
namespace {

using base::ip_address;
using base::ip_family;
using buf::verdict;
using stats::drop_reason;
using wire::ip_fault;

[[nodiscard]] rx_answer dropped(drop_reason why) noexcept { return {rx_what::drop, why}; }

[[nodiscard]] drop_reason to_drop_reason(ip_fault fault) noexcept {
  switch (fault) {
    case ip_fault::none:
      return drop_reason::none;
    case ip_fault::truncated:
      return drop_reason::ip_truncated;
    case ip_fault::bad_version:
      return drop_reason::ip_bad_version;
    case ip_fault::bad_header_length:
      return drop_reason::ip_bad_header_length;
    case ip_fault::bad_total_length:
      return drop_reason::ip_bad_total_length;
    case ip_fault::bad_options:
      return drop_reason::ip_bad_options;
    case ip_fault::source_route:
    case ip_fault::routing_header:
      return drop_reason::ip_source_route;
    case ip_fault::bad_extension:
    case ip_fault::incomplete_chain:
      return drop_reason::ip_bad_extension;
    case ip_fault::unknown_option:
      return drop_reason::ip_unknown_option;
    case ip_fault::unknown_header:
    case ip_fault::no_next_header:
      return drop_reason::ip_unknown_protocol;
    case ip_fault::bad_fragment:
      return drop_reason::ip_fragment_malformed;
  }
  return drop_reason::none;
}

// Of a header that was not read far enough, the addresses stand for nothing.
[[nodiscard]] bool has_no_addresses(ip_fault fault) noexcept {
  return fault == ip_fault::truncated || fault == ip_fault::bad_version || fault == ip_fault::bad_header_length ||
         fault == ip_fault::bad_total_length;
}

}  // namespace

rx_answer host::receive_ipv4(arrival& a) noexcept {
  wire::ip_datagram d;
  const wire::ip_problem problem = wire::parse_ipv4(a.packet, d);
  if (has_no_addresses(problem.what)) return dropped(to_drop_reason(problem.what));
  // RFC 1122 3.2.1.2: verified before anything is believed.
  const bool judged = !a.reassembled && a.hardware.ip != verdict::unknown;
  const std::size_t header_size = (a.packet[0] & 15u) * 4;
  if (judged ? a.hardware.ip == verdict::bad : wire::internet_checksum(a.packet.first(header_size)) != 0)
    return dropped(drop_reason::ip_bad_checksum);
  if (wire::is_martian_source(d.src) || addresses_.is_broadcast(d.src)) return dropped(drop_reason::ip_martian_source);
  if (addresses_.find(d.src) != local_addresses::none) return dropped(drop_reason::ip_spoofed_source);
  if (wire::is_martian_destination(d.dst)) return dropped(drop_reason::ip_martian_destination);
  const bool broadcast = addresses_.is_broadcast(d.dst);
  if (!broadcast && !addresses_.is_ours(d.dst)) return dropped(drop_reason::ip_not_for_us);
  // RFC 1122 3.3.6: unicast to all stations is no unicast; and broadcast is for those who asked for it.
  if (a.group != broadcast || (broadcast && !config_.accept_broadcast)) return dropped(drop_reason::ip_broadcast);
  if (problem) return refuse_headers(a, d, problem);
  return d.fragment ? reassemble(a, d) : receive_upper(a, d);
}

rx_answer host::receive_ipv6(arrival& a) noexcept {
  wire::ip_datagram d;
  const wire::ip_problem problem = wire::parse_ipv6(a.packet, d);
  if (has_no_addresses(problem.what)) return dropped(to_drop_reason(problem.what));
  const bool icmp = d.protocol == wire::ip_protocol::icmpv6 && !d.fragment && d.payload_size() != 0;
  // RFC 4862 5.4.3: only duplicate detection comes from the unspecified address.
  const bool detecting =
      icmp && wire::is_unspecified(d.src) && a.packet[d.payload_offset] == wire::icmp6::neighbour_solicitation;
  if (!detecting && wire::is_martian_source(d.src)) return dropped(drop_reason::ip_martian_source);
  // RFC 4862 5.4.4: who has an address that we want may say so from that very address, as Linux does.
  const bool objecting = icmp && !problem && a.packet[d.payload_offset] == wire::icmp6::neighbour_advertisement;
  if (!objecting && addresses_.find(d.src) != local_addresses::none) return dropped(drop_reason::ip_spoofed_source);
  if (wire::is_martian_destination(d.dst)) return dropped(drop_reason::ip_martian_destination);
  const bool group = wire::is_multicast(d.dst);
  if (!(group ? addresses_.is_group(d.dst) && started_ : addresses_.is_ours(d.dst))) {
    // RFC 4862 5.4: a tentative address takes neighbour discovery that is sent to its group, and nothing else.
    return dropped(drop_reason::ip_not_for_us);
  }
  if (a.group && !group) return dropped(drop_reason::ip_broadcast);
  if (problem) return refuse_headers(a, d, problem);
  return d.fragment ? reassemble(a, d) : receive_upper(a, d);
}

rx_answer host::refuse_headers(arrival& a, const wire::ip_datagram& d, const wire::ip_problem& problem) noexcept {
  if (problem.icmp_type != wire::no_icmp) {
    const bool v4 = d.src.family == ip_family::v4;
    send_error(a, {.type = problem.icmp_type,
                   .code = problem.icmp_code,
                   .word = v4 ? problem.pointer << 24 : problem.pointer,
                   .even_to_multicast = problem.even_to_multicast});
  }
  return dropped(to_drop_reason(problem.what));
}

rx_answer host::reassemble(arrival& a, const wire::ip_datagram& d) noexcept {
  figures_.fragments_received.add(1);
  const fragment_outcome outcome = reassembler_.add(d, a.packet, a.now);
  figures_.reassembly_evicted.set(reassembler_.evicted());
  switch (outcome) {
    case fragment_outcome::kept:
      return {rx_what::consumed};
    case fragment_outcome::complete:
      break;
    case fragment_outcome::duplicate:
      return dropped(drop_reason::ip_fragment_duplicate);
    case fragment_outcome::overlap:
      return dropped(drop_reason::ip_fragment_overlap);
    case fragment_outcome::refused:
    case fragment_outcome::too_long:
      return dropped(drop_reason::ip_fragment_refused);
    case fragment_outcome::too_many:
      return dropped(drop_reason::ip_fragment_too_many);
    case fragment_outcome::full:
      return dropped(drop_reason::reassembly_full);
  }
  figures_.datagrams_reassembled.add(1);
  a.packet = reassembler_.packet();
  a.reassembled = true;
  wire::ip_datagram whole;
  const bool v4 = d.src.family == ip_family::v4;
  const wire::ip_problem problem = v4 ? wire::parse_ipv4(a.packet, whole) : wire::parse_ipv6(a.packet, whole);
  if (problem) return refuse_headers(a, whole, problem);
  // A fragment header inside a reassembled packet: once is enough.
  if (whole.fragment) return dropped(drop_reason::ip_fragment_malformed);
  return receive_upper(a, whole);
}

rx_answer host::receive_upper(arrival& a, const wire::ip_datagram& d) noexcept {
  if (d.protocol == wire::ip_protocol::udp) return receive_udp(a, d);
  if (d.src.family == ip_family::v6) return receive_icmpv6(a, d);  // parse_ipv6() lets nothing else through
  if (d.protocol == wire::ip_protocol::icmp) return receive_icmp(a, d);
  send_error(a, {.type = wire::icmp4::unreachable, .code = wire::icmp4::protocol_unreachable});  // RFC 1122 3.2.2.1
  return dropped(drop_reason::ip_unknown_protocol);
}

rx_answer host::receive_udp(arrival& a, const wire::ip_datagram& d) noexcept {
  const base::byte_view bytes = a.packet.subspan(d.payload_offset, d.payload_size());
  if (bytes.size() < 8) return dropped(drop_reason::udp_truncated);
  const std::size_t length = base::load_be16(bytes.data() + 4);
  if (length < 8 || length > bytes.size()) return dropped(drop_reason::udp_bad_length);
  const base::byte_view datagram = bytes.first(length);  // what is behind is surplus (RFC 9868)
  const bool none = base::load_be16(bytes.data() + 6) == 0;
  // RFC 8200 8.1: IPv6 has no datagrams without one (tunnels excepted, which end elsewhere).
  if (none && d.src.family == ip_family::v6) return dropped(drop_reason::udp_zero_checksum);
  if (!none) {
    const bool judged = !a.reassembled && a.hardware.transport != verdict::unknown;
    const base::segments whole({&datagram, 1});
    if (judged ? a.hardware.transport == verdict::bad : !wire::is_udp_sound(d.src, d.dst, whole))
      return dropped(drop_reason::udp_bad_checksum);
  }
  if (a.group && !config_.accept_broadcast) return dropped(drop_reason::ip_broadcast);
  const std::uint16_t port = base::load_be16(bytes.data() + 2);
  if (!is_open(port)) {
    const bool v4 = d.src.family == ip_family::v4;
    send_error(a, {.type = v4 ? wire::icmp4::unreachable : wire::icmp6::unreachable,
                   .code = v4 ? wire::icmp4::port_unreachable : wire::icmp6::port_unreachable});
    return dropped(drop_reason::no_service);
  }
  a.out = {.local = {d.dst, port},
           .remote = {d.src, base::load_be16(bytes.data())},
           .payload = datagram.subspan(8),
           .traffic_class = d.traffic_class,
           .hop_limit = d.hop_limit,
           .reassembled = a.reassembled,
           .broadcast = a.group};
  return {rx_what::deliver};
}

}  // namespace millrace::net
