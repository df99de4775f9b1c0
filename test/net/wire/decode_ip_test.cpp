// Both IP versions, UDP, TCP and what else an IP protocol number leads to.

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
using test::tcp;
using test::to_text;
using test::udp;

const byte_list payload = from_hex("c0ffee");

decoded read4(byte_list packet) { return read_ethernet(ethernet(0x0800, packet)); }
decoded read6(byte_list packet) { return read_ethernet(ethernet(0x86DD, packet)); }

byte_list with(byte_list packet, std::size_t at, std::initializer_list<int> values) {
  for (const int value : values) packet[at++] = static_cast<std::uint8_t>(value);
  return packet;
}

// --- IPv4

TEST(decode_ipv4, reads_options) {
  const decoded d = read4(ipv4(17, udp(53, payload), from_hex("94040000 01010100")));
  EXPECT_EQ(d.why, defect::none);
  EXPECT_EQ(d.l4_offset, 14u + 28u);
  EXPECT_EQ(to_text(d), "ethernet ipv4 udp");
}

TEST(decode_ipv4, refuses_options_with_a_lying_length) {
  for (const std::string_view options : {"94000000", "94010000", "94050000", "01010194", "0101ff02 01010744"})
    EXPECT_EQ(read4(ipv4(17, udp(53, payload), from_hex(options))).why, defect::ip_bad_options) << options;
}

TEST(decode_ipv4, does_not_look_behind_the_end_of_options) {
  EXPECT_EQ(read4(ipv4(17, udp(53, payload), from_hex("00ff00ff"))).why, defect::none);
}

TEST(decode_ipv4, takes_the_end_of_a_source_route_for_the_destination) {
  // RFC 791 3.1: pointer 4, two hops to go; the last is where the datagram ends.
  const byte_list route = from_hex("830b04 c0000201 c0000202 00");
  EXPECT_EQ(to_text(read4(ipv4(17, udp(53, payload), route)).dst), "192.0.2.2");
  EXPECT_EQ(to_text(read4(ipv4(17, udp(53, payload), with(route, 0, {0x89}))).dst), "192.0.2.2");
  // Walked to its end: the header's own destination stands.
  EXPECT_EQ(to_text(read4(ipv4(17, udp(53, payload), with(route, 2, {12}))).dst), "10.0.0.2");
  EXPECT_EQ(read4(ipv4(17, udp(53, payload), from_hex("83020000"))).why, defect::ip_bad_options);
}

TEST(decode_ipv4, refuses_header_lengths_that_cannot_be) {
  const byte_list packet = ipv4(17, udp(53, payload));
  for (int ihl = 0; ihl < 5; ++ihl)
    EXPECT_EQ(read4(with(packet, 0, {0x40 | ihl})).why, defect::ip_bad_header_length) << ihl;
  // 28 bytes of header in a packet that says 31 altogether are fine; 32 are not.
  EXPECT_EQ(read4(with(packet, 0, {0x48})).why, defect::ip_bad_header_length);
}

TEST(decode_ipv4, refuses_total_lengths_that_cannot_be) {
  const byte_list packet = ipv4(17, udp(53, payload));
  EXPECT_EQ(read4(with(packet, 2, {0, 0})).why, defect::ip_bad_total_length);
  EXPECT_EQ(read4(with(packet, 2, {0, 19})).why, defect::ip_bad_total_length);
  EXPECT_EQ(read4(with(packet, 2, {0, 20})).why, defect::udp_truncated);
}

TEST(decode_ipv4, takes_a_length_the_capture_does_not_reach_for_a_cut) {
  const byte_list whole = ethernet(0x0800, ipv4(17, udp(53, byte_list(100))));
  const decoded d = read_ethernet(base::byte_view(whole).first(60));
  EXPECT_EQ(d.why, defect::none);
  EXPECT_TRUE(d.payload_truncated);
  EXPECT_EQ(d.payload_length, 60u - 42u);
  EXPECT_EQ(d.wire_payload_length, 100u);
}

