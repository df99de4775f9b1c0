// The walk over one frame: link layer first, then whatever each header says comes next, until one of them has no next.
//
// Two decoders share every parser. decode() records the layers. decode_fast() first tries the frames that a data path
// is made of (Ethernet, up to two VLAN tags, IP without options or extension headers, UDP or TCP, no tunnel, nothing
// cut) in straight-line code; whatever is not exactly that, sound or not, takes the walk. The straight line writes
// fields in a second place, so the tests hold both decoders against each other over every seed, cut and one-byte
// change.

#include "net/wire/walk.hpp"

namespace millrace::net::wire {
namespace {

using walking::step;
using walking::walk;

// Frames beyond this are looked at up to here, so that offsets and sums stay within 32 bits.
constexpr std::size_t longest_frame = 0x7FFF'FFFF;

// Every field but the layers, whose elements stand unread while their count is 0.
void clear(decoded& out) noexcept {
  out.src = {};
  out.dst = {};
  out.src_port = 0;
  out.dst_port = 0;
  out.l4 = transport::none;
  out.ip_protocol = 0;
  out.why = defect::none;
  out.fragment = false;
  out.first_fragment = false;
  out.payload_truncated = false;
  out.tunnel_depth = 0;
  out.tcp_flags = 0;
  out.ethertype = 0;
  out.l3_offset = 0;
  out.l4_offset = 0;
  out.payload_offset = 0;
  out.payload_length = 0;
  out.wire_payload_length = 0;
  out.layers.clear();
}

step begin(walk& w, link_type link) noexcept {
  switch (link) {
    case link_type::unknown:
      return w.fail(defect::link_unknown_type);
    case link_type::ethernet:
      return step::ethernet;
    case link_type::null_loopback:
      return walking::parse_loopback(w, false);
    case link_type::loop:
      return walking::parse_loopback(w, true);
    case link_type::ppp:
      return walking::parse_ppp_link(w);
    case link_type::raw_ip:
      return walking::parse_raw_ip(w);
    case link_type::ipv4:
      return step::ipv4;
    case link_type::ipv6:
      return step::ipv6;
    case link_type::linux_sll:
      return walking::parse_sll(w);
    case link_type::linux_sll2:
      return walking::parse_sll2(w);
  }
  return w.fail(defect::link_unknown_type);
}

step take(walk& w, step which) noexcept {
  switch (which) {
    case step::stop:
      break;
    case step::ethernet:
      return walking::parse_ethernet(w);
    case step::vlan:
      return walking::parse_vlan(w);
    case step::llc:
      return walking::parse_llc(w);
    case step::mpls:
      return walking::parse_mpls(w);
    case step::pppoe_session:
      return walking::parse_pppoe_session(w);
    case step::pppoe_discovery:
      return walking::parse_pppoe_discovery(w);
    case step::ppp:
      return walking::parse_ppp(w);
    case step::ipv4:
      return walking::parse_ipv4(w);
    case step::ipv6:
      return walking::parse_ipv6(w);
    case step::ip_protocol:
      return walking::follow_ip_protocol(w);
    case step::gre:
      return walking::parse_gre(w);
    case step::vxlan:
      return walking::parse_vxlan(w);
    case step::geneve:
      return walking::parse_geneve(w);
    case step::gtpu:
      return walking::parse_gtpu(w);
  }
  return step::stop;
}

bool run(base::byte_view frame, link_type link, bool record, decoded& out) noexcept {
  clear(out);
  walk w{.data = frame.data(),
         .captured_end = static_cast<std::uint32_t>(std::min(frame.size(), longest_frame)),
         .record = record,
         .out = out};
  for (step next = begin(w, link); next != step::stop;) next = take(w, next);
  return w.reached && out.why == defect::none;
}

// The straight line. `at`: behind the ethertype; `end`: of the frame. False: not plain, and `out` may hold anything.
bool plain_transport(const std::uint8_t* data, std::uint32_t at, std::uint32_t end, std::uint8_t protocol,
                     decoded& out) noexcept {
  const std::uint8_t* const header = data + at;
  std::uint32_t size = 8;
  if (protocol == ip_protocol::udp) {
    if (end - at < size) return false;
    const std::uint16_t length = base::load_be16(header + 4);
    if (length < size || length > end - at) return false;
    end = at + length;
    out.l4 = transport::udp;
    out.tcp_flags = 0;
  } else {
    if (protocol != ip_protocol::tcp || end - at < 20) return false;
    size = (header[12] >> 4) * 4u;
    if (size < 20 || size > end - at) return false;
    out.l4 = transport::tcp;
    out.tcp_flags = header[13];
  }
  out.src_port = base::load_be16(header);
  out.dst_port = base::load_be16(header + 2);
  out.ip_protocol = protocol;
  out.why = defect::none;
  out.fragment = false;
  out.first_fragment = false;
  out.payload_truncated = false;
  out.tunnel_depth = 0;
  out.l4_offset = at;
  out.payload_offset = at + size;
  out.payload_length = end - at - size;
  out.wire_payload_length = out.payload_length;
  out.layers.clear();
  return protocol != ip_protocol::udp || !walking::is_tunnel_port(out.dst_port);
}

bool plain_ipv4(const std::uint8_t* data, std::uint32_t at, std::uint32_t end, decoded& out) noexcept {
  constexpr std::uint32_t size = 20;
  const std::uint8_t* const header = data + at;
  if (end - at < size || header[0] != 0x45 || (base::load_be16(header + 6) & 0x3FFF) != 0) return false;
  const std::uint16_t total = base::load_be16(header + 2);
  if (total < size || total > end - at) return false;
  out.src = {};
  out.dst = {};
  std::memcpy(out.src.octets.data(), header + 12, 4);
  std::memcpy(out.dst.octets.data(), header + 16, 4);
  out.src.family = base::ip_family::v4;
  out.dst.family = base::ip_family::v4;
  out.ethertype = ethertype::ipv4;
  out.l3_offset = at;
  return plain_transport(data, at + size, at + total, header[9], out);
}

bool plain_ipv6(const std::uint8_t* data, std::uint32_t at, std::uint32_t end, decoded& out) noexcept {
  constexpr std::uint32_t size = 40;
  const std::uint8_t* const header = data + at;
  if (end - at < size || header[0] >> 4 != 6) return false;
  const std::uint16_t payload = base::load_be16(header + 4);
  if (payload == 0 || payload > end - at - size) return false;
  std::memcpy(out.src.octets.data(), header + 8, 16);
  std::memcpy(out.dst.octets.data(), header + 24, 16);
  out.src.family = base::ip_family::v6;
  out.dst.family = base::ip_family::v6;
  out.ethertype = ethertype::ipv6;
  out.l3_offset = at;
  return plain_transport(data, at + size, at + size + payload, header[6], out);
}

bool plain(base::byte_view frame, decoded& out) noexcept {
  if (frame.size() < 14 + 20 + 8 || frame.size() > longest_frame) return false;
  const std::uint8_t* const data = frame.data();
  const auto end = static_cast<std::uint32_t>(frame.size());
  std::uint32_t at = 14;
  std::uint16_t type = base::load_be16(data + 12);
  for (int tags = 0; tags < 2 && (type == ethertype::vlan || type == ethertype::qinq); ++tags) {
    type = base::load_be16(data + at + 2);  // two tags end at 22: inside the least size checked above
    at += 4;
  }
  if (type == ethertype::ipv4) return plain_ipv4(data, at, end, out);
  return type == ethertype::ipv6 && plain_ipv6(data, at, end, out);
}

}  // namespace

bool decode(base::byte_view frame, link_type link, decoded& out) noexcept { return run(frame, link, true, out); }

bool decode_fast(base::byte_view frame, decoded& out) noexcept {
  return plain(frame, out) || run(frame, link_type::ethernet, false, out);
}

link_type from_linktype_number(std::uint32_t number) noexcept {
  switch (number) {  // tcpdump.org/linktypes.html
    case 0:
      return link_type::null_loopback;
    case 1:
      return link_type::ethernet;
    case 9:
    case 50:
      return link_type::ppp;
    case 12:
    case 14:
    case 101:
      return link_type::raw_ip;
    case 108:
      return link_type::loop;
    case 113:
      return link_type::linux_sll;
    case 228:
      return link_type::ipv4;
    case 229:
      return link_type::ipv6;
    case 276:
      return link_type::linux_sll2;
    default:
      return link_type::unknown;
  }
}

}  // namespace millrace::net::wire
