// Both parsers judge in the order in which RFC 1122 3.2.1 and RFC 8200 4 tell a destination to: lengths first, so that
// everything behind them reads inside the packet; then what each header asks for. Headers are walked in a loop with two
// budgets, headers and options, so the work is bounded whatever the packet says.

#include "net/wire/ip_datagram.hpp"

#include "base/endian.hpp"

namespace millrace::net::wire {
namespace {

constexpr std::uint32_t ipv4_size = 20;
constexpr std::uint32_t ipv6_size = 40;
constexpr std::uint32_t longest_packet = 65535;

[[nodiscard]] ip_problem silently(ip_fault what) noexcept { return {.what = what}; }
[[nodiscard]] ip_problem ipv4_parameter(ip_fault what, std::uint32_t pointer) noexcept {
  return {.what = what, .icmp_type = icmp4::parameter_problem, .pointer = pointer};
}
[[nodiscard]] ip_problem ipv6_parameter(ip_fault what, std::uint8_t code, std::uint32_t pointer) noexcept {
  return {.what = what, .icmp_type = icmp6::parameter_problem, .icmp_code = code, .pointer = pointer};
}

// RFC 791 3.1: kinds 0 and 1 are one byte, every other carries its length.
[[nodiscard]] ip_problem judge_ipv4_options(base::byte_view packet, std::uint32_t header_size) noexcept {
  constexpr std::uint8_t end_of_list = 0;
  constexpr std::uint8_t no_operation = 1;
  constexpr std::uint8_t loose_source_route = 131;
  constexpr std::uint8_t strict_source_route = 137;
  std::uint32_t at = ipv4_size;
  while (at < header_size) {
    const std::uint8_t kind = packet[at];
    if (kind == end_of_list) break;
    if (kind == no_operation) {
      ++at;
      continue;
    }
    if (header_size - at < 2) return ipv4_parameter(ip_fault::bad_options, at);
    const std::uint8_t length = packet[at + 1];
    if (length < 2 || length > header_size - at) return ipv4_parameter(ip_fault::bad_options, at + 1);
    // RFC 7126 4.3, 4.4: a route that the sender chose leads around filters; nobody needs it today.
    if (kind == loose_source_route || kind == strict_source_route) return silently(ip_fault::source_route);
    at += length;
  }
  return {};
}

// --- IPv6 extension headers ---

struct walk {
  base::byte_view packet;  // ends at the announced size
  ip_datagram& out;
  std::uint32_t at;
  std::size_t headers = 0;
  std::size_t options = 0;

