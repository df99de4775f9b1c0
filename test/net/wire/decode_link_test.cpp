// Link layers, tags and PPP: what stands before the network layer.

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

decoded read(link_type link, const byte_list& frame) {
  decoded out = test::soiled();
  static_cast<void>(decode(frame, link, out));
  return out;
}

TEST(link_types, have_the_numbers_of_tcpdump_org) {
  const std::pair<std::uint32_t, link_type> numbers[] = {
      {0, link_type::null_loopback}, {1, link_type::ethernet},  {9, link_type::ppp},
      {50, link_type::ppp},          {12, link_type::raw_ip},   {14, link_type::raw_ip},
      {101, link_type::raw_ip},      {108, link_type::loop},    {113, link_type::linux_sll},
      {228, link_type::ipv4},        {229, link_type::ipv6},    {276, link_type::linux_sll2},
      {105, link_type::unknown},     {147, link_type::unknown}, {0xFFFFFFFF, link_type::unknown}};
  for (const auto& [number, link] : numbers) EXPECT_EQ(from_linktype_number(number), link) << number;
}

TEST(link_types, that_are_unknown_are_a_defect) {
  const decoded d = read(link_type::unknown, ethernet(0x0800, ipv4(17, udp(53, payload))));
  EXPECT_EQ(d.why, defect::link_unknown_type);
  EXPECT_TRUE(d.layers.empty());
}

TEST(ethernet, reads_udp_and_says_where_everything_lies) {
  const decoded d = read_ethernet(ethernet(0x0800, ipv4(17, udp(53, payload))));
  EXPECT_EQ(test::facts(d),
            "10.0.0.1:40000 > 10.0.0.2:53 l4=1 proto=17 why=none type=2048 depth=0 flags=0 l3@14 l4@34 payload@42+3/3");
  EXPECT_EQ(to_text(d), "ethernet ipv4 udp");
  EXPECT_EQ(d.layers[0].offset, 0u);
  EXPECT_EQ(d.layers[1].offset, 14u);
  EXPECT_EQ(d.layers[2].offset, 34u);
}

TEST(ethernet, does_not_take_padding_and_trailers_for_payload) {
  const byte_list padded = join({ethernet(0x0800, ipv4(17, udp(53, payload))), byte_list(15)});
  EXPECT_EQ(read_ethernet(padded).payload_length, 3u);
  const byte_list padded6 = join({ethernet(0x86DD, ipv6(17, udp(53, payload))), byte_list(8)});
  EXPECT_EQ(read_ethernet(padded6).payload_length, 3u);
}

TEST(ethernet, stops_at_arp_without_a_defect) {
  decoded d = read_ethernet(ethernet(0x0806, from_hex("0001080006040001")));
  EXPECT_EQ(d.why, defect::none);
  EXPECT_EQ(d.ethertype, 0x0806);
  EXPECT_EQ(to_text(d), "ethernet arp");
  EXPECT_FALSE(decode_fast(ethernet(0x0806, {}), d));
}

TEST(ethernet, names_the_type_it_does_not_know) {
  const decoded d = read_ethernet(ethernet(0x88CC, from_hex("0207")));
  EXPECT_EQ(d.why, defect::ethertype_unknown);
  EXPECT_EQ(to_text(d), "ethernet other:35020");
  EXPECT_EQ(d.ethertype, 0x88CC);
}

TEST(ethernet, that_is_empty_or_cut_is_truncated) {
  EXPECT_EQ(read_ethernet({}).why, defect::link_truncated);
  EXPECT_EQ(read_ethernet(byte_list(13)).why, defect::link_truncated);
}

TEST(llc, reads_ip_behind_snap_and_behind_its_own_access_point) {
  const byte_list packet = ipv4(17, udp(53, payload));
  const byte_list snap = join({from_hex("aaaa03 000000 0800"), packet});
  EXPECT_EQ(to_text(read_ethernet(join({ethernet(static_cast<std::uint16_t>(snap.size()), snap), byte_list(9)}))),
            "ethernet llc ipv4 udp");
  const byte_list bridged = join({from_hex("aaaa03 0000f8 0800"), packet});
  EXPECT_EQ(to_text(read_ethernet(ethernet(static_cast<std::uint16_t>(bridged.size()), bridged))),
            "ethernet llc ipv4 udp");
  const byte_list bare = join({from_hex("060603"), packet});
  EXPECT_EQ(to_text(read_ethernet(ethernet(static_cast<std::uint16_t>(bare.size()), bare))), "ethernet llc ipv4 udp");
}