TEST(decode_ipv4, takes_a_total_length_of_zero_only_for_offloaded_segments) {
  const auto zero = [](std::uint8_t protocol, const byte_list& rest) { return with(ipv4(protocol, rest), 2, {0, 0}); };
  const decoded d = read4(zero(6, tcp(443, byte_list(3000))));
  EXPECT_EQ(d.why, defect::none);
  EXPECT_EQ(d.payload_length, 3000u);
  EXPECT_EQ(d.wire_payload_length, 3000u);
  EXPECT_EQ(read4(zero(17, udp(443, byte_list(3000)))).payload_length, 3000u);
  EXPECT_EQ(read4(zero(6, tcp(443, byte_list(535)))).why, defect::ip_bad_total_length);
  EXPECT_EQ(read4(zero(6, tcp(443, byte_list(536)))).why, defect::none);
  EXPECT_EQ(read4(zero(1, byte_list(3000))).why, defect::ip_bad_total_length);
  EXPECT_EQ(read4(with(zero(6, tcp(443, byte_list(3000))), 6, {0x20, 0})).why, defect::ip_bad_total_length);
  // Inside anything that announces a length there is nothing to guess.
  EXPECT_EQ(read4(ipv4(4, zero(6, tcp(443, byte_list(3000))))).why, defect::ip_bad_total_length);
}

TEST(decode_ipv4, refuses_another_version) {
  EXPECT_EQ(read4(with(ipv4(17, udp(53, payload)), 0, {0x55})).why, defect::ip_bad_version);
  EXPECT_EQ(read4(ipv6(17, udp(53, payload))).why, defect::ip_bad_version);
}

TEST(decode_ipv4, reads_ports_of_a_first_fragment_alone) {
  // 64 bytes of a 1000-byte datagram.
  const byte_list datagram = with(udp(53, byte_list(56)), 4, {1000 >> 8, 1000 & 255});
  decoded d = read4(with(ipv4(17, datagram), 6, {0x20, 0}));
  EXPECT_EQ(d.why, defect::none);
  EXPECT_TRUE(d.fragment);
  EXPECT_TRUE(d.first_fragment);
  EXPECT_EQ(d.dst_port, 53);
  EXPECT_EQ(d.payload_length, 56u);
  EXPECT_EQ(d.wire_payload_length, 56u);
  EXPECT_FALSE(d.payload_truncated);

  for (const int flags : {0x20, 0x00}) {  // the next one, the last one
    const byte_list frame = ethernet(0x0800, with(ipv4(17, datagram), 6, {flags, 8}));
    d = read_ethernet(frame);
    EXPECT_EQ(d.why, defect::none);
    EXPECT_TRUE(d.fragment);
    EXPECT_FALSE(d.first_fragment);
    EXPECT_EQ(d.l4, transport::udp);
    EXPECT_EQ(d.src_port, 0);
    EXPECT_EQ(d.dst_port, 0);
    EXPECT_EQ(d.payload_offset, d.l4_offset);
    EXPECT_EQ(d.payload_length, 64u);
    EXPECT_EQ(to_text(d), "ethernet ipv4");
    decoded again;
    EXPECT_FALSE(decode(frame, link_type::ethernet, again));
  }
}

TEST(decode_ipv4, ignores_dont_fragment_and_the_reserved_flag) {
  EXPECT_FALSE(read4(with(ipv4(17, udp(53, payload)), 6, {0xC0, 0})).fragment);
}

TEST(decode_ipv4, does_not_enter_a_tunnel_that_came_in_fragments) {
  const byte_list inner = ethernet(0x0800, ipv4(17, udp(53, payload)));
  const byte_list vxlan = udp(4789, join({from_hex("0800000000000100"), inner}));
  decoded d = read4(with(ipv4(17, vxlan), 6, {0x20, 0}));
  EXPECT_EQ(to_text(d), "ethernet ipv4 udp");
  EXPECT_EQ(d.dst_port, 4789);
  for (const std::uint8_t protocol : byte_list{4, 41, 47}) {
    d = read4(with(ipv4(protocol, ipv4(17, udp(53, payload))), 6, {0x20, 0}));
    EXPECT_EQ(to_text(d), "ethernet ipv4") << int{protocol};
    EXPECT_EQ(d.why, defect::none);
    EXPECT_EQ(d.l4, transport::other);
  }
}