  [[nodiscard]] std::uint32_t left() const noexcept { return static_cast<std::uint32_t>(packet.size()) - at; }
};

// RFC 8200 4.2: the two high bits say what to do with an option that is not known.
[[nodiscard]] ip_problem refuse_option(std::uint8_t kind, std::uint32_t at) noexcept {
  ip_problem problem = ipv6_parameter(ip_fault::unknown_option, icmp6::unknown_option, at);
  problem.even_to_multicast = kind >> 6 == 2;
  if (kind >> 6 == 1) problem.icmp_type = no_icmp;
  return problem;
}

[[nodiscard]] ip_problem judge_options(walk& w, std::uint32_t size) noexcept {
  constexpr std::uint8_t pad1 = 0;
  constexpr std::uint8_t padn = 1;
  constexpr std::uint8_t router_alert = 5;  // RFC 2711
  const std::uint32_t end = w.at + size;
  std::uint32_t at = w.at + 2;
  while (at < end) {
    const std::uint8_t kind = w.packet[at];
    if (++w.options > max_ipv6_options) return silently(ip_fault::bad_extension);
    if (kind == pad1) {
      ++at;
      continue;
    }
    if (end - at < 2 || w.packet[at + 1] > end - at - 2)
      return ipv6_parameter(ip_fault::bad_extension, icmp6::erroneous_field, at + (end - at < 2 ? 0u : 1u));
    if (kind != padn && kind != router_alert && kind >> 6 != 0) return refuse_option(kind, at);
    at += 2u + w.packet[at + 1];
  }
  return {};
}

[[nodiscard]] ip_problem take_fragment(walk& w) noexcept {
  const std::uint16_t field = base::load_be16(w.packet.data() + w.at + 2);
  const std::uint32_t offset = field & 0xFFF8u;  // eights of bytes, in place
  const bool more = (field & 1) != 0;
  if (offset == 0 && !more) return {};  // RFC 6946 4: whole, never mixed with others
  const std::uint32_t data = w.left() - 8;
  // RFC 8200 4.5: all but the last carry eights of bytes, and none reaches beyond the longest packet.
  if (more && data % 8 != 0) return ipv6_parameter(ip_fault::bad_fragment, icmp6::erroneous_field, 4);
  if (offset + data > longest_packet) return ipv6_parameter(ip_fault::bad_fragment, icmp6::erroneous_field, w.at + 2);
  if (data == 0) return silently(ip_fault::bad_fragment);
  w.out.fragment = true;
  w.out.fragment_named_at = w.out.protocol_at;
  w.out.more_fragments = more;
  w.out.fragment_offset = offset;
  w.out.id = base::load_be32(w.packet.data() + w.at + 4);
  return {};
}

// What one header asks for; its size is checked.
[[nodiscard]] ip_problem take_header(walk& w, std::uint8_t kind, std::uint32_t size) noexcept {
  if (kind == ip_protocol::fragment) return take_fragment(w);
  if (kind == ip_protocol::routing) {
    // RFC 8200 4.4, RFC 5095 3: with segments left a type that is not known is refused, and we know none.
    if (w.packet[w.at + 3] == 0) return {};
    return ipv6_parameter(ip_fault::routing_header, icmp6::erroneous_field, w.at + 2);
  }
  return judge_options(w, size);
}

[[nodiscard]] bool is_skipped(std::uint8_t kind) noexcept {
  return kind == ip_protocol::hop_by_hop || kind == ip_protocol::routing || kind == ip_protocol::fragment ||
         kind == ip_protocol::destination_options;
}
[[nodiscard]] bool is_upper(std::uint8_t kind) noexcept {
  return kind == ip_protocol::udp || kind == ip_protocol::icmpv6;
}

// From a header of kind out.protocol at out.at to what is none of ours to skip.
[[nodiscard]] bool skip_extensions(base::byte_view packet, upper_layer& out) noexcept {
  for (std::size_t count = 0; count <= max_ipv6_extensions; ++count) {
    if (!is_skipped(out.protocol)) return true;
    if (packet.size() - out.at < 8) return false;
    const bool cut = out.protocol == ip_protocol::fragment;
    const std::uint32_t size = cut ? 8 : (packet[out.at + 1] + 1u) * 8;
    if (packet.size() - out.at < size) return false;
    if (cut && (base::load_be16(packet.data() + out.at + 2) & 0xFFF8) != 0) return false;
    out.protocol = packet[out.at];
    out.at += size;
  }
  return false;
}

// RFC 7112 5: whether the headers of a first fragment all stand in it, with a start of the upper layer.
[[nodiscard]] bool has_whole_chain(base::byte_view packet, std::uint32_t at, std::uint8_t kind) noexcept {
  upper_layer upper{kind, at};
  return skip_extensions(packet, upper) && (!is_upper(upper.protocol) || packet.size() - upper.at >= 8);
}

[[nodiscard]] ip_problem stop_at_upper(walk& w) noexcept {
  w.out.payload_offset = w.at;
  if (w.out.protocol == ip_protocol::no_next_header) return silently(ip_fault::no_next_header);
  if (is_upper(w.out.protocol)) return {};
  return ipv6_parameter(ip_fault::unknown_header, icmp6::unknown_next_header, w.out.protocol_at);
}

// `w.at` stands at a header of kind out.protocol.
[[nodiscard]] ip_problem follow(walk& w) noexcept {
  while (is_skipped(w.out.protocol)) {
    const std::uint8_t kind = w.out.protocol;
    // RFC 8200 4.1: hop-by-hop options follow the IPv6 header and nothing else.
    if (kind == ip_protocol::hop_by_hop && w.at != ipv6_size)
      return ipv6_parameter(ip_fault::bad_extension, icmp6::unknown_next_header, w.out.protocol_at);
    if (++w.headers > max_ipv6_extensions || w.left() < 8) return silently(ip_fault::bad_extension);
    const std::uint32_t size = kind == ip_protocol::fragment ? 8 : (w.packet[w.at + 1] + 1u) * 8;
    if (size > w.left()) return ipv6_parameter(ip_fault::bad_extension, icmp6::erroneous_field, w.at + 1);
    if (const ip_problem problem = take_header(w, kind, size)) return problem;
    w.out.protocol = w.packet[w.at];
    w.out.protocol_at = w.at;
    w.at += size;
    if (w.out.fragment) {
      w.out.payload_offset = w.at;
      if (w.out.fragment_offset == 0 && !has_whole_chain(w.packet, w.at, w.out.protocol))
        return ipv6_parameter(ip_fault::incomplete_chain, icmp6::incomplete_header_chain, 0);
      return {};
    }
  }
  return stop_at_upper(w);
}

}  // namespace

ip_problem parse_ipv4(base::byte_view packet, ip_datagram& out) noexcept {
  if (packet.size() < ipv4_size) return silently(ip_fault::truncated);
  const std::uint8_t* const p = packet.data();
  if (p[0] >> 4 != 4) return silently(ip_fault::bad_version);
  const std::uint32_t header_size = (p[0] & 15u) * 4;
  const std::uint32_t total = base::load_be16(p + 2);
  if (header_size < ipv4_size || header_size > total) return silently(ip_fault::bad_header_length);
  if (total > packet.size()) return silently(ip_fault::bad_total_length);

  const std::uint16_t flags = base::load_be16(p + 6);
  out = {};
  out.src = base::ip_address::v4(packet.subspan(12, 4));
  out.dst = base::ip_address::v4(packet.subspan(16, 4));
  out.protocol = p[9];
  out.protocol_at = 9;
  out.hop_limit = p[8];
  out.traffic_class = p[1];
  out.dont_fragment = (flags & 0x4000) != 0;
  out.more_fragments = (flags & 0x2000) != 0;
  out.fragment_offset = (flags & 0x1FFFu) * 8;
  out.fragment = out.more_fragments || out.fragment_offset != 0;
  out.id = base::load_be16(p + 4);
  out.payload_offset = header_size;
  out.size = total;
  if (const ip_problem problem = judge_ipv4_options(packet, header_size)) return problem;
  if (out.fragment) {
    const std::uint32_t data = out.payload_size();
    // RFC 791 3.2: all but the last carry eights of bytes; beyond the longest packet lies the "ping of death".
    if (data == 0 || (out.more_fragments && data % 8 != 0) || out.fragment_offset + data > longest_packet - ipv4_size)
      return silently(ip_fault::bad_fragment);
  }
  return {};
}

ip_problem parse_ipv6(base::byte_view packet, ip_datagram& out) noexcept {
  if (packet.size() < ipv6_size) return silently(ip_fault::truncated);
  const std::uint8_t* const p = packet.data();
  if (p[0] >> 4 != 6) return silently(ip_fault::bad_version);
  const std::uint32_t size = ipv6_size + base::load_be16(p + 4);
  if (size > packet.size()) return silently(ip_fault::bad_total_length);

  out = {};
  out.src = base::ip_address::v6(packet.subspan(8, 16));
  out.dst = base::ip_address::v6(packet.subspan(24, 16));
  out.protocol = p[6];
  out.protocol_at = 6;
  out.hop_limit = p[7];
  out.traffic_class = static_cast<std::uint8_t>(base::load_be16(p) >> 4);
  out.dont_fragment = true;
  out.payload_offset = ipv6_size;
  out.size = size;
  // RFC 2675 3: no length before hop-by-hop options is a jumbogram; no link of ours carries one.
  if (size == ipv6_size && out.protocol == ip_protocol::hop_by_hop) return silently(ip_fault::bad_total_length);
  walk w{.packet = packet.first(size), .out = out, .at = ipv6_size};
  return follow(w);
}

bool find_upper_layer(base::byte_view packet, upper_layer& out) noexcept {
  if (packet.empty()) return false;
  if (packet[0] >> 4 == 6) {
    if (packet.size() < ipv6_size) return false;
    out = {packet[6], ipv6_size};
    return skip_extensions(packet, out);
  }
  if (packet.size() < ipv4_size || packet[0] >> 4 != 4) return false;
  const std::uint32_t header_size = (packet[0] & 15u) * 4;
  if (header_size < ipv4_size || header_size > packet.size() || (base::load_be16(packet.data() + 6) & 0x1FFF) != 0)
    return false;
  out = {packet[9], header_size};
  return true;
}

}  // namespace millrace::net::wire