TEST(llc, stops_at_what_is_not_ip) {
  const byte_list spanning_tree = join({from_hex("424203"), byte_list(35)});
  decoded d = read_ethernet(join({ethernet(38, spanning_tree), byte_list(8)}));
  EXPECT_EQ(d.why, defect::ethertype_unknown);
  EXPECT_EQ(to_text(d), "ethernet llc other:16962");
  d = read_ethernet(ethernet(8, from_hex("aaaa03 00000c 2000")));  // CDP: a vendor's number
  EXPECT_EQ(d.why, defect::ethertype_unknown);
  d = read_ethernet(ethernet(8, from_hex("aaaa03 000000 0040")));  // no ethertype
  EXPECT_EQ(d.why, defect::ethertype_unknown);
}

TEST(llc, holds_the_length_against_what_follows) {
  // The IP packet is longer than the 802.3 length says.
  const byte_list snap = join({from_hex("aaaa03 000000 0800"), ipv4(17, udp(53, payload))});
  EXPECT_EQ(read_ethernet(ethernet(static_cast<std::uint16_t>(snap.size() - 1), snap)).why,
            defect::ip_bad_total_length);
  // The length leaves no room for the LLC header itself.
  EXPECT_EQ(read_ethernet(ethernet(2, snap)).why, defect::length_contradiction);
  EXPECT_EQ(read_ethernet(ethernet(7, snap)).why, defect::length_contradiction);
  EXPECT_EQ(read_ethernet(ethernet(0, snap)).why, defect::length_contradiction);
  // 1501 to 1535 are neither length nor type.
  EXPECT_EQ(read_ethernet(ethernet(1501, snap)).why, defect::length_contradiction);
  EXPECT_EQ(read_ethernet(ethernet(1535, snap)).why, defect::length_contradiction);
  // The capture ends inside.
  EXPECT_EQ(read_ethernet(ethernet(100, from_hex("aaaa"))).why, defect::link_truncated);
  EXPECT_EQ(read_ethernet(ethernet(100, from_hex("aaaa03000000"))).why, defect::link_truncated);
}

TEST(vlan, reads_one_two_and_three_tags) {
  const byte_list packet = ipv4(17, udp(53, payload));
  EXPECT_EQ(to_text(read_ethernet(ethernet(0x8100, vlan(100, 0x0800, packet)))), "ethernet vlan:100 ipv4 udp");
  EXPECT_EQ(to_text(read_ethernet(ethernet(0x88A8, vlan(0xE0FF, 0x8100, vlan(2, 0x0800, packet))))),
            "ethernet qinq:255 vlan:2 ipv4 udp");
  EXPECT_EQ(to_text(read_ethernet(ethernet(0x9100, vlan(1, 0x9100, vlan(2, 0x8100, vlan(3, 0x0800, packet)))))),
            "ethernet qinq:1 qinq:2 vlan:3 ipv4 udp");
}

TEST(vlan, carries_802_3_lengths_too) {
  const byte_list snap = join({from_hex("aaaa03 000000 0800"), ipv4(17, udp(53, payload))});
  EXPECT_EQ(to_text(read_ethernet(ethernet(0x8100, vlan(5, static_cast<std::uint16_t>(snap.size()), snap)))),
            "ethernet vlan:5 llc ipv4 udp");
}

TEST(vlan, tags_are_bounded) {
  byte_list tags = vlan(1, 0x0800, ipv4(17, udp(53, payload)));
  for (std::size_t i = 1; i < max_link_tags; ++i) tags = vlan(1, 0x8100, tags);
  EXPECT_EQ(read_ethernet(ethernet(0x8100, tags)).why, defect::none);
  const decoded d = read_ethernet(ethernet(0x8100, vlan(1, 0x8100, tags)));
  EXPECT_EQ(d.why, defect::too_many_tags);
  EXPECT_EQ(d.layers.size(), 1 + max_link_tags);
}

TEST(vlan, that_is_cut_is_truncated) {
  EXPECT_EQ(read_ethernet(ethernet(0x8100, from_hex("0064"))).why, defect::link_truncated);
  EXPECT_EQ(read_ethernet(ethernet(0x8100, {})).why, defect::link_truncated);
}