TEST(decode_ipv4, stops_at_icmp_and_does_not_read_what_it_quotes) {
  const byte_list quoted = join({from_hex("0303 0000 00000000"), ipv4(17, udp(53, payload))});
  const byte_list frame = ethernet(0x0800, ipv4(1, quoted));
  const decoded d = read_ethernet(frame);
  EXPECT_EQ(to_text(d), "ethernet ipv4 icmp");
  EXPECT_EQ(d.l4, transport::icmp);
  EXPECT_EQ(d.src_port, 0);
  EXPECT_EQ(d.payload_offset, d.l4_offset);
  EXPECT_EQ(d.payload_length, quoted.size());
  decoded again;
  EXPECT_TRUE(decode(frame, link_type::ethernet, again));
}

TEST(decode_ipv4, names_protocols_it_does_not_look_into) {
  decoded d = read4(ipv4(132, byte_list(12)));
  EXPECT_EQ(d.why, defect::ip_protocol_unknown);
  EXPECT_EQ(to_text(d), "ethernet ipv4 other:132");
  EXPECT_EQ(d.ip_protocol, 132);
  EXPECT_EQ(d.l4, transport::other);
  EXPECT_EQ(read4(ipv4(58, byte_list(12))).why, defect::ip_protocol_unknown);  // ICMPv6 is none of IPv4's
  EXPECT_EQ(read4(ipv4(59, {})).why, defect::ip_protocol_unknown);
  EXPECT_EQ(read4(ipv4(0, byte_list(12))).why, defect::ip_protocol_unknown);
  d = read4(ipv4(2, byte_list(8)));
  EXPECT_EQ(d.why, defect::none);
  EXPECT_EQ(to_text(d), "ethernet ipv4 igmp");
}

TEST(decode_ipv4, reads_behind_an_authentication_header) {
  const byte_list ah = from_hex("11 04 0000 00000001 00000001 0102030405060708090a0b0c");
  decoded d = read4(ipv4(51, join({ah, udp(53, payload)})));
  EXPECT_EQ(to_text(d), "ethernet ipv4 other:51 udp");
  EXPECT_EQ(d.ip_protocol, 17);
  EXPECT_EQ(read4(ipv4(51, with(join({ah, udp(53, payload)}), 1, {0}))).why, defect::ip_bad_extension);
  EXPECT_EQ(read4(ipv4(51, with(join({ah, udp(53, payload)}), 1, {40}))).why, defect::ip_bad_extension);
  EXPECT_EQ(read4(ipv4(51, from_hex("110400"))).why, defect::ip_bad_extension);
}

// --- IPv6

byte_list options_header(std::uint8_t next, const byte_list& options) {
  const std::uint8_t head[] = {next, static_cast<std::uint8_t>((options.size() + 2) / 8 - 1)};
  return join({head, options});
}

const byte_list padded = from_hex("010400000000");  // PadN over six bytes

byte_list fragment_header(std::uint8_t next, std::uint16_t offset, bool more) {
  const std::uint8_t head[] = {next, 0};
  return join({head, be16(offset * 8u + (more ? 1u : 0u)), from_hex("12345678")});
}

TEST(decode_ipv6, reads_udp) {
  const decoded d = read6(ipv6(17, udp(53, payload)));
  EXPECT_EQ(test::facts(d),
            "2001:db8::1:40000 > 2001:db8::2:53 l4=1 proto=17 why=none type=34525 depth=0 flags=0 l3@14 "
            "l4@54 payload@62+3/3");
}

