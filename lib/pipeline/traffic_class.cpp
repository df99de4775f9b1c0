#include "pipeline/traffic_class.hpp"

#include "net/wire/numbers.hpp"
#include "quic/wire/header.hpp"
#include "srmp/wire/datagram.hpp"

namespace millrace::pipeline {
namespace {

using base::byte_view;
using net::wire::decoded;
using net::wire::transport;

constexpr std::array<std::string_view, traffic_class_count> names = {
#define MILLRACE_CLASS_NAME(name) #name,
    MILLRACE_TRAFFIC_CLASSES(MILLRACE_CLASS_NAME)
#undef MILLRACE_CLASS_NAME
};

traffic_class class_of(quic::wire::packet_type type) noexcept {
  using quic::wire::packet_type;
  switch (type) {
    case packet_type::initial:
      return traffic_class::quic_initial;
    case packet_type::zero_rtt:
      return traffic_class::quic_zero_rtt;
    case packet_type::handshake:
      return traffic_class::quic_handshake;
    case packet_type::retry:
      return traffic_class::quic_retry;
    case packet_type::version_negotiation:
      return traffic_class::quic_version_negotiation;
    case packet_type::one_rtt:
      return traffic_class::quic_one_rtt;
    case packet_type::unknown_long:
      return traffic_class::quic_unknown_version;
  }
  return traffic_class::quic_unknown_version;
}

// RFC 9000 14.1 and 12.2: a datagram with an Initial is padded either inside it or behind its last packet with zeroes.
bool is_padding(byte_view rest) noexcept { return rest[0] == 0; }

// RFC 9000 12.2: packets back to back, the last one may have a short header.
classified walk_quic(byte_view datagram) noexcept {
  classified out{.what = traffic_class::quic_malformed};
  quic::wire::packet_header header;
  byte_view rest = datagram;
  for (unsigned i = 0; !rest.empty(); ++i) {
    if (i != 0 && is_padding(rest)) break;
    if (i == max_coalesced || !quic::wire::parse_packet(rest, header)) {
      out.what = traffic_class::quic_malformed;
      break;
    }
    if (i == 0) out.what = class_of(header.type);
    ++out.quic_packets;
    rest = rest.subspan(header.packet_size);
  }
  return out;
}

bool is_quic_port(std::uint16_t port, const classify_ports& ports) noexcept {
  for (const std::uint16_t known : ports.quic)
    if (known == port) return true;
  return false;
}

classified classify_udp(byte_view payload, const decoded& headers, const classify_ports& ports) noexcept {
  if (headers.dst_port == ports.srmp || headers.src_port == ports.srmp)
    return {.what = srmp::wire::fills_exactly(payload) ? traffic_class::srmp : traffic_class::srmp_malformed};
  using quic::wire::datagram_kind;
  switch (quic::wire::classify(payload)) {
    case datagram_kind::long_form:
      return walk_quic(payload);
    case datagram_kind::short_form:
      if (is_quic_port(headers.dst_port, ports) || is_quic_port(headers.src_port, ports))
        return {.what = traffic_class::quic_one_rtt, .quic_packets = 1};
      break;
    case datagram_kind::gquic:
      return {.what = traffic_class::gquic, .quic_packets = 1};
    case datagram_kind::not_quic:
      break;
  }
  return {.what = traffic_class::udp};
}

}  // namespace

std::string_view to_string(traffic_class c) noexcept {
  const auto i = static_cast<std::size_t>(c);
  return i < names.size() ? names[i] : "unknown";
}

classify_ports default_classify_ports() noexcept {
  classify_ports ports;
  constexpr std::uint16_t usual[] = {443, 4433, 8443};
  for (const std::uint16_t port : usual) (void)ports.quic.push_back(port);
  return ports;
}

classified classify(byte_view frame, const decoded& headers, const classify_ports& ports) noexcept {
  if (headers.fragment && !headers.first_fragment) return {.what = traffic_class::fragment};
  switch (headers.l4) {
    case transport::udp:
      if (headers.fragment) return {.what = traffic_class::fragment};
      return classify_udp(frame.subspan(headers.payload_offset, headers.payload_length), headers, ports);
    case transport::tcp:
      return {.what = traffic_class::tcp};
    case transport::icmp:
    case transport::icmpv6:
      return {.what = traffic_class::icmp};
    case transport::other:
      return {.what = traffic_class::other_ip};
    case transport::none:
      break;
  }
  if (headers.ethertype == net::wire::ethertype::arp) return {.what = traffic_class::arp};
  const bool ip = headers.src.family != base::ip_family::none;
  return {.what = ip ? traffic_class::other_ip : traffic_class::other};
}

}  // namespace millrace::pipeline
