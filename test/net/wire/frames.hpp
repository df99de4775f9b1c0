// test/net/wire/frames.hpp - frames written out by hand, and the comparison of the two decoders.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "net/wire/decode.hpp"
#include "net/wire/invariants.hpp"
#include "support/bytes.hpp"

namespace millrace::net::wire::test {

using millrace::test::byte_list;
using millrace::test::from_hex;
using millrace::test::join;
using millrace::test::to_hex;

inline byte_list be16(std::size_t value) {
  return {static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
}

// Headers around a payload, lengths right, checksums zero (decode() does not look at them).
inline byte_list ethernet(std::uint16_t type, const byte_list& rest) {
  return join({from_hex("020000000002 020000000001"), be16(type), rest});
}
inline byte_list vlan(std::uint16_t id, std::uint16_t type, const byte_list& rest) {
  return join({be16(id), be16(type), rest});
}
inline byte_list ipv4(std::uint8_t protocol, const byte_list& rest, const byte_list& options = {}) {
  const std::uint8_t first = static_cast<std::uint8_t>(0x45 + options.size() / 4);
  const std::uint8_t head[] = {first, 0};
  const std::uint8_t middle[] = {0x12, 0x34, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2};
  return join({head, be16(20 + options.size() + rest.size()), middle, options, rest});
}
inline byte_list ipv6(std::uint8_t next, const byte_list& rest) {
  const std::uint8_t next_and_hops[] = {next, 64};
  return join({from_hex("60000000"), be16(rest.size()), next_and_hops,
               from_hex("20010db8000000000000000000000001 20010db8000000000000000000000002"), rest});
}
inline byte_list udp(std::uint16_t dst_port, const byte_list& rest, std::uint16_t src_port = 40000) {
  return join({be16(src_port), be16(dst_port), be16(8 + rest.size()), be16(0), rest});
}
inline byte_list tcp(std::uint16_t dst_port, const byte_list& rest, const byte_list& options = {}) {
  const std::uint8_t offset_and_flags[] = {static_cast<std::uint8_t>((5 + options.size() / 4) << 4), 0x18};
  return join({be16(40000), be16(dst_port), from_hex("0000000100000002"), offset_and_flags, from_hex("0400 0000 0000"),
               options, rest});
}

inline std::string to_text(const base::ip_address& address) {
  std::string out(base::ip_address::max_text_size, '\0');
  out.resize(address.format_to(out));
  return out;
}

// "ethernet vlan:100 ipv4 udp": details in decimal behind a colon, tunnels deeper behind a '>'.
inline std::string to_text(const decoded& frame) {
  std::ostringstream out;
  std::uint8_t depth = 0;
  for (const layer& l : frame.layers.view()) {
    if (&l != frame.layers.begin()) out << ' ';
    for (; depth < l.depth; ++depth) out << '>';
    out << to_string(l.kind);
    if (l.detail != 0) out << ':' << l.detail;
  }
  return out.str();
}

// A result that no decoder leaves, so that a field it forgets shows.
inline decoded soiled() {
  decoded out;
  out.src = base::ip_address{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, base::ip_family::v6};
  out.dst = out.src;
  out.src_port = out.dst_port = out.ethertype = 0xAAAA;
  out.l4 = transport::icmp;
  out.ip_protocol = out.tunnel_depth = out.tcp_flags = 0xAA;
  out.why = defect::too_many_tags;
  out.fragment = out.first_fragment = out.payload_truncated = true;
  out.l3_offset = out.l4_offset = out.payload_offset = out.payload_length = out.wire_payload_length = 0xAAAA'AAAA;
  static_cast<void>(out.layers.push_back({layer_kind::igmp, 9, 9, 9}));
  return out;
}

// Every field but the layers, as text, so that a difference reads well.
inline std::string facts(const decoded& d) {
  std::ostringstream out;
  out << to_text(d.src) << ':' << d.src_port << " > " << to_text(d.dst) << ':' << d.dst_port
      << " l4=" << static_cast<int>(d.l4) << " proto=" << static_cast<int>(d.ip_protocol) << " why=" << to_string(d.why)
      << " type=" << d.ethertype << " depth=" << static_cast<int>(d.tunnel_depth)
      << " flags=" << static_cast<int>(d.tcp_flags) << " l3@" << d.l3_offset << " l4@" << d.l4_offset << " payload@"
      << d.payload_offset << '+' << d.payload_length << '/' << d.wire_payload_length;
  if (d.fragment) out << (d.first_fragment ? " first_fragment" : " fragment");
  if (d.payload_truncated) out << " truncated";
  return out.str();
}

// decode() of an Ethernet frame, held against decode_fast() and the rules on the way.
inline decoded read_ethernet(base::byte_view frame) {
  decoded full = soiled();
  decoded fast = soiled();
  const bool full_answer = decode(frame, link_type::ethernet, full);
  const bool fast_answer = decode_fast(frame, fast);
  if (full_answer != fast_answer || !same(full, fast)) {
    ADD_FAILURE() << "decode() " << full_answer << ' ' << facts(full) << "\ndecode_fast() " << fast_answer << ' '
                  << facts(fast) << '\n'
                  << to_hex(frame);
  }
  const char* const broken = broken_rule(frame, full, full_answer);
  if (broken != nullptr) ADD_FAILURE() << broken << ": " << facts(full) << '\n' << to_hex(frame);
  EXPECT_TRUE(fast.layers.empty());
  return full;
}

}  // namespace millrace::net::wire::test