TEST(decode_ipv6, walks_extension_headers) {
  const byte_list routing = from_hex("3c 00 0300 00000000");  // type 3, no segments left
  const byte_list mobile = options_header(139, padded);       // destination options before HIP
  const byte_list hip = options_header(140, padded);
  const byte_list shim = options_header(51, padded);
  const byte_list ah = from_hex("87 04 0000 00000001 00000001 0102030405060708090a0b0c");
  const byte_list mobility = options_header(17, padded);
  const byte_list packet =
      ipv6(0, join({options_header(43, padded), routing, mobile, hip, shim, ah, mobility, udp(53, payload)}));
  const decoded d = read6(packet);
  EXPECT_EQ(d.why, defect::none);
  EXPECT_EQ(to_text(d),
            "ethernet ipv6 ipv6_extension ipv6_extension:43 ipv6_extension:60 ipv6_extension:139 ipv6_extension:140 "
            "ipv6_extension:51 ipv6_extension:135 udp");
  EXPECT_EQ(d.ip_protocol, 17);
  EXPECT_EQ(d.dst_port, 53);
}

TEST(decode_ipv6, bounds_the_extension_headers) {
  const auto chain = [](std::size_t count) {
    byte_list out = udp(53, payload);
    for (std::size_t i = 0; i < count; ++i) out = join({options_header(i == 0 ? 17 : 60, padded), out});
    return ipv6(60, out);
  };
  EXPECT_EQ(read6(chain(max_ipv6_extensions)).why, defect::none);
  const decoded d = read6(chain(max_ipv6_extensions + 1));
  EXPECT_EQ(d.why, defect::ip_bad_extension);
  EXPECT_EQ(d.layers.size(), 2 + max_ipv6_extensions);
}

TEST(decode_ipv6, wants_hop_by_hop_options_first) {
  EXPECT_EQ(read6(ipv6(60, join({options_header(0, padded), options_header(17, padded), udp(53, payload)}))).why,
            defect::ip_bad_extension);
}

TEST(decode_ipv6, refuses_extension_headers_with_a_lying_length) {
  const byte_list rest = join({options_header(17, padded), udp(53, payload)});
  EXPECT_EQ(read6(ipv6(60, with(rest, 1, {2}))).why, defect::ip_bad_extension);
  EXPECT_EQ(read6(ipv6(60, with(rest, 1, {255}))).why, defect::ip_bad_extension);
  EXPECT_EQ(read6(ipv6(60, from_hex("11000104"))).why, defect::ip_bad_extension);
  EXPECT_EQ(read6(ipv6(51, join({from_hex("1100 0000 00000001"), udp(53, payload)}))).why, defect::ip_bad_extension);
  // Cut by the capture, the length may be true.
  const byte_list frame = ethernet(0x86DD, ipv6(60, rest));
  EXPECT_EQ(read_ethernet(base::byte_view(frame).first(58)).why, defect::ip_truncated);
  EXPECT_EQ(read_ethernet(base::byte_view(frame).first(61)).why, defect::ip_truncated);
}

TEST(decode_ipv6, refuses_options_that_overrun_their_header) {
  EXPECT_EQ(read6(ipv6(60, join({options_header(17, from_hex("010500000000")), udp(53, payload)}))).why,
            defect::ip_bad_extension);
  EXPECT_EQ(read6(ipv6(0, join({options_header(17, from_hex("000000000005")), udp(53, payload)}))).why,
            defect::ip_bad_extension);
  EXPECT_EQ(read6(ipv6(0, join({options_header(17, from_hex("000000000000")), udp(53, payload)}))).why, defect::none);
}

TEST(decode_ipv6, refuses_jumbograms) {
  const byte_list jumbo = join({options_header(17, from_hex("c20400010000")), udp(53, payload)});
  EXPECT_EQ(read6(with(ipv6(0, jumbo), 4, {0, 0})).why, defect::ip_bad_total_length);
  EXPECT_EQ(read6(ipv6(0, jumbo)).why, defect::ip_bad_extension);  // RFC 2675 3: not beside a payload length
}

