#include "net/wire/headers.hpp"

#include "net/wire/checksum.hpp"

namespace millrace::net::wire {
namespace {

constexpr std::size_t longest_ip_size = 65535;  // what a 16-bit length says

[[nodiscard]] bool is_family(const base::ip_address& src, const base::ip_address& dst,
                             base::ip_family family) noexcept {
  return src.family == family && dst.family == family;
}

[[nodiscard]] bool is_sound(const checksum_scope& scope, std::size_t header_size) noexcept {
  return scope.src.family == scope.dst.family && scope.src.family != base::ip_family::none &&
         scope.payload.size() <= longest_ip_size - header_size;
}

}  // namespace

// Headers are written where they stay, from fields in registers; their checksums are summed from the same fields.
// Summing the bytes just written would wait for the stores each time.

bool emit(const ethernet_header& header, base::byte_writer& out) noexcept {
  base::byte_span room;
  if (!out.reserve(ethernet_header::encoded_size, room)) return false;
  std::memcpy(room.data(), header.dst.octets.data(), 6);
  std::memcpy(room.data() + 6, header.src.octets.data(), 6);
  base::store_be16(room.data() + 12, header.type);
  return true;
}

bool emit(const vlan_header& header, base::byte_writer& out) noexcept {
  base::byte_span room;
  if (header.id > 0x0FFF || header.priority > 7 || !out.reserve(vlan_header::encoded_size, room)) return false;
  base::store_be16(room.data(),
                   static_cast<std::uint16_t>(header.priority << 13 | (header.drop_eligible ? 0x1000 : 0) | header.id));
  base::store_be16(room.data() + 2, header.type);
  return true;
}

bool emit(const ipv4_header& header, base::byte_writer& out) noexcept {
  if (!is_family(header.src, header.dst, base::ip_family::v4) || header.fragment_offset > 0x1FFF ||
      header.payload_size > longest_ip_size - ipv4_header::encoded_size)
    return false;
  base::byte_span room;
  if (!out.reserve(ipv4_header::encoded_size, room)) return false;
  const auto first = static_cast<std::uint16_t>(0x4500 | header.traffic_class);
  const auto total = static_cast<std::uint16_t>(ipv4_header::encoded_size + header.payload_size);
  const auto fragment = static_cast<std::uint16_t>((header.dont_fragment ? 0x4000 : 0) |
                                                   (header.more_fragments ? 0x2000 : 0) | header.fragment_offset);
  const auto ttl_and_protocol = static_cast<std::uint16_t>(header.ttl << 8 | header.protocol);
  internet_sum sum;
  sum.add(header.src.bytes());
  sum.add(header.dst.bytes());
  for (const std::uint16_t word : {first, total, header.id, fragment, ttl_and_protocol}) sum.add_word(word);
  base::store_be16(room.data(), first);
  base::store_be16(room.data() + 2, total);
  base::store_be16(room.data() + 4, header.id);
  base::store_be16(room.data() + 6, fragment);
  base::store_be16(room.data() + 8, ttl_and_protocol);
  base::store_be16(room.data() + 10, sum.checksum());
  std::memcpy(room.data() + 12, header.src.octets.data(), 4);
  std::memcpy(room.data() + 16, header.dst.octets.data(), 4);
  return true;
}

bool emit(const ipv6_header& header, base::byte_writer& out) noexcept {
  if (!is_family(header.src, header.dst, base::ip_family::v6) || header.flow_label > 0xF'FFFF ||
      header.payload_size > longest_ip_size)
    return false;
  base::byte_span room;
  if (!out.reserve(ipv6_header::encoded_size, room)) return false;
  base::store_be32(room.data(), 6u << 28 | std::uint32_t{header.traffic_class} << 20 | header.flow_label);
  base::store_be16(room.data() + 4, static_cast<std::uint16_t>(header.payload_size));
  room[6] = header.next_header;
  room[7] = header.hop_limit;
  std::memcpy(room.data() + 8, header.src.octets.data(), 16);
  std::memcpy(room.data() + 24, header.dst.octets.data(), 16);
  return true;
}

bool emit(const udp_header& header, const checksum_scope& scope, base::byte_writer& out) noexcept {
  base::byte_span room;
  if (!is_sound(scope, udp_header::encoded_size) || !out.reserve(udp_header::encoded_size, room)) return false;
  const auto length = static_cast<std::uint16_t>(udp_header::encoded_size + scope.payload.size());
  internet_sum sum;
  sum.add_pseudo_header(scope.src, scope.dst, ip_protocol::udp, length);
  for (const std::uint16_t word : {header.src_port, header.dst_port, length}) sum.add_word(word);
  sum.add(scope.payload);
  const std::uint16_t checksum = sum.checksum();
  base::store_be16(room.data(), header.src_port);
  base::store_be16(room.data() + 2, header.dst_port);
  base::store_be16(room.data() + 4, length);
  base::store_be16(room.data() + 6, checksum == 0 ? 0xFFFF : checksum);  // RFC 768: 0 says that there is none
  return true;
}

bool emit(const tcp_header& header, const checksum_scope& scope, base::byte_writer& out) noexcept {
  const std::size_t size = encoded_size(header);
  base::byte_span room;
  if (size > tcp_header::max_encoded_size || size % 4 != 0 || !is_sound(scope, size) || !out.reserve(size, room))
    return false;
  const auto offset_and_flags = static_cast<std::uint16_t>(size / 4 << 12 | header.flags);
  internet_sum sum;
  sum.add_pseudo_header(scope.src, scope.dst, ip_protocol::tcp,
                        static_cast<std::uint32_t>(size + scope.payload.size()));
  for (const std::uint32_t number : {header.sequence, header.acknowledgment}) {
    sum.add_word(static_cast<std::uint16_t>(number >> 16));
    sum.add_word(static_cast<std::uint16_t>(number));
  }
  for (const std::uint16_t word : {header.src_port, header.dst_port, offset_and_flags, header.window, header.urgent})
    sum.add_word(word);
  sum.add(header.options);
  sum.add(scope.payload);
  base::store_be16(room.data(), header.src_port);
  base::store_be16(room.data() + 2, header.dst_port);
  base::store_be32(room.data() + 4, header.sequence);
  base::store_be32(room.data() + 8, header.acknowledgment);
  base::store_be16(room.data() + 12, offset_and_flags);
  base::store_be16(room.data() + 14, header.window);
  base::store_be16(room.data() + 16, sum.checksum());
  base::store_be16(room.data() + 18, header.urgent);
  if (!header.options.empty())
    std::memcpy(room.data() + tcp_header::min_encoded_size, header.options.data(), header.options.size());
  return true;
}

std::size_t frame_headers_size(const frame_spec& spec) noexcept {
  if (spec.src.family != spec.dst.family || spec.src.family == base::ip_family::none) return 0;
  if (spec.l4 != transport::udp && spec.l4 != transport::tcp) return 0;
  const bool v4 = spec.src.family == base::ip_family::v4;
  return ethernet_header::encoded_size + spec.tags.size() * vlan_header::encoded_size +
         (v4 ? ipv4_header::encoded_size : ipv6_header::encoded_size) +
         (spec.l4 == transport::udp ? udp_header::encoded_size : encoded_size(spec.tcp));
}

namespace {

[[nodiscard]] bool emit_link(const frame_spec& spec, base::byte_writer& out) noexcept {
  const std::uint16_t ip = spec.src.family == base::ip_family::v4 ? ethertype::ipv4 : ethertype::ipv6;
  const std::size_t tags = spec.tags.size();
  const std::uint16_t outer = tags == 0 ? ip : tags == 1 ? ethertype::vlan : ethertype::qinq;
  if (!emit(ethernet_header{spec.dst_mac, spec.src_mac, outer}, out)) return false;
  for (std::size_t i = 0; i < tags; ++i) {
    vlan_header tag = spec.tags[i];
    tag.type = i + 1 < tags ? ethertype::vlan : ip;
    if (!emit(tag, out)) return false;
  }
  return true;
}

[[nodiscard]] bool emit_network(const frame_spec& spec, std::size_t payload_size, base::byte_writer& out) noexcept {
  const std::uint8_t protocol = spec.l4 == transport::udp ? ip_protocol::udp : ip_protocol::tcp;
  if (spec.src.family == base::ip_family::v4)
    return emit(ipv4_header{.src = spec.src,
                            .dst = spec.dst,
                            .payload_size = payload_size,
                            .id = spec.ipv4_id,
                            .traffic_class = spec.traffic_class,
                            .ttl = spec.hop_limit,
                            .protocol = protocol},
                out);
  return emit(ipv6_header{.src = spec.src,
                          .dst = spec.dst,
                          .payload_size = payload_size,
                          .flow_label = spec.flow_label,
                          .traffic_class = spec.traffic_class,
                          .next_header = protocol,
                          .hop_limit = spec.hop_limit},
              out);
}

[[nodiscard]] bool emit_transport(const frame_spec& spec, const base::segments& payload,
                                  base::byte_writer& out) noexcept {
  const checksum_scope scope{spec.src, spec.dst, payload};
  if (spec.l4 == transport::udp) return emit(udp_header{spec.src_port, spec.dst_port}, scope, out);
  tcp_header tcp = spec.tcp;
  tcp.src_port = spec.src_port;
  tcp.dst_port = spec.dst_port;
  return emit(tcp, scope, out);
}

}  // namespace

bool emit_frame_headers(const frame_spec& spec, const base::segments& payload, base::byte_writer& out) noexcept {
  const std::size_t size = frame_headers_size(spec);
  if (size == 0 || out.room() < size) return false;
  base::byte_writer trial = out;
  const std::size_t transport_size = spec.l4 == transport::udp ? udp_header::encoded_size : encoded_size(spec.tcp);
  if (!emit_link(spec, trial) || !emit_network(spec, transport_size + payload.size(), trial) ||
      !emit_transport(spec, payload, trial))
    return false;
  out = trial;
  return true;
}

bool emit_frame(const frame_spec& spec, base::byte_view payload, base::byte_writer& out) noexcept {
  if (out.room() < payload.size()) return false;
  base::byte_writer trial = out;
  const base::byte_view parts[] = {payload};
  if (!emit_frame_headers(spec, base::segments(parts), trial) || !trial.bytes(payload)) return false;
  out = trial;
  return true;
}

}  // namespace millrace::net::wire
