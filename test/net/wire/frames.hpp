// test/net/wire/frames.hpp - frames written out by hand, and the comparison of the two decoders.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "net/wire/decode.hpp"
#include "support/bytes.hpp"

namespace millrace::net::wire::test {

using millrace::test::byte_list;
using millrace::test::from_hex;
using millrace::test::join;
using millrace::test::to_hex;

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

// Raw bytes of both addresses count too, so that equal text cannot hide a dirty octet.
inline bool same(const decoded& a, const decoded& b) {
  return a.src == b.src && a.dst == b.dst && facts(a) == facts(b);
}

// decode() of an Ethernet frame, held against decode_fast() on the way.
inline decoded read_ethernet(base::byte_view frame) {
  decoded full = soiled();
  decoded fast = soiled();
  const bool full_answer = decode(frame, link_type::ethernet, full);
  const bool fast_answer = decode_fast(frame, fast);
  EXPECT_EQ(full_answer, fast_answer) << to_hex(frame);
  EXPECT_EQ(facts(full), facts(fast)) << to_hex(frame);
  EXPECT_TRUE(same(full, fast)) << to_hex(frame);
  EXPECT_TRUE(fast.layers.empty());
  EXPECT_EQ(full_answer, full.why == defect::none && full_answer);
  return full;
}

}  // namespace millrace::net::wire::test
