#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/endian.hpp"
#include "quic/wire/header.hpp"
#include "support/bytes.hpp"

namespace millrace::quic::wire {
namespace {

using test::byte_list;
using test::from_hex;
using test::from_text;
using test::join;

datagram_kind kind_of(std::string_view hex, std::size_t padded_to = 0) {
  byte_list payload = from_hex(hex);
  if (payload.size() < padded_to) payload.resize(padded_to);
  return classify(payload);
}

// A client's first datagram of `version`, 1200 bytes, its one packet ending `spare` bytes early.
byte_list first_datagram(version_number version, std::size_t spare = 0) {
  byte_list out = from_hex("c3 00000000 08 a1a2a3a4a5a6a7a8 04 b1b2b3b4 00");
  base::store_be32(out.data() + 1, version);
  const std::size_t length = 1200 - out.size() - 2 - spare;
  out.push_back(static_cast<std::uint8_t>(0x40 | length >> 8));
  out.push_back(static_cast<std::uint8_t>(length));
  out.resize(1200 - spare, 0x5A);
  out.resize(1200, 0);
  return out;
}

TEST(classify, knows_long_headers_of_every_version_with_a_family) {
  for (const version_number v : {version_1, version_2, version_number{0xff00001d}, version_number{0xff00000f},
                                 version_number{0xfaceb002}, version_number{0x54303531}, version_number{0x51303530}}) {
    EXPECT_EQ(classify(first_datagram(v)), datagram_kind::long_form) << std::hex << v;
  }
  // Broken behind its version: a QUIC packet to be counted as broken, not something else.
  EXPECT_EQ(kind_of("c0 00000001 ff ff"), datagram_kind::long_form);
}

TEST(classify, wants_a_whole_packet_where_the_fixed_bit_is_zero) {  // RFC 9287
  byte_list greased = first_datagram(version_1);
  greased[0] = 0x83;
  EXPECT_EQ(classify(greased), datagram_kind::long_form);
  EXPECT_EQ(kind_of("80 00000001 ff ff"), datagram_kind::not_quic);
  EXPECT_EQ(kind_of("80 00000001 a0b0c0d0 01020304 05060708 1112131415161718191a1b1c1d1e1f"), datagram_kind::not_quic);
}

TEST(classify, takes_a_version_negotiation_by_its_list) {
  EXPECT_EQ(kind_of("80 00000000 00 08 0102030405060708 00000001"), datagram_kind::long_form);
  EXPECT_EQ(kind_of("c0 00000000 00 00 12345678 1a2a3a4a"), datagram_kind::long_form);
  EXPECT_EQ(kind_of("c0 00000000 00 00"), datagram_kind::not_quic);
  EXPECT_EQ(kind_of("c0 00000000 00 00 12345678 00000000"), datagram_kind::not_quic);
  EXPECT_EQ(kind_of("c0 00000000 00 00 00000001 ff"), datagram_kind::not_quic);
  EXPECT_EQ(kind_of("c0 00000000 ff 00 00000001"), datagram_kind::not_quic);
}

TEST(classify, takes_a_reserved_version_with_ids_as_a_client_sends_them) {
  EXPECT_EQ(kind_of("c0 0a1a2a3a 08 0102030405060708 00"), datagram_kind::long_form);
  EXPECT_EQ(kind_of("c0 0a1a2a3a 07 01020304050607 00 00"), datagram_kind::not_quic);
  EXPECT_EQ(kind_of("80 0a1a2a3a 08 0102030405060708 00"), datagram_kind::not_quic);
  EXPECT_EQ(kind_of("c0 0a1a2a3a 08 0102030405060708 15 000000"), datagram_kind::not_quic);
}

TEST(classify, takes_a_registered_version_with_plausible_ids) {
  EXPECT_EQ(kind_of("c0 50435130 00 04 01020304"), datagram_kind::long_form);
  EXPECT_EQ(kind_of("c0 50435130 01 00 00"), datagram_kind::not_quic);
  EXPECT_EQ(kind_of("c0 50435130 04 01020304 15 000000"), datagram_kind::not_quic);
}

TEST(classify, takes_an_unannounced_version_only_in_the_shape_of_a_first_datagram) {
  const version_number unheard = 0x12345678;
  EXPECT_EQ(classify(first_datagram(unheard)), datagram_kind::long_form);
  EXPECT_EQ(classify(first_datagram(unheard, 100)), datagram_kind::long_form);  // zero padding behind

  byte_list padded_with_junk = first_datagram(unheard, 100);
  padded_with_junk.back() = 1;
  EXPECT_EQ(classify(padded_with_junk), datagram_kind::not_quic);

  byte_list coalesced = first_datagram(unheard, 100);
  base::store_be32(coalesced.data() + 1101, unheard);
  coalesced[1100] = 0xE0;
  EXPECT_EQ(classify(coalesced), datagram_kind::long_form);
  base::store_be32(coalesced.data() + 1101, unheard + 1);
  EXPECT_EQ(classify(coalesced), datagram_kind::not_quic);

  byte_list small = first_datagram(unheard);
  small.pop_back();
  EXPECT_EQ(classify(small), datagram_kind::not_quic);
  byte_list short_id = first_datagram(unheard);
  short_id[5] = 7;
  EXPECT_EQ(classify(short_id), datagram_kind::not_quic);
  byte_list no_fixed_bit = first_datagram(unheard);
  no_fixed_bit[0] = 0x83;
  EXPECT_EQ(classify(no_fixed_bit), datagram_kind::not_quic);
}

TEST(classify, says_could_be_for_short_headers_of_21_bytes) {
  EXPECT_EQ(kind_of("40", 21), datagram_kind::short_form);
  EXPECT_EQ(kind_of("7f", 21), datagram_kind::short_form);
  EXPECT_EQ(kind_of("40", 20), datagram_kind::not_quic);
}

TEST(classify, names_gquic_by_its_label_or_its_reset) {
  EXPECT_EQ(kind_of("0d 0102030405060708 51303433 01 a0a1a2a3a4a5a6a7a8a9aaab"), datagram_kind::gquic);
  EXPECT_EQ(kind_of("c3 51303436 50 0102030405060708 00000001"), datagram_kind::gquic);
  EXPECT_EQ(kind_of("0e 0102030405060708 50525354 0300 0000"), datagram_kind::gquic);
  EXPECT_EQ(kind_of("0c 0102030405060708 01 a0a1a2a3a4a5"), datagram_kind::not_quic);
  EXPECT_EQ(kind_of("0d 0102030405060708 61303433 01"), datagram_kind::not_quic);
}

TEST(classify, leaves_other_protocols_alone) {
  const std::pair<const char*, const char*> others[] = {
      {"nothing", ""},
      {"DNS query", "f403 0100 0001 0000 0000 0000 05 63646e6a73 0a 636c6f7564666c617265 03 636f6d 00 0041 0001"},
      {"DNS answer", "f403 8180 0001 0001 0000 0000 05 63646e6a73 03 636f6d 00 0041 0001 c00c"},
      {"DNS query whose id looks registered", "dff1 0000 0001 0000 0000 0000 04 77706164 00 0001 0001"},
      {"DNS query whose id looks like a version negotiation", "c000 0000 0001 0000 0000 0000 04 77706164 00 0001 0001"},
      {"NBNS", "f60b 2810 0001 0000 0000 0001 20 4648454a454f45454550464846444448434e44444341 0000200001"},
      {"STUN", "0001 0008 2112a442 0102030405060708090a0b0c 00030004 00000000"},
      {"STUN answer", "0101 000c 2112a442 0102030405060708090a0b0c 00200008 0001a147e112a643"},
      {"TURN channel data", "c000 0010 0102030405060708090a0b0c0d0e0f10 0000 0000 0000"},
      {"RTP", "8000 0000 01a0b0c0 d0e0f001 0102030405060708090a0b0c0d0e0f101112131415161718"},
      {"RTP with marker", "90ef 622a 97e7a8f4 44e62648 bede0001 10ff0000 bfc5ddc3"},
      {"RTCP", "81c8 000c 01020304 e0000000 00000000 00000000 00000001 00000001"},
      {"DTLS", "16fefd 0000 0000000000000001 0010 01020304050607080910111213141516"},
      {"NTP", "230208e8 00000b0c 00000a0b 11223344 0000000000000000 0000000000000000 0000000000000000"},
      {"WireGuard", "01000000 01020304 a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9"},
      {"SNMP", "3026 020101 0406 7075626c6963 a119 0204 01020304 0201 00 0201 00 300b 3009 0605 2b06010201 0500"},
      {"zeros", "00000000000000000000000000000000000000000000000000000000"},
      {"ones", "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"},
  };
  for (const auto& [name, hex] : others) {
    EXPECT_EQ(kind_of(hex), datagram_kind::not_quic) << name;
  }
  EXPECT_EQ(classify(from_text("GET / HTTP/1.1\r\nHost: x\r\n")), datagram_kind::short_form);  // 'G' is 0x47: could be
  EXPECT_EQ(classify(from_text("M-SEARCH * HTTP/1.1\r\n")), datagram_kind::short_form);
}

TEST(classify, takes_no_random_bytes_for_a_long_header_or_gquic) {
  std::mt19937_64 random(20260801);
  byte_list payload(1400);
  for (int round = 0; round < 20000; ++round) {
    for (std::size_t i = 0; i < payload.size(); i += 8) {
      const std::uint64_t word = random();
      std::memcpy(payload.data() + i, &word, 8);
    }
    const datagram_kind kind = classify(base::byte_view(payload).first(1 + random() % 1400));
    EXPECT_TRUE(kind == datagram_kind::not_quic || kind == datagram_kind::short_form) << "round " << round;
  }
}

}  // namespace
}  // namespace millrace::quic::wire
