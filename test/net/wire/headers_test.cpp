#include "net/wire/headers.hpp"

#include <gtest/gtest.h>

#include "net/wire/checksum.hpp"
#include "net/wire/frames.hpp"
#include "support/guard_page.hpp"

namespace millrace::net::wire {
namespace {

using test::byte_list;
using test::from_hex;

base::ip_address ip(std::string_view text) { return base::ip_address::parse(text).value(); }

frame_spec spec_of(bool v6, transport l4, std::size_t tags) {
  frame_spec spec;
  spec.dst_mac = {{0x02, 0, 0, 0, 0, 2}};
  spec.src_mac = {{0x02, 0, 0, 0, 0, 1}};
  for (std::size_t i = 0; i < tags; ++i)
    static_cast<void>(spec.tags.push_back({.id = static_cast<std::uint16_t>(100 + i), .priority = 5}));
  spec.src = ip(v6 ? "2001:db8::1" : "192.0.2.1");
  spec.dst = ip(v6 ? "2001:db8::2" : "192.0.2.2");
  spec.src_port = 40000;
  spec.dst_port = 443;
  spec.l4 = l4;
  spec.tcp.flags = tcp_flag::psh | tcp_flag::ack;
  return spec;
}

template <class Header>
byte_list emitted(const Header& header) {
  byte_list room(64);
  base::byte_writer out(room);
  EXPECT_TRUE(emit(header, out));
  room.resize(out.size());
  return room;
}

TEST(headers, writes_ethernet_and_vlan) {
  EXPECT_EQ(emitted(ethernet_header{{{1, 2, 3, 4, 5, 6}}, {{7, 8, 9, 10, 11, 12}}, 0x86DD}),
            from_hex("010203040506 0708090a0b0c 86dd"));
  EXPECT_EQ(emitted(vlan_header{.id = 0xABC, .priority = 5, .drop_eligible = true, .type = 0x0800}),
            from_hex("babc 0800"));
}

TEST(headers, refuses_a_vlan_tag_that_cannot_be) {
  byte_list room(4);
  base::byte_writer out(room);
  EXPECT_FALSE(emit(vlan_header{.id = 4096}, out));
  EXPECT_FALSE(emit(vlan_header{.priority = 8}, out));
  EXPECT_EQ(out.size(), 0u);
}

TEST(headers, writes_ipv4_with_its_checksum) {
  const byte_list header = emitted(ipv4_header{.src = ip("192.168.0.1"),
                                               .dst = ip("192.168.0.199"),
                                               .payload_size = 0x73 - 20,
                                               .id = 0,
                                               .ttl = 64,
                                               .protocol = 17});
  EXPECT_EQ(header, from_hex("4500 0073 0000 4000 4011 b861 c0a8 0001 c0a8 00c7"));
}

TEST(headers, writes_ipv4_fragments) {
  const byte_list header = emitted(ipv4_header{.src = ip("10.0.0.1"),
                                               .dst = ip("10.0.0.2"),
                                               .payload_size = 8,
                                               .id = 0x1234,
                                               .fragment_offset = 0x1FFF,
                                               .dont_fragment = false,
                                               .more_fragments = true});
  EXPECT_EQ(base::load_be16(header.data() + 4), 0x1234);
  EXPECT_EQ(base::load_be16(header.data() + 6), 0x3FFF);
  EXPECT_EQ(internet_checksum(header), 0);
}

TEST(headers, writes_ipv6) {
  const byte_list header = emitted(ipv6_header{.src = ip("2001:db8::1"),
                                               .dst = ip("2001:db8::2"),
                                               .payload_size = 0x0102,
                                               .flow_label = 0xFEDCB,
                                               .traffic_class = 0xA5,
                                               .next_header = 6,
                                               .hop_limit = 3});
  EXPECT_EQ(header, from_hex("6a5f edcb 0102 06 03 20010db8000000000000000000000001 20010db8000000000000000000000002"));
}

TEST(headers, refuses_addresses_of_the_wrong_family_and_sizes_beyond_sixteen_bits) {
  byte_list room(64);
  base::byte_writer out(room);
  EXPECT_FALSE(emit(ipv4_header{.src = ip("::1"), .dst = ip("10.0.0.1")}, out));
  EXPECT_FALSE(emit(ipv6_header{.src = ip("::1"), .dst = ip("10.0.0.1")}, out));
  EXPECT_FALSE(emit(ipv4_header{.src = ip("10.0.0.1"), .dst = ip("10.0.0.1"), .payload_size = 65516}, out));
  EXPECT_FALSE(emit(ipv6_header{.src = ip("::1"), .dst = ip("::1"), .payload_size = 65536}, out));
  EXPECT_FALSE(emit(ipv4_header{.src = ip("10.0.0.1"), .dst = ip("10.0.0.1"), .fragment_offset = 8192}, out));
  EXPECT_FALSE(emit(ipv6_header{.src = ip("::1"), .dst = ip("::1"), .flow_label = 0x100000}, out));
  EXPECT_EQ(out.size(), 0u);
}

TEST(headers, writes_tcp_options_and_refuses_ragged_ones) {
  const base::ip_address a = ip("10.0.0.1");
  const base::segments nothing;
  const checksum_scope scope{a, a, nothing};
  const byte_list options = from_hex("0204 05b4 0101 0402");
  byte_list room(64);
  base::byte_writer out(room);
  ASSERT_TRUE(emit(tcp_header{.src_port = 1, .dst_port = 2, .flags = tcp_flag::syn, .options = options}, scope, out));
  EXPECT_EQ(out.size(), 28u);
  EXPECT_EQ(room[12], 0x70);
  EXPECT_EQ(room[13], tcp_flag::syn);
  EXPECT_EQ(byte_list(room.begin() + 20, room.begin() + 28), options);
  const byte_list ragged(6);
  const byte_list too_many(44);
  EXPECT_FALSE(emit(tcp_header{.options = ragged}, scope, out));
  EXPECT_FALSE(emit(tcp_header{.options = too_many}, scope, out));
  EXPECT_EQ(out.size(), 28u);
}

TEST(frame, is_read_back_as_it_was_written) {
  const byte_list payload = from_hex("c0ffee00112233445566778899aabbccddeeff01");
  for (const bool v6 : {false, true}) {
    for (const transport l4 : {transport::udp, transport::tcp}) {
      for (std::size_t tags = 0; tags <= 2; ++tags) {
        const frame_spec spec = spec_of(v6, l4, tags);
        byte_list room(256);
        base::byte_writer out(room);
        ASSERT_TRUE(emit_frame(spec, payload, out));
        ASSERT_EQ(out.size(), frame_headers_size(spec) + payload.size());
        const decoded d = test::read_ethernet(out.written());
        EXPECT_EQ(d.why, defect::none);
        EXPECT_EQ(d.src, spec.src);
        EXPECT_EQ(d.dst, spec.dst);
        EXPECT_EQ(d.src_port, 40000);
        EXPECT_EQ(d.dst_port, 443);
        EXPECT_EQ(d.l4, l4);
        EXPECT_EQ(d.payload_length, payload.size());
        EXPECT_EQ(d.tcp_flags, l4 == transport::tcp ? 0x18 : 0);
        std::string layers = "ethernet";
        if (tags == 2) layers += " qinq:100 vlan:101";
        if (tags == 1) layers += " vlan:100";
        layers += v6 ? " ipv6" : " ipv4";
        layers += l4 == transport::udp ? " udp" : " tcp";
        EXPECT_EQ(test::to_text(d), layers);

        const base::byte_view packet[] = {out.written().subspan(d.l4_offset)};
        EXPECT_TRUE(l4 == transport::udp ? is_udp_sound(d.src, d.dst, base::segments(packet))
                                         : is_tcp_sound(d.src, d.dst, base::segments(packet)));
        if (!v6) {
          EXPECT_EQ(internet_checksum(out.written().subspan(d.l3_offset, 20)), 0);
        }
      }
    }
  }
}

TEST(frame, headers_for_a_payload_in_pieces_equal_those_for_one_piece) {
  const byte_list payload = from_hex("000102030405060708090a0b0c0d0e0f10");
  const frame_spec spec = spec_of(true, transport::tcp, 1);
  byte_list whole(256);
  base::byte_writer one(whole);
  ASSERT_TRUE(emit_frame(spec, payload, one));
  const base::byte_view all(payload);
  const base::byte_view parts[] = {all.first(3), all.subspan(3, 5), all.subspan(8)};
  byte_list headers(256);
  base::byte_writer pieces(headers);
  ASSERT_TRUE(emit_frame_headers(spec, base::segments(parts), pieces));
  EXPECT_EQ(pieces.size(), frame_headers_size(spec));
  EXPECT_TRUE(std::equal(pieces.written().begin(), pieces.written().end(), whole.begin()));
}

TEST(frame, leaves_the_room_alone_when_it_is_too_small) {
  const byte_list payload = from_hex("0102030405");
  const frame_spec spec = spec_of(false, transport::tcp, 2);
  const std::size_t need = frame_headers_size(spec) + payload.size();
  millrace::test::guard_page page(256);
  for (std::size_t room = 0; room <= need; ++room) {
    base::byte_writer out(page.place(byte_list(room)));
    EXPECT_EQ(emit_frame(spec, payload, out), room == need) << room;
    EXPECT_EQ(out.size(), room == need ? need : 0);
  }
}

TEST(frame, that_cannot_be_has_no_size) {
  frame_spec spec = spec_of(false, transport::udp, 0);
  spec.dst = ip("::1");
  EXPECT_EQ(frame_headers_size(spec), 0u);
  spec = spec_of(false, transport::icmp, 0);
  EXPECT_EQ(frame_headers_size(spec), 0u);
  byte_list room(128);
  base::byte_writer out(room);
  EXPECT_FALSE(emit_frame(spec, {}, out));
  EXPECT_EQ(out.size(), 0u);
}

TEST(frame, refuses_a_payload_that_no_datagram_holds) {
  const byte_list payload(65508);  // one more than 65535 - 20 - 8
  byte_list room(70000);
  base::byte_writer out(room);
  EXPECT_FALSE(emit_frame(spec_of(false, transport::udp, 0), payload, out));
  EXPECT_TRUE(emit_frame(spec_of(false, transport::udp, 0), base::byte_view(payload).first(65507), out));
}

TEST(frame, headers_never_exceed_the_stated_maximum) {
  const byte_list options(40);
  frame_spec spec = spec_of(true, transport::tcp, 2);
  spec.tcp.options = options;
  EXPECT_EQ(frame_headers_size(spec), max_frame_headers_size);
}

}  // namespace
}  // namespace millrace::net::wire
