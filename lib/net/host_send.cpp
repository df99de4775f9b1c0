// The way out: route, neighbour, headers. UDP that goes at once takes the straight line at the end of this file; all
// else (echo replies, errors, fragments, what waits for an address) is copied into room of its own, piece by piece.

#include "net/host.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "net/wire/checksum.hpp"

namespace millrace::net {
namespace {

using base::ip_address;
using base::ip_family;
using stats::drop_reason;

constexpr std::uint32_t ipv4_size = 20;
constexpr std::uint32_t ipv6_size = 40;
constexpr std::uint32_t fragment_header_size = 8;
constexpr std::uint32_t udp_size = 8;
constexpr std::uint32_t longest_ip = 65535;  // what its length field can say

// The sums below are of words as the CPU loads them, like wire::sum_words().
[[nodiscard]] std::uint64_t sum_address_v4(const ip_address& a) noexcept { return base::load_le32(a.octets.data()); }
[[nodiscard]] std::uint64_t sum_address_v6(const ip_address& a) noexcept {
  const std::uint64_t low = base::load_le64(a.octets.data());
  const std::uint64_t high = base::load_le64(a.octets.data() + 8);
  return (low & 0xFFFF'FFFF) + (low >> 32) + (high & 0xFFFF'FFFF) + (high >> 32);
}
[[nodiscard]] std::uint16_t swapped(std::uint32_t value) noexcept {
  return __builtin_bswap16(static_cast<std::uint16_t>(value));
}

struct ipv4_fields {
  std::uint32_t total;
  std::uint16_t id;
  std::uint16_t flags_and_offset;
  std::uint8_t traffic_class;
  std::uint8_t ttl;
  std::uint8_t protocol;
  bool checksum;
};

// RFC 791 3.1. `addresses`: the sum of both.
void put_ipv4(std::uint8_t* p, const ipv4_fields& f, const ip_address& src, const ip_address& dst,
              std::uint64_t addresses) noexcept {
  const std::uint32_t first = 0x4500'0000u | static_cast<std::uint32_t>(f.traffic_class) << 16 | f.total;
  const std::uint32_t second = static_cast<std::uint32_t>(f.id) << 16 | f.flags_and_offset;
  const std::uint32_t third = static_cast<std::uint32_t>(f.ttl) << 24 | static_cast<std::uint32_t>(f.protocol) << 16;
  base::store_be32(p, first);
  base::store_be32(p + 4, second);
  std::uint16_t checksum = 0;
  if (f.checksum) {
    const std::uint64_t sum =
        addresses + __builtin_bswap32(first) + std::uint64_t{__builtin_bswap32(second)} + __builtin_bswap32(third);
    checksum = static_cast<std::uint16_t>(~wire::fold_sum(sum));
  }
  base::store_be32(p + 8, third);
  std::memcpy(p + 10, &checksum, 2);
  std::memcpy(p + 12, src.octets.data(), 4);
  std::memcpy(p + 16, dst.octets.data(), 4);
}

// RFC 8200 3.
void put_ipv6(std::uint8_t* p, std::uint32_t payload, std::uint8_t next, const ip_address& src, const ip_address& dst,
              std::uint32_t class_and_label, std::uint8_t hop_limit) noexcept {
  base::store_be32(p, 0x6000'0000 | class_and_label);
  base::store_be16(p + 4, static_cast<std::uint16_t>(payload));
  p[6] = next;
  p[7] = hop_limit;
  std::memcpy(p + 8, src.octets.data(), 16);
  std::memcpy(p + 24, dst.octets.data(), 16);
}

// RFC 6437 3: one label a flow, not to be guessed, the same on every queue.
[[nodiscard]] std::uint32_t flow_label(const udp_flow& flow, std::uint64_t seed) noexcept {
  const std::uint64_t ports = static_cast<std::uint64_t>(flow.local.port) << 16 | flow.remote.port;
  const std::uint8_t* const l = flow.local.address.octets.data();
  const std::uint8_t* const r = flow.remote.address.octets.data();
  const std::uint64_t one = base::hash_mix(base::load_le64(l) ^ seed, base::load_le64(r) ^ ~seed);
  const std::uint64_t two = base::hash_mix(base::load_le64(l + 8) ^ one, base::load_le64(r + 8) ^ seed ^ ports);
  return static_cast<std::uint32_t>(two & 0xF'FFFF);
}

}  // namespace

std::uint8_t* host::put_link(std::uint8_t* p, const wire::mac_address& dst, std::uint16_t type) const noexcept {
  std::memcpy(p, dst.octets.data(), 6);
  std::memcpy(p + 6, config_.mac.octets.data(), 6);
  p += 12;
  if (link_size_ != 14) {
    base::store_be16(p, wire::ethertype::vlan);
    base::store_be16(p + 2, *config_.vlan);
    p += 4;
  }
  base::store_be16(p, type);
  return p + 2;
}

host::hop host::find_hop(const ip_address& dst, std::uint64_t now) noexcept {
  const route_table::route* const route = routes_.find(dst);
  if (route == nullptr) return {.why = drop_reason::no_route};
  const ip_address& next = route->gateway.family == ip_family::none ? dst : route->gateway;
  neighbour* n = neighbours_.find(next);
  if (n == nullptr) {
    // RFC 1122 3.3.1.1: what no station can have is not asked for. Group MACs are computed, not resolved; we send to
    // groups only from neighbour discovery, which knows them.
    if (!wire::is_host_address(next) || addresses_.is_broadcast(next) || addresses_.find(next) != local_addresses::none)
      return {.why = drop_reason::no_route};
    n = neighbours_.obtain(next, now);
    if (n == nullptr) return {.why = drop_reason::neighbour_cache_full};
  }
  return {.mac = neighbours_.use(*n, now), .waiting = n};
}

// The longest packet to `dst`. `dont_fragment`: whether routers may be told not to cut it.
std::uint32_t host::packet_limit(const ip_address& dst, std::uint64_t now, bool& dont_fragment) const noexcept {
  const path_mtus::entry* const known = path_mtus_.find(dst, now);
  dont_fragment = known == nullptr || !known->below_least;
  return known == nullptr ? config_.mtu : std::min(config_.mtu, known->mtu);
}

std::size_t host::max_udp_payload(const ip_address& dst, std::uint64_t now) const noexcept {
  bool ignored = false;
  return packet_limit(dst, now, ignored) - (dst.family == ip_family::v4 ? ipv4_size : ipv6_size) - udp_size;
}

// Room for a frame: the sink's, or where it waits for its neighbour.
base::byte_span host::open_frame(const hop& to, std::size_t bytes, frame_sink& sink) noexcept {
  return to.mac != nullptr ? sink.take(bytes) : neighbours_.keep(*to.waiting, bytes);
}

stats::drop_reason host::emit_piece(const outgoing& what, const base::segments& payload, const piece& part,
                                    const hop& to, frame_sink& sink) noexcept {
  const bool v4 = what.src.family == ip_family::v4;
  const std::uint32_t ip_size = v4 ? ipv4_size : ipv6_size + (part.fragment ? fragment_header_size : 0);
  const base::byte_span room = open_frame(to, link_size_ + ip_size + part.size, sink);
  if (room.empty()) {
    if (to.mac == nullptr) return drop_reason::neighbour_queue_full;
    figures_.no_packet.add(1);
    return drop_reason::mempool_empty;
  }
  std::uint8_t* p = put_link(room.data(), to.mac != nullptr ? *to.mac : wire::mac_address{},
                             v4 ? wire::ethertype::ipv4 : wire::ethertype::ipv6);
  if (v4) {
    // RFC 6864 4.1: the identifier matters for what may be cut.
    const std::uint32_t flags = (part.dont_fragment ? 0x4000u : 0u) | (part.more ? 0x2000u : 0u) | part.offset / 8;
    put_ipv4(p,
             {.total = ipv4_size + part.size,
              .id = static_cast<std::uint16_t>(part.id),
              .flags_and_offset = static_cast<std::uint16_t>(flags),
              .traffic_class = what.traffic_class,
              .ttl = what.hop_limit,
              .protocol = what.protocol,
              .checksum = true},
             what.src, what.dst, sum_address_v4(what.src) + sum_address_v4(what.dst));
    p += ipv4_size;
  } else {
    put_ipv6(p, ip_size - ipv6_size + part.size, part.fragment ? wire::ip_protocol::fragment : what.protocol, what.src,
             what.dst, static_cast<std::uint32_t>(what.traffic_class) << 20, what.hop_limit);
    p += ipv6_size;
    if (part.fragment) {  // RFC 8200 4.5
      p[0] = what.protocol;
      p[1] = 0;
      base::store_be16(p + 2, static_cast<std::uint16_t>(part.offset | (part.more ? 1u : 0u)));
      base::store_be32(p + 4, part.id);
      p += fragment_header_size;
    }
  }
  payload.copy_out(part.offset, {p, part.size});
  return drop_reason::none;
}

tx_answer host::send_pieces(const outgoing& what, const base::segments& payload, const hop& to, std::uint32_t limit,
                            frame_sink& sink) noexcept {
  const bool v4 = what.src.family == ip_family::v4;
  // RFC 791 3.2, RFC 8200 4.5: eights of bytes but for the last.
  const std::uint32_t step = (limit - (v4 ? ipv4_size : ipv6_size + fragment_header_size)) / 8 * 8;
  const auto size = static_cast<std::uint32_t>(payload.size());
  const std::uint32_t id = next_id_;
  next_id_ += config_.instances;
  // All of a datagram or nothing, where we can see it coming: its pieces would only be a burden.
  const std::uint32_t count = (size + step - 1) / step;
  if (to.mac == nullptr && count > config_.limits.pending_per_neighbour)
    return {tx_what::dropped, drop_reason::neighbour_queue_full};
  for (std::uint32_t at = 0; at < size; at += step) {
    const piece part{.offset = at,
                     .size = std::min(step, size - at),
                     .id = id,
                     .fragment = true,
                     .more = size - at > step,
                     .dont_fragment = false};
    const drop_reason why = emit_piece(what, payload, part, to, sink);
    if (why != drop_reason::none) return {tx_what::dropped, why};
    figures_.fragments_sent.add(1);
  }
  figures_.datagrams_fragmented.add(1);
  return {tx_what::kept};
}

tx_answer host::send_ip(const outgoing& what, const base::segments& payload, std::uint64_t now,
                        frame_sink& sink) noexcept {
  const hop to = find_hop(what.dst, now);
  if (to.waiting == nullptr) return {tx_what::dropped, to.why};
  piece whole{.size = static_cast<std::uint32_t>(payload.size())};
  const std::uint32_t limit = packet_limit(what.dst, now, whole.dont_fragment);
  const std::uint32_t header = what.src.family == ip_family::v4 ? ipv4_size : ipv6_size;
  // RFC 791 3.1: of the whole packet. RFC 8200 3: of what follows the header.
  if (payload.size() > (what.src.family == ip_family::v4 ? longest_ip - ipv4_size : longest_ip))
    return {tx_what::dropped, drop_reason::ip_too_big};
  if (header + payload.size() > limit) {
    if (!what.may_fragment) return {tx_what::dropped, drop_reason::ip_too_big};
    return send_pieces(what, payload, to, limit, sink);
  }
  if (!whole.dont_fragment) {
    whole.id = next_id_;
    next_id_ += config_.instances;
  }
  const drop_reason why = emit_piece(what, payload, whole, to, sink);
  return why == drop_reason::none ? tx_answer{tx_what::kept} : tx_answer{tx_what::dropped, why};
}

// UDP that must wait for an address or be cut: header and payload together are what IP carries.
tx_answer host::send_udp_slowly(const udp_flow& flow, const base::segments& payload, std::uint64_t now,
                                frame_sink& sink) noexcept {
  std::array<std::uint8_t, udp_size> header;
  base::byte_writer writer(header);
  const wire::checksum_scope scope{flow.local.address, flow.remote.address, payload};
  if (!emit(wire::udp_header{flow.local.port, flow.remote.port}, scope, writer))
    return {tx_what::dropped, drop_reason::ip_too_big};
  constexpr std::size_t max_parts = 32;
  std::array<base::byte_view, max_parts> parts;
  if (payload.parts().size() >= max_parts) return {tx_what::dropped, drop_reason::ip_too_big};
  parts[0] = header;
  std::copy(payload.parts().begin(), payload.parts().end(), parts.begin() + 1);
  const outgoing what{.src = flow.local.address,
                      .dst = flow.remote.address,
                      .protocol = wire::ip_protocol::udp,
                      .traffic_class = flow.traffic_class,
                      .hop_limit = flow.hop_limit,
                      .may_fragment = flow.may_fragment};
  return send_ip(what, base::segments(std::span(parts).first(payload.parts().size() + 1)), now, sink);
}

tx_answer host::send_udp(const udp_flow& flow, base::byte_span headers, const base::segments& payload,
                         std::uint64_t now, frame_sink& sink) noexcept {
  const ip_address& src = flow.local.address;
  const ip_address& dst = flow.remote.address;
  const bool v4 = src.family == ip_family::v4;
  if (src.family != dst.family || src.family == ip_family::none || headers.size() != headers_size(src.family)) {
    figures_.udp_dropped.add(1);
    return {tx_what::dropped, drop_reason::no_route};
  }
  const hop to = find_hop(dst, now);
  bool dont_fragment = true;
  const std::uint32_t limit = packet_limit(dst, now, dont_fragment);
  const std::size_t udp_length = udp_size + payload.size();
  const std::uint32_t ip_size = v4 ? ipv4_size : ipv6_size;
  if (to.mac == nullptr || ip_size + udp_length > limit || !dont_fragment) [[unlikely]] {
    const tx_answer answer =
        to.waiting == nullptr ? tx_answer{tx_what::dropped, to.why} : send_udp_slowly(flow, payload, now, sink);
    (answer.what == tx_what::dropped ? figures_.udp_dropped : figures_.udp_kept).add(1);
    return answer;
  }

  std::uint8_t* p = put_link(headers.data(), *to.mac, v4 ? wire::ethertype::ipv4 : wire::ethertype::ipv6);
  const std::uint64_t addresses =
      v4 ? sum_address_v4(src) + sum_address_v4(dst) : sum_address_v6(src) + sum_address_v6(dst);
  if (v4) {
    put_ipv4(p,
             {.total = static_cast<std::uint32_t>(ipv4_size + udp_length),
              .id = 0,
              .flags_and_offset = 0x4000,
              .traffic_class = flow.traffic_class,
              .ttl = flow.hop_limit,
              .protocol = wire::ip_protocol::udp,
              .checksum = !config_.offload.tx_ipv4},
             src, dst, addresses);
  } else {
    put_ipv6(p, static_cast<std::uint32_t>(udp_length), wire::ip_protocol::udp, src, dst,
             static_cast<std::uint32_t>(flow.traffic_class) << 20 | flow_label(flow, config_.seed), flow.hop_limit);
  }
  p += ip_size;
  // RFC 768; the pseudo-header's words, then the header's and the payload's.
  std::uint64_t sum = addresses + swapped(wire::ip_protocol::udp) + swapped(static_cast<std::uint32_t>(udp_length));
  std::uint16_t checksum = 0;
  if (config_.offload.tx_udp) {
    checksum = wire::fold_sum(sum);
  } else {
    sum += std::uint64_t{swapped(flow.local.port)} + swapped(flow.remote.port) +
           swapped(static_cast<std::uint32_t>(udp_length));
    if (payload.parts().size() == 1) [[likely]] {
      sum += wire::sum_words(payload.parts()[0]);
      checksum = static_cast<std::uint16_t>(~wire::fold_sum(sum));
    } else {
      wire::internet_sum rest;
      rest.add(payload);
      checksum = static_cast<std::uint16_t>(
          ~wire::fold_sum(sum + __builtin_bswap16(static_cast<std::uint16_t>(~rest.checksum()))));
    }
    if (checksum == 0) checksum = 0xFFFF;
  }
  base::store_be16(p, flow.local.port);
  base::store_be16(p + 2, flow.remote.port);
  base::store_be16(p + 4, static_cast<std::uint16_t>(udp_length));
  std::memcpy(p + 6, &checksum, 2);
  figures_.udp_ready.add(1);
  return {tx_what::ready};
}

}  // namespace millrace::net
