#include "quic/wire/header.hpp"

#include <gtest/gtest.h>

#include "base/varint.hpp"
#include "support/bytes.hpp"
#include "support/hostile.hpp"
#include "support/quic_header_check.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_view;
using base::parse_errc;
using base::parse_status;
using test::byte_list;
using test::from_hex;
using test::join;
using test::to_hex;

// First byte, version, dcid 11..18, scid 21..24: what every long header below begins with.
byte_list long_start(std::uint8_t first, version_number version) {
  byte_list out = {first, 0, 0, 0, 0};
  base::store_be32(out.data() + 1, version);
  return join({out, from_hex("08 1112131415161718 04 21222324")});
}

parse_status parse(byte_list packet, packet_header& h) { return parse_packet(test::keep(std::move(packet)), h); }

const byte_list payload_20 = byte_list(20, 0xEE);

byte_list initial_v1() { return join({long_start(0xC3, version_1), from_hex("03 aabbcc 4014"), payload_20}); }

TEST(header, reads_an_initial_with_token_and_length) {
  const byte_list packet = initial_v1();
  packet_header h;
  ASSERT_TRUE(parse(packet, h));
  EXPECT_EQ(h.type, packet_type::initial);
  EXPECT_TRUE(h.is_long());
  EXPECT_TRUE(h.fixed_bit);
  EXPECT_EQ(h.first_byte, 0xC3);
  EXPECT_EQ(h.version, version_1);
  EXPECT_EQ(h.family, version_family::ietf_v1);
  EXPECT_EQ(to_hex(h.dcid), "1112131415161718");
  EXPECT_EQ(to_hex(h.scid), "21222324");
  EXPECT_EQ(to_hex(h.token), "aabbcc");
  EXPECT_EQ(h.length, 20u);
  EXPECT_EQ(h.pn_offset, packet.size() - 20);
  EXPECT_EQ(h.packet_size, packet.size());
  EXPECT_TRUE(h.retry_tag.empty());
  EXPECT_TRUE(h.versions.empty());
}

TEST(header, tells_the_four_long_types_of_version_1) {
  const std::pair<std::uint8_t, packet_type> types[] = {{0xD0, packet_type::zero_rtt}, {0xE0, packet_type::handshake}};
  for (const auto& [first, type] : types) {
    packet_header h;
    ASSERT_TRUE(parse(join({long_start(first, version_1), from_hex("14"), payload_20}), h));
    EXPECT_EQ(h.type, type);
    EXPECT_EQ(h.length, 20u);
    EXPECT_TRUE(h.token.empty());
  }
  packet_header h;
  ASSERT_TRUE(parse(join({long_start(0xF0, version_1), from_hex("abcd"), byte_list(16, 0x77)}), h));
  EXPECT_EQ(h.type, packet_type::retry);
  EXPECT_EQ(to_hex(h.token), "abcd");
  EXPECT_EQ(h.retry_tag.size(), retry_tag_size);
}

TEST(header, rotates_the_types_of_version_2) {  // RFC 9369 3.2
  packet_header h;
  ASSERT_TRUE(parse(join({long_start(0xD0, version_2), from_hex("00 14"), payload_20}), h));
  EXPECT_EQ(h.type, packet_type::initial);
  EXPECT_EQ(h.family, version_family::ietf_v2);
  ASSERT_TRUE(parse(join({long_start(0xE0, version_2), from_hex("14"), payload_20}), h));
  EXPECT_EQ(h.type, packet_type::zero_rtt);
  ASSERT_TRUE(parse(join({long_start(0xF0, version_2), from_hex("14"), payload_20}), h));
  EXPECT_EQ(h.type, packet_type::handshake);
  ASSERT_TRUE(parse(join({long_start(0xC0, version_2), payload_20}), h));
  EXPECT_EQ(h.type, packet_type::retry);
  EXPECT_EQ(h.token.size(), 4u);
}

