// Tunnels: GRE, VXLAN, Geneve, GTP-U and IP in IP.

#include "net/wire/frames.hpp"

namespace millrace::net::wire {
namespace {

using test::be16;
using test::byte_list;
using test::ethernet;
using test::from_hex;
using test::ipv4;
using test::ipv6;
using test::join;
using test::read_ethernet;
using test::to_text;
using test::udp;
using test::vlan;

const byte_list payload = from_hex("c0ffee");

byte_list inner4() { return ipv4(17, udp(53, payload)); }
byte_list inner6() { return ipv6(17, udp(53, payload)); }

decoded read4(const byte_list& packet) { return read_ethernet(ethernet(0x0800, packet)); }

// `head`: the flags, and behind the type the optional fields.
byte_list gre(std::string_view head, std::uint16_t type, const byte_list& rest) {
  const byte_list fields = from_hex(head);
  const base::byte_view all(fields);
  return ipv4(47, join({all.first(2), be16(type), all.subspan(2), rest}));
}

TEST(gre, carries_ip_ethernet_and_mpls) {
  EXPECT_EQ(to_text(read4(gre("0000", 0x0800, inner4()))), "ethernet ipv4 gre >ipv4 udp");
  EXPECT_EQ(to_text(read4(gre("0000", 0x86DD, inner6()))), "ethernet ipv4 gre >ipv6 udp");
  EXPECT_EQ(to_text(read4(gre("0000", 0x6558, ethernet(0x8100, vlan(9, 0x0800, inner4()))))),
            "ethernet ipv4 gre >ethernet vlan:9 ipv4 udp");
  EXPECT_EQ(to_text(read4(gre("0000", 0x8847, join({from_hex("00064140"), inner4()})))),
            "ethernet ipv4 gre >mpls ipv4 udp");
  EXPECT_EQ(to_text(read_ethernet(ethernet(0x86DD, ipv6(47, join({from_hex("0000 0800"), inner4()}))))),
            "ethernet ipv6 gre >ipv4 udp");
}

TEST(gre, has_optional_fields) {
  EXPECT_EQ(to_text(read4(gre("8000 abcd0000", 0x0800, inner4()))), "ethernet ipv4 gre >ipv4 udp");
  EXPECT_EQ(to_text(read4(gre("2000 00000007", 0x0800, inner4()))), "ethernet ipv4 gre >ipv4 udp");
  EXPECT_EQ(to_text(read4(gre("1000 00000007", 0x0800, inner4()))), "ethernet ipv4 gre >ipv4 udp");
  const decoded d = read4(gre("b000 abcd0000 00000007 00000001", 0x0800, inner4()));
  EXPECT_EQ(to_text(d), "ethernet ipv4 gre >ipv4 udp");
  EXPECT_EQ(d.tunnel_depth, 1);
  EXPECT_EQ(d.dst_port, 53);
  EXPECT_EQ(to_text(read4(gre("03f8", 0x0800, inner4()))), "ethernet ipv4 gre >ipv4 udp");  // reserved bits 6 to 12
}

TEST(gre, refuses_what_it_does_not_speak) {
  EXPECT_EQ(read4(gre("4000 00000000", 0x0800, inner4())).why, defect::tunnel_unsupported);  // routing
  EXPECT_EQ(read4(gre("0800", 0x0800, inner4())).why, defect::tunnel_unsupported);           // strict source route
  EXPECT_EQ(read4(gre("0400", 0x0800, inner4())).why, defect::tunnel_unsupported);           // recursion
  EXPECT_EQ(read4(gre("2001 00000000", 0x880B, inner4())).why, defect::tunnel_unsupported);  // PPTP
  const decoded d = read4(gre("0000", 0x0000, {}));                                          // keepalive
  EXPECT_EQ(d.why, defect::tunnel_unsupported);
  EXPECT_EQ(to_text(d), "ethernet ipv4 gre other");
  EXPECT_EQ(d.l4, transport::other);
}

TEST(gre, that_is_cut_is_truncated) {
  EXPECT_EQ(read4(ipv4(47, from_hex("000008"))).why, defect::tunnel_truncated);
  EXPECT_EQ(read4(ipv4(47, from_hex("2000 0800 000000"))).why, defect::tunnel_truncated);
  EXPECT_EQ(read4(ipv4(47, from_hex("0000 0800"))).why, defect::ip_truncated);
}

byte_list vxlan(const byte_list& frame, std::uint8_t flags = 0x08) {
  const std::uint8_t header[] = {flags, 0, 0, 0, 0, 0, 100, 0};
  return join({header, frame});
}

TEST(vxlan, is_read_on_both_of_its_ports) {
  const byte_list frame = ethernet(0x0800, inner4());
  for (const std::uint16_t port : {std::uint16_t{4789}, std::uint16_t{8472}}) {
    const decoded d = read4(ipv4(17, udp(port, vxlan(frame))));
    EXPECT_EQ(to_text(d), "ethernet ipv4 udp vxlan >ethernet ipv4 udp");
    EXPECT_EQ(d.dst_port, 53);
    EXPECT_EQ(d.l3_offset, 14u + 20 + 8 + 8 + 14);
  }
  EXPECT_EQ(to_text(read4(ipv4(17, udp(4790, vxlan(frame))))), "ethernet ipv4 udp");
  EXPECT_EQ(to_text(read4(ipv4(17, udp(50000, vxlan(frame), 4789)))), "ethernet ipv4 udp");
  EXPECT_EQ(to_text(read_ethernet(ethernet(0x86DD, ipv6(17, udp(4789, vxlan(ethernet(0x86DD, inner6()))))))),
            "ethernet ipv6 udp vxlan >ethernet ipv6 udp");
}

TEST(vxlan, needs_its_flag_and_ignores_the_reserved_ones) {
  const byte_list frame = ethernet(0x0800, inner4());
  const decoded d = read4(ipv4(17, udp(4789, vxlan(frame, 0xF7))));
  EXPECT_EQ(d.why, defect::tunnel_malformed);
  EXPECT_EQ(d.dst_port, 4789);  // what was understood stands
  EXPECT_EQ(d.payload_length, frame.size() + 8);
  EXPECT_EQ(read4(ipv4(17, udp(4789, vxlan(frame, 0xFF)))).why, defect::none);
}

TEST(vxlan, that_is_cut_is_truncated) {
  EXPECT_EQ(read4(ipv4(17, udp(4789, from_hex("08000000000064")))).why, defect::tunnel_truncated);
  EXPECT_EQ(read4(ipv4(17, udp(4789, {}))).why, defect::tunnel_truncated);
  EXPECT_EQ(read4(ipv4(17, udp(4789, vxlan(from_hex("0200"))))).why, defect::link_truncated);
}

TEST(vxlan, inner_lengths_may_not_exceed_the_outer_ones) {
  byte_list frame = ethernet(0x0800, inner4());
  frame[17] = static_cast<std::uint8_t>(frame[17] + 1);  // the inner total length
  EXPECT_EQ(read4(ipv4(17, udp(4789, vxlan(frame)))).why, defect::ip_bad_total_length);
  // Alone, that frame may have been cut.
  EXPECT_EQ(read_ethernet(frame).why, defect::none);
}

byte_list geneve(std::uint16_t type, const byte_list& rest, const byte_list& options = {}, std::uint8_t version = 0) {
  const std::uint8_t head[] = {static_cast<std::uint8_t>(version << 6 | options.size() / 4), 0};
  return ipv4(17, udp(6081, join({head, be16(type), from_hex("00006400"), options, rest})));
}

TEST(geneve, carries_ethernet_and_ip) {
  EXPECT_EQ(to_text(read4(geneve(0x6558, ethernet(0x0800, inner4())))), "ethernet ipv4 udp geneve >ethernet ipv4 udp");
  EXPECT_EQ(to_text(read4(geneve(0x0800, inner4()))), "ethernet ipv4 udp geneve >ipv4 udp");
  EXPECT_EQ(to_text(read4(geneve(0x86DD, inner6()))), "ethernet ipv4 udp geneve >ipv6 udp");
  EXPECT_EQ(read4(geneve(0x0806, {})).why, defect::tunnel_unsupported);
}

TEST(geneve, skips_options_that_fill_their_room) {
  const byte_list two = from_hex("0102 80 01 deadbeef 0102 01 00");
  EXPECT_EQ(to_text(read4(geneve(0x0800, inner4(), two))), "ethernet ipv4 udp geneve >ipv4 udp");
  const byte_list beyond = from_hex("0102 80 01 deadbeef 0102 01 01");
  EXPECT_EQ(read4(geneve(0x0800, inner4(), beyond)).why, defect::tunnel_malformed);
  EXPECT_EQ(read4(geneve(0x0800, {}, byte_list(252))).why, defect::ip_truncated);  // 63 empty options, then nothing
}

TEST(geneve, refuses_versions_and_cuts) {
  EXPECT_EQ(read4(geneve(0x0800, inner4(), {}, 1)).why, defect::tunnel_unsupported);
  EXPECT_EQ(read4(ipv4(17, udp(6081, from_hex("00000800000064")))).why, defect::tunnel_truncated);
  EXPECT_EQ(read4(ipv4(17, udp(6081, from_hex("0100080000006400 010200")))).why, defect::tunnel_truncated);
}

byte_list gtpu(std::string_view head, std::size_t length, const byte_list& rest) {
  return ipv4(17, udp(2152, join({from_hex(head), be16(length), from_hex("00000001"), rest})));
}

TEST(gtpu, carries_ip_by_version) {
  EXPECT_EQ(to_text(read4(gtpu("30ff", inner4().size(), inner4()))), "ethernet ipv4 udp gtpu >ipv4 udp");
  EXPECT_EQ(to_text(read4(gtpu("30ff", inner6().size(), inner6()))), "ethernet ipv4 udp gtpu >ipv6 udp");
  EXPECT_EQ(read4(gtpu("30ff", 4, from_hex("00000000"))).why, defect::tunnel_unsupported);  // Ethernet or other
}

TEST(gtpu, has_optional_fields_and_extension_headers) {
  const byte_list sequence = join({from_hex("0001 00 00"), inner4()});
  EXPECT_EQ(to_text(read4(gtpu("32ff", sequence.size(), sequence))), "ethernet ipv4 udp gtpu >ipv4 udp");
  EXPECT_EQ(to_text(read4(gtpu("31ff", sequence.size(), sequence))), "ethernet ipv4 udp gtpu >ipv4 udp");
  // Sequence alone: the next-extension byte is there and means nothing.
  const byte_list stray = join({from_hex("0001 00 85"), inner4()});
  EXPECT_EQ(to_text(read4(gtpu("32ff", stray.size(), stray))), "ethernet ipv4 udp gtpu >ipv4 udp");
  const byte_list extended = join({from_hex("0001 00 85  01 1000 c0  02 aabbccddeeff 00"), inner4()});
  EXPECT_EQ(to_text(read4(gtpu("36ff", extended.size(), extended))), "ethernet ipv4 udp gtpu >ipv4 udp");
}

TEST(gtpu, bounds_and_checks_extension_headers) {
  const auto with_extensions = [](const byte_list& extensions) {
    const byte_list rest = join({from_hex("0001 00 85"), extensions});
    return read4(gtpu("34ff", rest.size(), rest)).why;
  };
  EXPECT_EQ(with_extensions(from_hex("00 000000")), defect::tunnel_malformed);
  EXPECT_EQ(with_extensions(from_hex("02 0000 00")), defect::tunnel_truncated);
  EXPECT_EQ(with_extensions({}), defect::tunnel_truncated);
  byte_list many;
  for (std::size_t i = 0; i < max_gtpu_extensions; ++i) many = join({many, from_hex("01 0000 85")});
  many.back() = 0;
  EXPECT_EQ(with_extensions(join({many, inner4()})), defect::none);
  many.back() = 0x85;
  EXPECT_EQ(with_extensions(join({many, from_hex("01 0000 00"), inner4()})), defect::tunnel_unsupported);
}

TEST(gtpu, stops_at_signalling_and_other_versions) {
  const decoded d = read4(gtpu("3201", 4, from_hex("00010000")));  // echo request
  EXPECT_EQ(d.why, defect::tunnel_unsupported);
  EXPECT_EQ(to_text(d), "ethernet ipv4 udp gtpu");
  EXPECT_EQ(read4(gtpu("50ff", inner4().size(), inner4())).why, defect::tunnel_unsupported);  // version 2
  EXPECT_EQ(read4(gtpu("20ff", inner4().size(), inner4())).why, defect::tunnel_unsupported);  // GTP'
}

TEST(gtpu, holds_its_length_against_the_datagram) {
  EXPECT_EQ(read4(gtpu("30ff", inner4().size() + 1, inner4())).why, defect::tunnel_malformed);
  EXPECT_EQ(read4(gtpu("30ff", inner4().size() - 1, inner4())).why, defect::ip_bad_total_length);
  EXPECT_EQ(read4(gtpu("30ff", 0, inner4())).why, defect::tunnel_truncated);
  EXPECT_EQ(read4(gtpu("32ff", 3, inner4())).why, defect::tunnel_truncated);
  EXPECT_EQ(read4(ipv4(17, udp(2152, from_hex("30ff0000000000")))).why, defect::tunnel_truncated);
}

TEST(ip_in_ip, is_read_in_all_four_pairs) {
  EXPECT_EQ(to_text(read4(ipv4(4, inner4()))), "ethernet ipv4 >ipv4 udp");
  EXPECT_EQ(to_text(read4(ipv4(41, inner6()))), "ethernet ipv4 >ipv6 udp");
  EXPECT_EQ(to_text(read_ethernet(ethernet(0x86DD, ipv6(4, inner4())))), "ethernet ipv6 >ipv4 udp");
  EXPECT_EQ(to_text(read_ethernet(ethernet(0x86DD, ipv6(41, inner6())))), "ethernet ipv6 >ipv6 udp");
  EXPECT_EQ(read4(ipv4(4, inner6())).why, defect::ip_bad_version);
}

TEST(ip_in_ip, keeps_the_outer_addresses_where_the_inner_header_is_broken) {
  const decoded d = read4(ipv4(4, from_hex("4500 0014")));
  EXPECT_EQ(d.why, defect::ip_truncated);
  EXPECT_EQ(to_text(d.dst), "10.0.0.2");
  EXPECT_EQ(d.l4, transport::other);
  EXPECT_EQ(d.ip_protocol, 4);
  EXPECT_EQ(d.tunnel_depth, 1);
}

TEST(ip_in_ip, forgets_the_outer_transport_inside) {
  const byte_list icmp = ipv4(1, from_hex("0800 0000 0001 0001"));
  const decoded d = read4(ipv4(17, udp(4789, vxlan(ethernet(0x0800, icmp)))));
  EXPECT_EQ(d.l4, transport::icmp);
  EXPECT_EQ(d.src_port, 0);
  EXPECT_EQ(d.dst_port, 0);
}

TEST(tunnels, nest_to_a_limit) {
  byte_list packet = inner4();
  for (std::size_t i = 0; i < max_tunnel_depth; ++i) packet = ipv4(4, packet);
  EXPECT_EQ(to_text(read4(packet)), "ethernet ipv4 >ipv4 >ipv4 >ipv4 >ipv4 udp");
  EXPECT_EQ(read4(packet).tunnel_depth, max_tunnel_depth);
  const decoded d = read4(ipv4(4, packet));
  EXPECT_EQ(d.why, defect::tunnel_too_deep);
  EXPECT_EQ(d.tunnel_depth, max_tunnel_depth);
}

TEST(tunnels, of_different_kinds_nest) {
  const byte_list in_gtpu = gtpu("30ff", inner4().size(), inner4());
  const byte_list in_vxlan = ipv4(17, udp(4789, vxlan(ethernet(0x8100, vlan(3, 0x0800, in_gtpu)))));
  const byte_list in_gre = gre("0000", 0x0800, in_vxlan);
  EXPECT_EQ(to_text(read4(in_gre)), "ethernet ipv4 gre >ipv4 udp vxlan >ethernet vlan:3 ipv4 udp gtpu >ipv4 udp");
}

TEST(layers, are_never_more_than_the_limit) {
  // Tags, extension headers and tunnels each within their own bound, together beyond the record's.
  byte_list options = udp(53, payload);
  for (const std::uint8_t next : byte_list{17, 60, 60, 60, 60, 60, 60}) {
    const std::uint8_t head[] = {next, 0, 1, 4, 0, 0, 0, 0};
    options = join({head, options});
  }
  byte_list frame = ipv6(60, options);
  const auto tagged = [](byte_list rest, std::uint16_t type) {
    for (std::size_t i = 0; i < max_link_tags; ++i) rest = vlan(1, i == 0 ? type : 0x8100, rest);
    return ethernet(0x8100, rest);
  };
  frame = ipv4(17, udp(4789, vxlan(tagged(frame, 0x86DD))));
  const decoded d = read_ethernet(tagged(frame, 0x0800));
  EXPECT_EQ(d.layers.size(), max_layers);
  EXPECT_EQ(d.why, defect::ip_bad_extension);
}

}  // namespace
}  // namespace millrace::net::wire
