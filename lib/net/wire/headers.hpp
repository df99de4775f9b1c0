// net/wire/headers.hpp - headers written: Ethernet, VLAN, IPv4, IPv6, UDP, TCP, and the frame they make together.
//
// Shape    one struct a header, one emit() each; emit_frame_headers() writes a whole stack for a payload that the
//          caller keeps elsewhere, emit_frame() the payload too. Checksums are filled.
// Units    sizes are bytes; numbers in host order.
// Owner    nothing.
// Errors   false: no room, or a field that the header cannot say (a size beyond 65535, addresses of the wrong family,
//          options that are no multiple of four). The writer is then where it was.
// Source   IEEE 802.3, IEEE 802.1Q 9, RFC 791 3.1, RFC 8200 3, RFC 768, RFC 9293 3.1.
// Tests    test/net/wire/headers_test.cpp
#pragma once

#include <array>

#include "base/byte_writer.hpp"
#include "base/fixed_vector.hpp"
#include "base/ip_address.hpp"
#include "base/segments.hpp"
#include "net/wire/decode.hpp"
#include "net/wire/numbers.hpp"

namespace millrace::net::wire {

struct mac_address {
  std::array<std::uint8_t, 6> octets{};

  friend constexpr bool operator==(const mac_address&, const mac_address&) noexcept = default;
};

struct ethernet_header {
  static constexpr std::size_t encoded_size = 14;
  mac_address dst;
  mac_address src;
  std::uint16_t type = ethertype::ipv4;
};
[[nodiscard]] bool emit(const ethernet_header& header, base::byte_writer& out) noexcept;

// What follows a header whose type is ethertype::vlan or ::qinq.
struct vlan_header {
  static constexpr std::size_t encoded_size = 4;
  std::uint16_t id = 0;       // 0 to 4095; 0 is priority alone
  std::uint8_t priority = 0;  // 0 to 7
  bool drop_eligible = false;
  std::uint16_t type = ethertype::ipv4;
};
[[nodiscard]] bool emit(const vlan_header& header, base::byte_writer& out) noexcept;

struct ipv4_header {
  static constexpr std::size_t encoded_size = 20;  // without options, which we never send
  base::ip_address src;
  base::ip_address dst;
  std::size_t payload_size = 0;  // behind this header
  std::uint16_t id = 0;
  std::uint16_t fragment_offset = 0;  // in eights of bytes, to 8191
  bool dont_fragment = true;
  bool more_fragments = false;
  std::uint8_t traffic_class = 0;  // DSCP and ECN
  std::uint8_t ttl = 64;
  std::uint8_t protocol = ip_protocol::udp;
};
[[nodiscard]] bool emit(const ipv4_header& header, base::byte_writer& out) noexcept;

struct ipv6_header {
  static constexpr std::size_t encoded_size = 40;
  base::ip_address src;
  base::ip_address dst;
  std::size_t payload_size = 0;  // behind this header, extension headers included
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint8_t traffic_class = 0;
  std::uint8_t next_header = ip_protocol::udp;
  std::uint8_t hop_limit = 64;
};
[[nodiscard]] bool emit(const ipv6_header& header, base::byte_writer& out) noexcept;

// Where a transport header's checksum takes the rest from.
struct checksum_scope {
  const base::ip_address& src;
  const base::ip_address& dst;
  const base::segments& payload;  // what will follow the header; read, not copied
};

struct udp_header {
  static constexpr std::size_t encoded_size = 8;
  std::uint16_t src_port = 0;
  std::uint16_t dst_port = 0;
};
[[nodiscard]] bool emit(const udp_header& header, const checksum_scope& scope, base::byte_writer& out) noexcept;

namespace tcp_flag {
inline constexpr std::uint8_t fin = 0x01;
inline constexpr std::uint8_t syn = 0x02;
inline constexpr std::uint8_t rst = 0x04;
inline constexpr std::uint8_t psh = 0x08;
inline constexpr std::uint8_t ack = 0x10;
inline constexpr std::uint8_t urg = 0x20;
inline constexpr std::uint8_t ece = 0x40;  // RFC 3168
inline constexpr std::uint8_t cwr = 0x80;
}  // namespace tcp_flag

struct tcp_header {
  static constexpr std::size_t min_encoded_size = 20;
  static constexpr std::size_t max_encoded_size = 60;
  std::uint16_t src_port = 0;
  std::uint16_t dst_port = 0;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgment = 0;
  std::uint16_t window = 0xFFFF;  // before scaling
  std::uint16_t urgent = 0;
  std::uint8_t flags = tcp_flag::ack;
  base::byte_view options;  // padded by the caller to a multiple of 4, at most 40; borrowed for the call
};
[[nodiscard]] constexpr std::size_t encoded_size(const tcp_header& header) noexcept {
  return tcp_header::min_encoded_size + header.options.size();
}
[[nodiscard]] bool emit(const tcp_header& header, const checksum_scope& scope, base::byte_writer& out) noexcept;

// One frame of one flow: the stack from Ethernet to UDP or TCP.
struct frame_spec {
  mac_address dst_mac;
  mac_address src_mac;
  base::fixed_vector<vlan_header, 2> tags;  // outermost first; their types are filled in, 0x88a8 then 0x8100 where two
  base::ip_address src;                     // its family decides which IP header is written
  base::ip_address dst;
  std::uint16_t src_port = 0;
  std::uint16_t dst_port = 0;
  transport l4 = transport::udp;  // or tcp
  std::uint8_t hop_limit = 64;
  std::uint8_t traffic_class = 0;
  std::uint16_t ipv4_id = 0;
  std::uint32_t flow_label = 0;
  tcp_header tcp;  // of it everything but the ports; read where l4 is tcp
};

inline constexpr std::size_t max_frame_headers_size = 14 + 2 * 4 + 40 + tcp_header::max_encoded_size;

// Exact size of the headers; 0 where no such frame exists (families that differ, a transport without ports).
[[nodiscard]] std::size_t frame_headers_size(const frame_spec& spec) noexcept;
[[nodiscard]] bool emit_frame_headers(const frame_spec& spec, const base::segments& payload,
                                      base::byte_writer& out) noexcept;
[[nodiscard]] bool emit_frame(const frame_spec& spec, base::byte_view payload, base::byte_writer& out) noexcept;

}  // namespace millrace::net::wire