TEST(header, reads_every_family_with_the_layout_of_rfc_9000) {
  for (const version_number v : {0xff000016u, 0xff00001du, 0xff000022u, 0xfaceb001u, 0xfaceb002u, 0xfaceb00eu,
                                 0x51303530u, 0x54303530u, 0x54303531u}) {
    packet_header h;
    ASSERT_TRUE(parse(join({long_start(0xC0, v), from_hex("01 99 14"), payload_20}), h)) << std::hex << v;
    EXPECT_EQ(h.type, packet_type::initial);
    EXPECT_EQ(to_hex(h.token), "99");
    EXPECT_EQ(h.family, family_of(v));
  }
}

TEST(header, splits_a_datagram_into_its_coalesced_packets) {
  const byte_list datagram =
      join({initial_v1(), long_start(0xE0, version_1), from_hex("14"), payload_20, from_hex("40"), payload_20});
  byte_view rest = datagram;
  std::vector<packet_type> types;
  while (!rest.empty()) {
    packet_header h;
    ASSERT_TRUE(parse_packet(rest, h));
    types.push_back(h.type);
    rest = rest.subspan(h.packet_size);
  }
  EXPECT_EQ(types, (std::vector{packet_type::initial, packet_type::handshake, packet_type::one_rtt}));
}

TEST(header, reads_a_version_negotiation_with_ids_of_any_length) {  // RFC 8999 6
  const byte_list packet = join({from_hex("8f 00000000 ff"), byte_list(255, 0x31), from_hex("c8"), byte_list(200, 0x32),
                                 from_hex("00000001 6b3343cf 1a2a3a4a")});
  packet_header h;
  ASSERT_TRUE(parse(packet, h));
  EXPECT_EQ(h.type, packet_type::version_negotiation);
  EXPECT_EQ(h.version, negotiation_version);
  EXPECT_FALSE(h.fixed_bit);
  EXPECT_EQ(h.dcid.size(), 255u);
  EXPECT_EQ(h.scid.size(), 200u);
  EXPECT_EQ(to_hex(h.versions), "000000016b3343cf1a2a3a4a");
  EXPECT_EQ(h.packet_size, packet.size());
}

TEST(header, refuses_a_version_list_that_is_empty_or_ends_inside_a_version_and_still_shows_the_ids) {
  for (const std::string_view list : {"", "00", "000000", "00000001 6b33"}) {
    packet_header h;
    const parse_status status = parse(join({long_start(0xC0, negotiation_version), from_hex(list)}), h);
    EXPECT_EQ(status.code, parse_errc::bad_length) << list;
    EXPECT_EQ(status.at, 19u);
    EXPECT_EQ(h.type, packet_type::version_negotiation);
    EXPECT_EQ(to_hex(h.dcid), "1112131415161718");
    EXPECT_TRUE(h.versions.empty());
  }
}

TEST(header, reads_only_the_invariants_of_a_version_it_does_not_know) {
  for (const version_number v : {0x0a0a0a0au, 0x12345678u, 0xff000001u, 0xabcd0000u, 0x51303439u}) {
    const byte_list packet = join({long_start(0x80, v), from_hex("ffffffff")});
    packet_header h;
    ASSERT_TRUE(parse(packet, h)) << std::hex << v;
    EXPECT_EQ(h.type, packet_type::unknown_long);
    EXPECT_EQ(to_hex(h.dcid), "1112131415161718");
    EXPECT_EQ(to_hex(h.scid), "21222324");
    EXPECT_EQ(h.packet_size, packet.size());
    EXPECT_TRUE(h.token.empty());
    EXPECT_EQ(h.length, 0u);
  }
}

TEST(header,
     limits_ids_to_20_bytes_where_the_version_does_and_to_255_where_it_does_not) {  // RFC 9000 17.2, RFC 8999 5.1
  for (const std::size_t size : {20u, 21u, 255u})
    for (const bool source : {false, true}) {
      const byte_list id(size, 0x41);
      const byte_list length = {static_cast<std::uint8_t>(size)};
      const byte_list none = {0};
      const byte_list ids = source ? join({none, length, id}) : join({length, id, none});
      packet_header h;
      const parse_status known = parse(join({from_hex("c0 00000001"), ids, from_hex("00 14"), payload_20}), h);
      if (size == 20) {
        EXPECT_TRUE(known);
      } else {
        EXPECT_EQ(known.code, parse_errc::too_long);
        EXPECT_EQ(known.at, source ? 6u : 5u);
      }
      ASSERT_TRUE(parse(join({from_hex("c0 12345678"), ids}), h));
      EXPECT_EQ(source ? h.scid.size() : h.dcid.size(), size);
    }
}

