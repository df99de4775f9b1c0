// net/wire/decode.hpp - one captured or received frame, from its link layer down to the innermost transport payload.
//
// Shape    decode() walks link, tags, network, tunnels and transport, notes each header as a layer, and answers where
//          the payload of the innermost UDP or TCP header lies. Total: any bytes in, a result out; bounded work.
// Units    offsets and lengths are bytes from the start of the frame; lengths are as captured unless named wire_.
// Owner    nothing; `decoded` holds offsets and copied addresses, so it survives a move of the frame.
// Errors   defect says why decoding stopped early. What was understood before it stands in `decoded` all the same.
//          Frames that are whole and hold no transport header (ARP, PPPoE discovery, IGMP, later fragments, IPv6
//          without a next header) answer false with defect none; net/defects.hpp names the drop reason of either.
// Ends     a length that the headers around it contradict is a defect; one that only the capture does not reach is not:
//          what is there is decoded, and payload_truncated says so. Bytes behind an announced end (Ethernet padding,
//          trailers, RFC 9868 surplus) are not payload.
// Not here checksums (checksum.hpp), reassembly (a tunnel that arrives in fragments is not entered), ARP and ICMP
// bodies. Source   IEEE 802.1Q 802.3, RFC 791 8200 768 9293 3032 2516 1661 2784 2890 7348 8926, 3GPP TS 29.281,
// tcpdump.org. Tests    test/net/wire/decode_*_test.cpp, corpus pcap/encap, test/fuzz/net_decode_fuzz.cpp
#pragma once

#include "base/bytes.hpp"
#include "base/fixed_vector.hpp"
#include "base/ip_address.hpp"

namespace millrace::net::wire {

enum class link_type : std::uint8_t {
  unknown,
  ethernet,       // LINKTYPE_ETHERNET 1
  null_loopback,  // LINKTYPE_NULL 0: address family in the capturing host's byte order
  loop,           // LINKTYPE_LOOP 108: the same in network order
  ppp,            // LINKTYPE_PPP 9 and LINKTYPE_PPP_HDLC 50, with or without HDLC address and control
  raw_ip,         // LINKTYPE_RAW 101, and DLT 12/14: the version nibble decides
  ipv4,           // LINKTYPE_IPV4 228
  ipv6,           // LINKTYPE_IPV6 229
  linux_sll,      // LINKTYPE_LINUX_SLL 113
  linux_sll2,     // LINKTYPE_LINUX_SLL2 276
};

// The number in a pcap header or a pcapng interface description, as tcpdump.org assigns them.
[[nodiscard]] link_type from_linktype_number(std::uint32_t number) noexcept;

enum class layer_kind : std::uint8_t {
  ethernet,
  sll,
  sll2,
  null_loopback,
  ppp,
  vlan,
  qinq,  // 0x88a8 and the older 0x9100
  mpls,  // one layer a label
  pppoe_session,
  pppoe_discovery,
  arp,
  ipv4,
  ipv6,
  ipv6_extension,
  icmp,
  icmpv6,
  igmp,
  gre,
  vxlan,
  geneve,
  gtpu,
  udp,
  tcp,
  llc,
  other
};

struct layer {
  layer_kind kind{};
  std::uint8_t depth = 0;  // tunnels entered before this header; 0 = outermost
  std::uint16_t detail =
      0;  // vlan/qinq: VLAN ID; other: ethertype, PPP or IP protocol; ipv6_extension: its number; else 0
  std::uint32_t offset = 0;
};

enum class defect : std::uint8_t {
  none,
  link_truncated,
  link_unknown_type,
  ethertype_unknown,
  length_contradiction,
  too_many_tags,
  mpls_malformed,
  pppoe_malformed,
  ip_truncated,
  ip_bad_version,
  ip_bad_header_length,
  ip_bad_total_length,
  ip_bad_options,
  ip_bad_extension,
  ip_protocol_unknown,
  tunnel_truncated,
  tunnel_malformed,
  tunnel_unsupported,
  tunnel_too_deep,
  udp_truncated,
  udp_bad_length,
  tcp_truncated,
  tcp_bad_offset,
};

[[nodiscard]] std::string_view to_string(defect d) noexcept;
[[nodiscard]] std::string_view to_string(layer_kind k) noexcept;

enum class transport : std::uint8_t { none, udp, tcp, icmp, icmpv6, other };

inline constexpr std::size_t max_layers = 24;  // headers noted; deeper nesting is too_many_tags or tunnel_too_deep
inline constexpr std::size_t max_tunnel_depth = 4;
inline constexpr std::size_t max_link_tags = 8;        // VLAN tags and MPLS labels of one link-layer header
inline constexpr std::size_t max_ipv6_extensions = 8;  // of one IPv6 header
inline constexpr std::size_t max_gtpu_extensions = 8;  // of one GTP-U header

struct decoded {
  base::ip_address src;        // of the innermost IP header; family none when there was none
  base::ip_address dst;        // where a source route is still to be walked: its end, as checksums and flows see it
  std::uint16_t src_port = 0;  // host order; UDP and TCP only
  std::uint16_t dst_port = 0;
  transport l4 = transport::none;  // of the innermost IP header
  std::uint8_t ip_protocol = 0;    // behind IPv6 extension headers
  defect why = defect::none;
  bool fragment = false;           // any fragment; ports stand only for a first one
  bool first_fragment = false;     // its payload is what this fragment holds of it
  bool payload_truncated = false;  // the capture holds fewer payload bytes than the headers announce
  std::uint8_t tunnel_depth = 0;
  std::uint8_t tcp_flags = 0;
  std::uint16_t ethertype = 0;            // the last one seen, host order; 0 when there was none
  std::uint32_t l3_offset = 0;            // innermost IP header
  std::uint32_t l4_offset = 0;            // innermost transport header; later fragments: the fragment's data
  std::uint32_t payload_offset = 0;       // behind it; not UDP or TCP: the same as l4_offset
  std::uint32_t payload_length = 0;       // bytes of it that were captured
  std::uint32_t wire_payload_length = 0;  // bytes of it that the headers announce
  base::fixed_vector<layer, max_layers> layers;
};

// `frame`: the captured bytes. The result is written whole, whatever the answer; true = a transport header (or ICMP)
// was reached without a defect.
[[nodiscard]] bool decode(base::byte_view frame, link_type link, decoded& out) noexcept;

// The same walk without the record of layers: what the data path needs of Ethernet frames, at the lowest cost.
// `layers` stays empty. Differences in any other field are a bug (a test compares the two).
[[nodiscard]] bool decode_fast(base::byte_view frame, decoded& out) noexcept;

}  // namespace millrace::net::wire
