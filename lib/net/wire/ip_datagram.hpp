// net/wire/ip_datagram.hpp - an IP packet as the host that it is addressed to reads it.
//
// Shape    parse_ipv4() and parse_ipv6() read the headers up to what the packet carries. Unlike decode(), which looks
//          through tunnels for analysis, these stop at the first upper-layer header and say what a refused header is
//          answered with.
// Units    offsets and sizes are bytes from the start of the IP header, identifiers in host order.
// Owner    nothing; offsets only.
// Errors   ip_problem: what is wrong, and the ICMP error that it earns. An error's `type` is none_type where the packet
//          is dropped in silence. Total: any bytes in, bounded work, no read past the end.
// Limits   max_ipv6_extensions headers, max_ipv6_options options over all of them (padding included).
// Not here checksums, addresses that may not be, reassembly (reassembler.hpp).
// Source   RFC 791 3.1, RFC 1122 3.2.1, RFC 8200 3, 4, RFC 5095 3, RFC 6946 4, RFC 7112 5.
// Tests    test/net/host_ip_test.cpp, test/fuzz/net_host_fuzz.cpp
#pragma once

#include "base/ip_address.hpp"
#include "net/wire/decode.hpp"
#include "net/wire/icmp.hpp"
#include "net/wire/numbers.hpp"

namespace millrace::net::wire {

inline constexpr std::size_t max_ipv6_options = 32;

enum class ip_fault : std::uint8_t {
  none,
  truncated,
  bad_version,
  bad_header_length,
  bad_total_length,
  bad_options,       // IPv4 options with a lying length
  source_route,      // an IPv4 source route: refused, walked or not
  bad_extension,     // an IPv6 extension header with a lying length, out of place, or too many
  unknown_option,    // an IPv6 option that asks to be refused by who does not know it
  routing_header,    // segments left in a routing header: we forward nothing
  unknown_header,    // a next header that nobody here reads
  no_next_header,    // whole, and nothing in it
  bad_fragment,      // a fragment whose length or offset cannot be
  incomplete_chain,  // a first fragment without all headers
};

inline constexpr std::uint8_t no_icmp = 0xFF;

struct ip_problem {
  ip_fault what = ip_fault::none;
  std::uint8_t icmp_type = no_icmp;  // of the packet's own family; no_icmp: silence
  std::uint8_t icmp_code = 0;
  bool even_to_multicast = false;  // RFC 4443 2.4 e: the few errors a multicast packet earns
  std::uint32_t pointer = 0;       // parameter problems: the byte that is wrong

  explicit constexpr operator bool() const noexcept { return what != ip_fault::none; }
};

struct ip_datagram {
  base::ip_address src;
  base::ip_address dst;
  std::uint8_t protocol = 0;  // upper layer; of a fragment that is not whole: what its first header names
  std::uint8_t hop_limit = 0;
  std::uint8_t traffic_class = 0;
  bool dont_fragment = false;
  bool fragment = false;  // a part of a datagram; an atomic fragment (RFC 6946) is not one
  bool more_fragments = false;
  std::uint32_t fragment_offset = 0;    // bytes
  std::uint32_t id = 0;                 // of fragments
  std::uint32_t fragment_named_at = 0;  // IPv6: the byte that announced the fragment header
  std::uint32_t payload_offset = 0;     // behind all headers; of a fragment: its data
  std::uint32_t size = 0;               // headers and payload, as announced: bytes behind it are padding
  std::uint32_t protocol_at = 0;        // the byte that named `protocol`

  [[nodiscard]] std::uint32_t payload_size() const noexcept { return size - payload_offset; }
};

// `packet`: from the IP header to the end of the frame.
[[nodiscard]] ip_problem parse_ipv4(base::byte_view packet, ip_datagram& out) noexcept;
[[nodiscard]] ip_problem parse_ipv6(base::byte_view packet, ip_datagram& out) noexcept;

// Which upper layer a packet carries and where it begins, whatever is wrong with the headers in between: so that errors
// are not answered with errors. False: there is none in sight (a later fragment, a chain that is cut).
struct upper_layer {
  std::uint8_t protocol = 0;
  std::uint32_t at = 0;
};
[[nodiscard]] bool find_upper_layer(base::byte_view packet, upper_layer& out) noexcept;

}  // namespace millrace::net::wire