TEST(header, calls_21_too_long_even_where_the_datagram_ends_before) {
  packet_header h;
  EXPECT_EQ(parse(from_hex("c0 00000001 15 0102"), h).code, parse_errc::too_long);
  EXPECT_EQ(parse(from_hex("c0 00000001 14 0102"), h).code, parse_errc::truncated);
}

TEST(header, answers_bad_length_for_a_packet_that_its_datagram_does_not_hold_and_keeps_what_came_before) {
  const byte_list packet = join({long_start(0xC0, version_1), from_hex("01 99 4400"), payload_20});
  packet_header h;
  const parse_status status = parse(packet, h);
  EXPECT_EQ(status.code, parse_errc::bad_length);
  EXPECT_EQ(status.at, 21u);
  EXPECT_EQ(h.type, packet_type::initial);
  EXPECT_EQ(to_hex(h.dcid), "1112131415161718");
  EXPECT_EQ(to_hex(h.scid), "21222324");
  EXPECT_EQ(to_hex(h.token), "99");
  EXPECT_EQ(h.length, 0x400u);
  EXPECT_EQ(h.pn_offset, 23u);
  EXPECT_EQ(h.packet_size, packet.size());
}

TEST(header, answers_bad_length_for_the_largest_length_there_is) {
  packet_header h;
  const byte_list lie = from_hex("ffffffffffffffff");
  EXPECT_EQ(parse(join({long_start(0xE0, version_1), lie, payload_20}), h).code, parse_errc::bad_length);
  EXPECT_EQ(h.length, base::varint_max);
  EXPECT_EQ(parse(join({long_start(0xC0, version_1), lie, payload_20}), h).code, parse_errc::bad_length);
  EXPECT_TRUE(h.token.empty());
  EXPECT_EQ(to_hex(h.scid), "21222324");
}

TEST(header, takes_a_length_in_any_of_its_four_forms) {
  for (const std::string_view length : {"14", "4014", "80000014", "c000000000000014"}) {
    packet_header h;
    ASSERT_TRUE(parse(join({long_start(0xE0, version_1), from_hex(length), payload_20}), h));
    EXPECT_EQ(h.length, 20u);
  }
}

TEST(header, reports_a_fixed_bit_of_zero_and_reads_on) {  // RFC 9287 3.1
  packet_header h;
  ASSERT_TRUE(parse(join({long_start(0x94, version_2), from_hex("00 14"), payload_20}), h));
  EXPECT_EQ(h.type, packet_type::initial);
  EXPECT_FALSE(h.fixed_bit);
  ASSERT_TRUE(parse(from_hex("05 0102030405060708090a0b0c0d0e0f1011121314"), h));
  EXPECT_EQ(h.type, packet_type::one_rtt);
  EXPECT_FALSE(h.fixed_bit);
}

TEST(header, gives_a_short_header_the_rest_of_the_datagram_and_no_ids) {
  packet_header h;
  ASSERT_TRUE(parse(from_hex("41 0102030405060708"), h));
  EXPECT_EQ(h.type, packet_type::one_rtt);
  EXPECT_FALSE(h.is_long());
  EXPECT_EQ(h.packet_size, 9u);
  EXPECT_EQ(h.pn_offset, 0u);
  EXPECT_TRUE(h.dcid.empty());
}