TEST(decode_ipv6, takes_a_payload_length_of_zero_at_its_word) {
  EXPECT_EQ(read6(with(ipv6(17, udp(53, payload)), 4, {0, 0})).why, defect::udp_truncated);
  EXPECT_EQ(read6(with(ipv6(6, tcp(443, byte_list(3000))), 4, {0, 0})).payload_length, 3000u);  // offload
  const decoded d = read6(ipv6(59, {}));
  EXPECT_EQ(d.why, defect::none);
  EXPECT_EQ(d.l4, transport::none);
  EXPECT_EQ(d.ip_protocol, 59);
}

TEST(decode_ipv6, reads_ports_of_a_first_fragment_alone) {
  const byte_list datagram = with(udp(53, byte_list(56)), 4, {1000 >> 8, 1000 & 255});
  decoded d = read6(ipv6(44, join({fragment_header(17, 0, true), datagram})));
  EXPECT_EQ(d.why, defect::none);
  EXPECT_TRUE(d.fragment && d.first_fragment);
  EXPECT_EQ(d.dst_port, 53);
  d = read6(ipv6(44, join({fragment_header(17, 8, false), datagram})));
  EXPECT_EQ(d.why, defect::none);
  EXPECT_TRUE(d.fragment && !d.first_fragment);
  EXPECT_EQ(d.dst_port, 0);
  EXPECT_EQ(d.ip_protocol, 17);
  EXPECT_EQ(to_text(d), "ethernet ipv6 ipv6_extension:44");
}

TEST(decode_ipv6, does_not_read_headers_out_of_a_later_fragment) {
  // Next header says destination options, but this fragment's bytes are the middle of something.
  const decoded d = read6(ipv6(44, join({fragment_header(60, 8, true), byte_list(16, 0xFF)})));
  EXPECT_EQ(d.why, defect::none);
  EXPECT_EQ(d.ip_protocol, 60);
  EXPECT_EQ(d.payload_length, 16u);
}

TEST(decode_ipv6, takes_an_atomic_fragment_for_a_whole_packet) {
  const decoded d = read6(ipv6(44, join({fragment_header(17, 0, false), udp(53, payload)})));
  EXPECT_FALSE(d.fragment);
  EXPECT_EQ(d.dst_port, 53);
}

TEST(decode_ipv6, takes_the_end_of_a_route_for_the_destination) {
  const byte_list first = from_hex("20010db8000000000000000000000a01");
  const byte_list second = from_hex("20010db8000000000000000000000a02");
  const auto dst = [&](const std::string_view head, std::initializer_list<base::byte_view> addresses) {
    const decoded d = read6(ipv6(43, join({from_hex(head), join(addresses), udp(53, payload)})));
    EXPECT_EQ(d.why, defect::none) << head;
    return to_text(d.dst);
  };
  EXPECT_EQ(dst("11 04 00 02 00000000", {first, second}), "2001:db8::a02");  // type 0
  EXPECT_EQ(dst("11 02 02 01 00000000", {first}), "2001:db8::a01");          // type 2
  EXPECT_EQ(dst("11 04 04 01 01000000", {first, second}), "2001:db8::a01");  // type 4: from the last to the first
  EXPECT_EQ(dst("11 04 04 00 01000000", {first, second}), "2001:db8::2");    // arrived
  EXPECT_EQ(dst("11 02 03 01 00000000", {first}), "2001:db8::2");            // type 3 compresses: left alone
  EXPECT_EQ(dst("11 00 00 01 00000000", {}), "2001:db8::2");                 // no address at all
}

TEST(decode_ipv6, stops_at_icmpv6_but_not_at_icmp) {
  decoded d = read6(ipv6(58, join({from_hex("0100 0000 00000000"), ipv6(17, udp(53, payload))})));
  EXPECT_EQ(to_text(d), "ethernet ipv6 icmpv6");
  EXPECT_EQ(d.l4, transport::icmpv6);
  EXPECT_EQ(read6(ipv6(1, byte_list(8))).why, defect::ip_protocol_unknown);
  EXPECT_EQ(read6(ipv6(2, byte_list(8))).why, defect::ip_protocol_unknown);
}

// --- UDP and TCP