TEST(mpls, reads_ip_by_label_and_by_first_nibble) {
  const byte_list packet4 = ipv4(17, udp(53, payload));
  const byte_list packet6 = ipv6(17, udp(53, payload));
  const byte_list stack = from_hex("00064040 000c8140");  // label 100, then 200 at the bottom
  EXPECT_EQ(to_text(read_ethernet(ethernet(0x8847, join({stack, packet4})))), "ethernet mpls mpls ipv4 udp");
  EXPECT_EQ(to_text(read_ethernet(ethernet(0x8848, join({stack, packet6})))), "ethernet mpls mpls ipv6 udp");
  EXPECT_EQ(to_text(read_ethernet(ethernet(0x8847, join({from_hex("00000140"), packet4})))), "ethernet mpls ipv4 udp");
  EXPECT_EQ(to_text(read_ethernet(ethernet(0x8847, join({from_hex("00002140"), packet6})))), "ethernet mpls ipv6 udp");
}

TEST(mpls, takes_an_explicit_null_at_its_word) {
  const byte_list packet6 = ipv6(17, udp(53, payload));
  EXPECT_EQ(read_ethernet(ethernet(0x8847, join({from_hex("00000140"), packet6}))).why, defect::ip_bad_version);
}

TEST(mpls, does_not_guess_what_else_a_stack_carries) {
  const byte_list pseudowire = join({from_hex("00064140 00000000"), ethernet(0x0800, ipv4(17, udp(53, payload)))});
  const decoded d = read_ethernet(ethernet(0x8847, pseudowire));
  EXPECT_EQ(d.why, defect::ethertype_unknown);
  EXPECT_EQ(to_text(d), "ethernet mpls other");
}

TEST(mpls, needs_a_bottom_and_something_under_it) {
  EXPECT_EQ(read_ethernet(ethernet(0x8847, from_hex("00064140"))).why, defect::mpls_malformed);
  EXPECT_EQ(read_ethernet(ethernet(0x8847, from_hex("000640"))).why, defect::mpls_malformed);
  EXPECT_EQ(read_ethernet(ethernet(0x8847, from_hex("00064040 00064040"))).why, defect::mpls_malformed);
  byte_list labels;
  for (std::size_t i = 0; i <= max_link_tags; ++i) labels = join({labels, from_hex("00064040")});
  EXPECT_EQ(read_ethernet(ethernet(0x8847, labels)).why, defect::too_many_tags);
}

byte_list pppoe(std::size_t length, const byte_list& rest, std::uint8_t code = 0) {
  const std::uint8_t head[] = {0x11, code, 0x12, 0x34};
  return join({head, be16(length), rest});
}

TEST(pppoe, reads_sessions_with_whole_and_compressed_protocol_fields) {
  const byte_list packet4 = ipv4(17, udp(53, payload));
  const byte_list packet6 = ipv6(17, udp(53, payload));
  const auto session = [](const byte_list& body) { return ethernet(0x8864, pppoe(body.size(), body)); };
  EXPECT_EQ(to_text(read_ethernet(session(join({from_hex("0021"), packet4})))), "ethernet pppoe_session ppp ipv4 udp");
  EXPECT_EQ(to_text(read_ethernet(session(join({from_hex("0057"), packet6})))), "ethernet pppoe_session ppp ipv6 udp");
  EXPECT_EQ(to_text(read_ethernet(session(join({from_hex("21"), packet4})))), "ethernet pppoe_session ppp ipv4 udp");
  EXPECT_EQ(to_text(read_ethernet(session(join({from_hex("0281 00064140"), packet4})))),
            "ethernet pppoe_session ppp mpls ipv4 udp");
}

TEST(pppoe, stops_at_control_protocols_and_discovery) {
  const byte_list lcp = from_hex("c021 01010004");
  decoded d = read_ethernet(ethernet(0x8864, pppoe(lcp.size(), lcp)));
  EXPECT_EQ(d.why, defect::ethertype_unknown);
  EXPECT_EQ(to_text(d), "ethernet pppoe_session ppp other:49185");
  d = read_ethernet(ethernet(0x8863, pppoe(4, from_hex("01010000"), 9)));
  EXPECT_EQ(d.why, defect::none);
  EXPECT_EQ(to_text(d), "ethernet pppoe_discovery");
}

