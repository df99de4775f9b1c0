#include "pipeline/traffic_class.hpp"

#include <gtest/gtest.h>

#include <set>

#include "support/frames.hpp"

namespace millrace::pipeline {
namespace {

using test::byte_list;
using test::frame_of;
using test::frame_wish;
using test::from_hex;
using test::join;
using test::quic_initial;

classified classify_frame(const byte_list& frame) {
  net::wire::decoded headers;
  (void)net::wire::decode_fast(frame, headers);
  return classify(frame, headers, default_classify_ports());
}

classified classify_udp(const byte_list& payload, std::uint16_t dst_port = 9, std::uint16_t src_port = 40000) {
  return classify_frame(frame_of({.src_port = src_port, .dst_port = dst_port}, payload));
}

TEST(traffic_class, has_a_name_of_its_own_for_every_value) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < traffic_class_count; ++i)
    EXPECT_TRUE(names.insert(to_string(static_cast<traffic_class>(i))).second);
  EXPECT_EQ(to_string(traffic_class::count_), "unknown");
}

TEST(traffic_class, takes_long_headers_of_any_port_by_their_type) {
  byte_list packet = quic_initial();
  EXPECT_EQ(classify_udp(packet).what, traffic_class::quic_initial);
  packet[0] = 0xd3;
  packet.erase(packet.begin() + 23);  // only an Initial has a token length
  EXPECT_EQ(classify_udp(packet).what, traffic_class::quic_zero_rtt);
  packet[0] = 0xe3;
  EXPECT_EQ(classify_udp(packet).what, traffic_class::quic_handshake);
  packet[0] = 0xf0;
  EXPECT_EQ(classify_udp(packet).what, traffic_class::quic_retry);
  const byte_list negotiation = from_hex("80 00000000 08 0102030405060708 08 1112131415161718 00000001 6b3343cf");
  EXPECT_EQ(classify_udp(negotiation).what, traffic_class::quic_version_negotiation);
}

TEST(traffic_class, counts_all_packets_of_a_datagram_and_names_it_after_the_first) {
  byte_list handshake = quic_initial(40);
  handshake[0] = 0xe3;
  handshake.erase(handshake.begin() + 23);
  byte_list one_rtt = from_hex("43 0102030405060708 00000000000000000000000000000000000000");
  const classified three = classify_udp(join({quic_initial(), handshake, one_rtt}));
  EXPECT_EQ(three.what, traffic_class::quic_initial);
  EXPECT_EQ(three.quic_packets, 3);
  const classified padded = classify_udp(join({quic_initial(), byte_list(200, 0)}));
  EXPECT_EQ(padded.what, traffic_class::quic_initial);
  EXPECT_EQ(padded.quic_packets, 1);
}

TEST(traffic_class, bounds_the_packets_it_looks_at_in_one_datagram) {
  byte_list many;
  for (unsigned i = 0; i < max_coalesced; ++i) {
    const byte_list tiny = quic_initial(20);
    many.insert(many.end(), tiny.begin(), tiny.end());
  }
  EXPECT_EQ(classify_udp(many).what, traffic_class::quic_initial);
  const byte_list one_more = join({many, quic_initial(20)});
  EXPECT_EQ(classify_udp(one_more).what, traffic_class::quic_malformed);
  EXPECT_EQ(classify_udp(one_more).quic_packets, max_coalesced);
}

TEST(traffic_class, calls_a_length_beyond_the_datagram_malformed) {
  byte_list cut = quic_initial();
  cut.pop_back();
  EXPECT_EQ(classify_udp(cut).what, traffic_class::quic_malformed);
  const classified second_cut = classify_udp(join({quic_initial(), cut}));
  EXPECT_EQ(second_cut.what, traffic_class::quic_malformed);
  EXPECT_EQ(second_cut.quic_packets, 1);
}

TEST(traffic_class, believes_a_short_header_on_quic_ports_only) {
  const byte_list short_form = from_hex("43 0102030405060708 00000000000000000000000000000000000000");
  EXPECT_EQ(classify_udp(short_form).what, traffic_class::udp);
  EXPECT_EQ(classify_udp(short_form, 443).what, traffic_class::quic_one_rtt);
  EXPECT_EQ(classify_udp(short_form, 40000, 4433).what, traffic_class::quic_one_rtt);
  EXPECT_EQ(classify_udp(from_hex("03 0102030405060708"), 443).what, traffic_class::udp);
}

TEST(traffic_class, calls_it_srmp_when_frames_fill_the_datagram_on_its_port) {
  const byte_list calls = test::srmp_payload();
  EXPECT_EQ(classify_udp(calls, 5500).what, traffic_class::srmp);
  EXPECT_EQ(classify_udp(calls, 40000, 5500).what, traffic_class::srmp);
  EXPECT_EQ(classify_udp(calls).what, traffic_class::udp);
  byte_list cut = calls;
  cut.pop_back();
  EXPECT_EQ(classify_udp(cut, 5500).what, traffic_class::srmp_malformed);
  EXPECT_EQ(classify_udp(quic_initial(), 5500).what, traffic_class::srmp_malformed);
}

TEST(traffic_class, names_everything_that_is_not_udp) {
  EXPECT_EQ(classify_frame(frame_of({.tcp = true}, byte_list(10, 1))).what, traffic_class::tcp);
  EXPECT_EQ(classify_frame(frame_of({.ipv6 = true, .tcp = true}, {})).what, traffic_class::tcp);
  byte_list icmp = test::udp_frame();
  icmp[14 + 9] = 1;
  EXPECT_EQ(classify_frame(icmp).what, traffic_class::icmp);
  byte_list sctp = test::udp_frame();
  sctp[14 + 9] = 132;
  EXPECT_EQ(classify_frame(sctp).what, traffic_class::other_ip);
  byte_list fragment = test::udp_frame();
  fragment[14 + 6] = 0x20;  // more fragments: a first one has ports, yet no whole payload
  EXPECT_EQ(classify_frame(fragment).what, traffic_class::fragment);
  fragment[14 + 7] = 0x10;
  EXPECT_EQ(classify_frame(fragment).what, traffic_class::fragment);
  const byte_list arp =
      from_hex("ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 c6120001 000000000000 c6120002");
  EXPECT_EQ(classify_frame(arp).what, traffic_class::arp);
  byte_list unknown = test::udp_frame();
  unknown[12] = 0x12;
  unknown[13] = 0x34;
  EXPECT_EQ(classify_frame(unknown).what, traffic_class::other);
}

TEST(traffic_class, survives_every_cut_and_every_changed_byte) {
  const byte_list whole = frame_of({.dst_port = 443}, join({quic_initial(), quic_initial(30)}));
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const byte_list cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_LT(static_cast<std::size_t>(classify_frame(cut).what), traffic_class_count);
  }
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const unsigned value : {0x00u, 0x7Fu, 0x80u, 0xFFu, whole[at] ^ 1u}) {
      byte_list changed = whole;
      changed[at] = static_cast<std::uint8_t>(value);
      EXPECT_LT(static_cast<std::size_t>(classify_frame(changed).what), traffic_class_count);
    }
}

}  // namespace
}  // namespace millrace::pipeline