TEST(decode_udp, refuses_lengths_that_cannot_be) {
  const byte_list datagram = udp(53, payload);
  for (const int length : {0, 1, 7}) {
    EXPECT_EQ(read4(ipv4(17, with(datagram, 4, {0, length}))).why, defect::udp_bad_length) << length;
    EXPECT_EQ(read6(ipv6(17, with(datagram, 4, {0, length}))).why, defect::udp_bad_length) << length;
  }
  EXPECT_EQ(read4(ipv4(17, with(datagram, 4, {0, 12}))).why, defect::udp_bad_length);
  EXPECT_EQ(read6(ipv6(17, with(datagram, 4, {0xFF, 0xFF}))).why, defect::udp_bad_length);
}

TEST(decode_udp, does_not_take_surplus_for_payload) {
  const decoded d = read4(ipv4(17, with(udp(53, payload), 4, {0, 9})));
  EXPECT_EQ(d.why, defect::none);
  EXPECT_EQ(d.payload_length, 1u);
  EXPECT_EQ(d.wire_payload_length, 1u);
  EXPECT_EQ(read4(ipv4(17, with(udp(53, payload), 4, {0, 8}))).payload_length, 0u);
}

TEST(decode_udp, that_is_cut_is_truncated) {
  EXPECT_EQ(read4(ipv4(17, from_hex("9c40003500"))).why, defect::udp_truncated);
  const byte_list frame = ethernet(0x0800, ipv4(17, udp(53, payload)));
  EXPECT_EQ(read_ethernet(base::byte_view(frame).first(41)).why, defect::udp_truncated);
  const decoded d = read_ethernet(base::byte_view(frame).first(42));
  EXPECT_EQ(d.why, defect::none);
  EXPECT_TRUE(d.payload_truncated);
  EXPECT_EQ(d.payload_length, 0u);
  EXPECT_EQ(d.wire_payload_length, 3u);
}

TEST(decode_tcp, reads_options_and_flags) {
  const decoded d = read4(ipv4(6, tcp(443, payload, from_hex("020405b4 01010402"))));
  EXPECT_EQ(
      test::facts(d),
      "10.0.0.1:40000 > 10.0.0.2:443 l4=2 proto=6 why=none type=2048 depth=0 flags=24 l3@14 l4@34 payload@62+3/3");
}

TEST(decode_tcp, refuses_offsets_that_cannot_be) {
  const byte_list segment = tcp(443, payload);
  for (int words = 0; words < 5; ++words) {
    EXPECT_EQ(read4(ipv4(6, with(segment, 12, {words << 4}))).why, defect::tcp_bad_offset) << words;
    EXPECT_EQ(read6(ipv6(6, with(segment, 12, {words << 4}))).why, defect::tcp_bad_offset) << words;
  }
  EXPECT_EQ(read4(ipv4(6, with(segment, 12, {0x60}))).why, defect::tcp_bad_offset);
  EXPECT_EQ(read4(ipv4(6, with(segment, 12, {0xF0}))).why, defect::tcp_bad_offset);
}

TEST(decode_tcp, that_is_cut_by_capture_or_fragment_is_truncated) {
  const byte_list frame = ethernet(0x0800, ipv4(6, tcp(443, payload, from_hex("020405b4"))));
  EXPECT_EQ(read_ethernet(base::byte_view(frame).first(53)).why, defect::tcp_truncated);
  EXPECT_EQ(read_ethernet(base::byte_view(frame).first(57)).why, defect::tcp_truncated);
  EXPECT_TRUE(read_ethernet(base::byte_view(frame).first(58)).payload_truncated);
  EXPECT_EQ(read4(ipv4(6, byte_list(19))).why, defect::tcp_truncated);
  // RFC 1858 3: a first fragment too small for its header.
  const byte_list tiny = with(ipv4(6, with(tcp(443, {}), 12, {0x80})), 6, {0x20, 0});
  EXPECT_EQ(read4(tiny).why, defect::tcp_truncated);
}

}  // namespace
}  // namespace millrace::net::wire