TEST(pppoe, refuses_headers_that_cannot_be) {
  const byte_list body = join({from_hex("0021"), ipv4(17, udp(53, payload))});
  byte_list wrong_version = pppoe(body.size(), body);
  wrong_version[0] = 0x21;
  EXPECT_EQ(read_ethernet(ethernet(0x8864, wrong_version)).why, defect::pppoe_malformed);
  EXPECT_EQ(read_ethernet(ethernet(0x8864, pppoe(body.size(), body, 9))).why, defect::pppoe_malformed);
  EXPECT_EQ(read_ethernet(ethernet(0x8863, pppoe(body.size(), body, 0))).why, defect::pppoe_malformed);
  EXPECT_EQ(read_ethernet(ethernet(0x8864, pppoe(0, body))).why, defect::pppoe_malformed);
  EXPECT_EQ(read_ethernet(ethernet(0x8864, pppoe(1, body))).why, defect::pppoe_malformed);
  EXPECT_EQ(read_ethernet(ethernet(0x8864, pppoe(4, from_hex("00200000")))).why, defect::pppoe_malformed);  // even
  EXPECT_EQ(read_ethernet(ethernet(0x8864, pppoe(2 + 10, body))).why, defect::ip_truncated);
  EXPECT_EQ(read_ethernet(ethernet(0x8864, pppoe(2 + 25, body))).why, defect::ip_bad_total_length);
  EXPECT_EQ(read_ethernet(ethernet(0x8864, from_hex("1100123400"))).why, defect::link_truncated);
  EXPECT_EQ(read_ethernet(ethernet(0x8864, from_hex("11001234002000"))).why, defect::link_truncated);
}

TEST(pppoe, length_beyond_an_outer_one_is_a_contradiction) {
  const byte_list body = join({from_hex("0021"), ipv4(17, udp(53, payload))});
  const byte_list frame = ethernet(0x8864, pppoe(body.size() + 1, body));
  const byte_list vxlan = join({from_hex("0800000000000100"), frame});
  EXPECT_EQ(read_ethernet(ethernet(0x0800, ipv4(17, udp(4789, vxlan)))).why, defect::length_contradiction);
  // Alone, the same frame may simply have been cut by the capture.
  EXPECT_EQ(read_ethernet(frame).why, defect::none);
}

TEST(ppp, reads_with_and_without_hdlc_address_and_control) {
  const byte_list packet = ipv4(17, udp(53, payload));
  for (const std::string_view head : {"ff03 0021", "ff03 21", "0021", "21"}) {
    const decoded d = read(link_type::ppp, join({from_hex(head), packet}));
    EXPECT_EQ(to_text(d), "ppp ipv4 udp") << head;
    EXPECT_EQ(d.layers[0].offset, 0u);
    EXPECT_EQ(d.l3_offset, from_hex(head).size());
    EXPECT_EQ(d.ethertype, 0);
  }
  EXPECT_EQ(read(link_type::ppp, {}).why, defect::link_truncated);
  EXPECT_EQ(read(link_type::ppp, from_hex("ff03")).why, defect::link_truncated);
  EXPECT_EQ(read(link_type::ppp, from_hex("ff0300")).why, defect::link_truncated);
  EXPECT_EQ(read(link_type::ppp, from_hex("8f000800")).why, defect::ethertype_unknown);  // Cisco HDLC
}

TEST(linux_cooked, reads_both_versions) {
  const byte_list packet = ipv4(17, udp(53, payload));
  const decoded v1 = read(link_type::linux_sll, join({from_hex("0000 0001 0006 0123456789ab 0000 0800"), packet}));
  EXPECT_EQ(to_text(v1), "sll ipv4 udp");
  EXPECT_EQ(v1.ethertype, 0x0800);
  EXPECT_EQ(
      to_text(read(link_type::linux_sll2, join({from_hex("0800 0000 00000002 0001 00 06 0123456789ab 0000"), packet}))),
      "sll2 ipv4 udp");
  EXPECT_EQ(to_text(read(link_type::linux_sll,
                         join({from_hex("0000 0001 0006 0123456789ab 0000 8100"), vlan(7, 0x0800, packet)}))),
            "sll vlan:7 ipv4 udp");
}

TEST(linux_cooked, address_length_moves_nothing) {
  const byte_list packet = ipv4(17, udp(53, payload));
  EXPECT_EQ(to_text(read(link_type::linux_sll, join({from_hex("0000 0001 0014 0123456789abcdef 0800"), packet}))),
            "sll ipv4 udp");
}