TEST(header, reads_a_retry_with_the_original_id_in_drafts_before_25) {
  const byte_list tail = from_hex("08 5152535455565758 f00d");
  for (const version_number v : {0xff000016u, 0xff000018u, 0xfaceb001u}) {
    packet_header h;
    ASSERT_TRUE(parse(join({long_start(0xF0, v), tail}), h));
    EXPECT_EQ(h.type, packet_type::retry);
    EXPECT_EQ(to_hex(h.original_dcid), "5152535455565758");
    EXPECT_EQ(to_hex(h.token), "f00d");
    EXPECT_TRUE(h.retry_tag.empty());
  }
  packet_header h;
  EXPECT_EQ(parse(join({long_start(0xF0, 0xff000019), tail}), h).code, parse_errc::truncated);
  EXPECT_EQ(parse(join({long_start(0xF0, 0xff000018), from_hex("15"), byte_list(30)}), h).code, parse_errc::too_long);
}

TEST(header, refuses_a_retry_that_has_no_room_for_its_tag) {
  packet_header h;
  EXPECT_EQ(parse(join({long_start(0xF0, version_1), byte_list(15)}), h).code, parse_errc::truncated);
  ASSERT_TRUE(parse(join({long_start(0xF0, version_1), byte_list(16)}), h));
  EXPECT_TRUE(h.token.empty());
}

TEST(header, reads_both_id_lengths_from_one_byte_in_drafts_before_22) {
  // The first datagram of a draft-15 client: lengths 15 + 3 and 14 + 3.
  const byte_list packet =
      from_hex("ff ff00000f fe 409fb12c4c35d5bd03bf5876588f326413c9 0e8ac117cd49382ca96244849f52c15e42 0044b8");
  packet_header h;
  ASSERT_TRUE(parse(packet, h));
  EXPECT_EQ(h.type, packet_type::unknown_long);
  EXPECT_EQ(h.family, version_family::ietf_draft);
  EXPECT_EQ(to_hex(h.dcid), "409fb12c4c35d5bd03bf5876588f326413c9");
  EXPECT_EQ(to_hex(h.scid), "0e8ac117cd49382ca96244849f52c15e42");
  EXPECT_EQ(h.packet_size, packet.size());
  ASSERT_TRUE(parse(from_hex("c3 51303436 50 0102030405060708 00000001"), h));
  EXPECT_EQ(h.family, version_family::google_q046);
  EXPECT_EQ(to_hex(h.dcid), "0102030405060708");
  EXPECT_TRUE(h.scid.empty());
}

TEST(header, refuses_nothing_at_all) {
  packet_header h;
  EXPECT_EQ(parse_packet({}, h).code, parse_errc::truncated);
}

// One good packet of each kind; the mutation tests below take them all.
std::vector<byte_list> samples() {
  return {initial_v1(),
          join({long_start(0xD0, version_2), from_hex("00 4014"), payload_20}),
          join({long_start(0xD0, version_1), from_hex("14"), payload_20}),
          join({long_start(0xF0, version_1), from_hex("abcd"), byte_list(16, 0x77)}),
          join({long_start(0xF0, 0xff000017), from_hex("08 5152535455565758 f00d")}),
          join({long_start(0xC0, negotiation_version), from_hex("00000001 6b3343cf")}),
          join({long_start(0xC0, 0x0a0a0a0a), payload_20}),
          from_hex("ff ff00000f fe 409fb12c4c35d5bd03bf5876588f326413c9 0e8ac117cd49382ca96244849f52c15e42 0044b8"),
          join({from_hex("41"), payload_20})};
}

TEST(header, survives_every_truncation) {
  for (const byte_list& good : samples())
    test::for_every_truncation(good, [](byte_view in) {
      packet_header h;
      const parse_status status = parse_packet(in, h);
      const char* broken = test::broken_header_rule(in, status, h);
      EXPECT_EQ(broken, nullptr) << broken << ": " << to_hex(in);
      EXPECT_TRUE(in.size() >= 19 || (!in.empty() && in[0] < 0x80) || status.code == parse_errc::truncated)
          << to_hex(in);
      (void)classify(in);
    });
}

TEST(header, survives_every_change_of_one_byte) {
  for (const byte_list& good : samples())
    test::for_every_byte_change(good, [](byte_view in) {
      packet_header h;
      const char* broken = test::broken_header_rule(in, parse_packet(in, h), h);
      EXPECT_EQ(broken, nullptr) << broken << ": " << to_hex(in);
      (void)classify(in);
    });
}

}  // namespace
}  // namespace millrace::quic::wire