TEST(linux_cooked, reads_llc_and_refuses_what_has_no_ethertype) {
  const byte_list packet = ipv4(17, udp(53, payload));
  EXPECT_EQ(to_text(read(link_type::linux_sll, join({from_hex("0000 0001 0006 0123456789ab 0000 0004"),
                                                     from_hex("aaaa03 000000 0800"), packet}))),
            "sll llc ipv4 udp");
  EXPECT_EQ(read(link_type::linux_sll, from_hex("0000 0001 0006 0123456789ab 0000 000c 00")).why,
            defect::ethertype_unknown);  // CAN
  EXPECT_EQ(read(link_type::linux_sll, from_hex("0004 0338 0000 0000000000000000 0000 00")).why,
            defect::link_unknown_type);  // netlink
  EXPECT_EQ(read(link_type::linux_sll2, from_hex("0000 0000 00000001 0338 04 00 0000000000000000 00")).why,
            defect::link_unknown_type);
  EXPECT_EQ(read(link_type::linux_sll, byte_list(15)).why, defect::link_truncated);
  EXPECT_EQ(read(link_type::linux_sll2, byte_list(19)).why, defect::link_truncated);
}

TEST(loopback, reads_families_in_either_byte_order) {
  const byte_list packet4 = ipv4(17, udp(53, payload));
  const byte_list packet6 = ipv6(17, udp(53, payload));
  EXPECT_EQ(to_text(read(link_type::null_loopback, join({from_hex("02000000"), packet4}))), "null_loopback ipv4 udp");
  EXPECT_EQ(to_text(read(link_type::null_loopback, join({from_hex("00000002"), packet4}))), "null_loopback ipv4 udp");
  for (const std::uint8_t family : byte_list{10, 24, 28, 30}) {
    const std::uint8_t little[] = {family, 0, 0, 0};
    const std::uint8_t big[] = {0, 0, 0, family};
    EXPECT_EQ(to_text(read(link_type::null_loopback, join({little, packet6}))), "null_loopback ipv6 udp");
    EXPECT_EQ(to_text(read(link_type::null_loopback, join({big, packet6}))), "null_loopback ipv6 udp");
    EXPECT_EQ(to_text(read(link_type::loop, join({big, packet6}))), "null_loopback ipv6 udp");
    EXPECT_EQ(read(link_type::loop, join({little, packet6})).why, defect::ethertype_unknown);
  }
  EXPECT_EQ(read(link_type::null_loopback, join({from_hex("07000000"), packet4})).why, defect::ethertype_unknown);
  EXPECT_EQ(read(link_type::null_loopback, join({from_hex("02000000"), packet6})).why, defect::ip_bad_version);
  EXPECT_EQ(read(link_type::null_loopback, from_hex("020000")).why, defect::link_truncated);
}

TEST(raw_ip, goes_by_the_version) {
  const byte_list packet4 = ipv4(17, udp(53, payload));
  const byte_list packet6 = ipv6(17, udp(53, payload));
  EXPECT_EQ(to_text(read(link_type::raw_ip, packet4)), "ipv4 udp");
  EXPECT_EQ(to_text(read(link_type::raw_ip, packet6)), "ipv6 udp");
  EXPECT_EQ(to_text(read(link_type::ipv4, packet4)), "ipv4 udp");
  EXPECT_EQ(to_text(read(link_type::ipv6, packet6)), "ipv6 udp");
  EXPECT_EQ(read(link_type::ipv4, packet6).why, defect::ip_bad_version);
  EXPECT_EQ(read(link_type::ipv6, packet4).why, defect::ip_bad_version);
  EXPECT_EQ(read(link_type::raw_ip, from_hex("50")).why, defect::ip_bad_version);
  EXPECT_EQ(read(link_type::raw_ip, {}).why, defect::ip_truncated);
}

TEST(names, exist_for_every_layer_kind) {
  for (int i = 0; i <= static_cast<int>(layer_kind::other); ++i)
    EXPECT_NE(to_string(static_cast<layer_kind>(i)), "unknown") << i;
  EXPECT_EQ(to_string(static_cast<layer_kind>(static_cast<int>(layer_kind::other) + 1)), "unknown");
}

}  // namespace
}  // namespace millrace::net::wire
