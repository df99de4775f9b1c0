#include "quic/wire/gquic.hpp"

#include <gtest/gtest.h>

#include "quic/wire/header.hpp"
#include "support/bytes.hpp"
#include "support/hostile.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_view;
using base::parse_errc;
using test::byte_list;
using test::from_hex;
using test::to_hex;

base::parse_status parse(byte_list packet, gquic_header& h) { return parse_gquic(test::keep(std::move(packet)), h); }

TEST(gquic, reads_version_and_id_of_a_clients_first_packet) {
  const byte_list packet = from_hex("0d a08966 5b7a0d9e11 51303433 01 c0ffee c0ffee c0ffee c0ffee");
  gquic_header h;
  ASSERT_TRUE(parse_gquic(packet, h));
  EXPECT_EQ(h.version, 0x51303433u);
  EXPECT_EQ(to_hex(h.cid), "a089665b7a0d9e11");
  EXPECT_EQ(h.header_size, 13u);
  EXPECT_EQ(h.pn_size, 1u);
  EXPECT_FALSE(h.public_reset);
  EXPECT_FALSE(h.version_negotiation);
  EXPECT_TRUE(h.names_itself());
}

TEST(gquic, reads_packet_number_sizes_of_1_2_4_and_6) {
  const std::pair<std::string_view, unsigned> sizes[] = {{"09", 1}, {"19", 2}, {"29", 4}, {"39", 6}};
  for (const auto& [flags, size] : sizes) {
    byte_list packet = test::join({from_hex(flags), from_hex("0102030405060708 51303339"), byte_list(size)});
    gquic_header h;
    ASSERT_TRUE(parse_gquic(packet, h));
    EXPECT_EQ(h.version, 0x51303339u);
    EXPECT_EQ(h.pn_size, size);
    packet.pop_back();
    if (size > 1) {  // with nothing left it is a server's list of one version
      EXPECT_EQ(parse_gquic(packet, h).code, parse_errc::truncated);
    }
  }
}

TEST(gquic, reads_short_ids_of_versions_before_34) {
  gquic_header h;
  ASSERT_TRUE(parse(from_hex("09 01020304 51303234 01 00"), h));
  EXPECT_EQ(to_hex(h.cid), "01020304");
  EXPECT_EQ(h.version, 0x51303234u);
  ASSERT_TRUE(parse(from_hex("05 01 51303235 01 00"), h));
  EXPECT_EQ(to_hex(h.cid), "01");
  ASSERT_TRUE(parse(from_hex("01 51303235 01 00"), h));
  EXPECT_TRUE(h.cid.empty());
}

TEST(gquic, reads_a_servers_version_list) {
  gquic_header h;
  ASSERT_TRUE(parse(from_hex("09 0102030405060708 51303433 51303339 51303335"), h));
  EXPECT_TRUE(h.version_negotiation);
  EXPECT_EQ(h.version, 0u);
  EXPECT_EQ(to_hex(h.versions), "513034335130333951303335");
  EXPECT_EQ(to_hex(h.cid), "0102030405060708");
  ASSERT_TRUE(parse(from_hex("09 0102030405060708 51303433"), h));
  EXPECT_TRUE(h.version_negotiation);
  EXPECT_EQ(parse(from_hex("09 0102030405060708 51303433 51303339 51"), h).code, parse_errc::bad_length);
}

TEST(gquic, reads_a_public_reset_by_its_tag) {
  gquic_header h;
  ASSERT_TRUE(parse(from_hex("0e 0102030405060708 50525354 03000000"), h));
  EXPECT_TRUE(h.public_reset);
  EXPECT_EQ(to_hex(h.cid), "0102030405060708");
  EXPECT_EQ(h.header_size, 9u);
  EXPECT_TRUE(h.names_itself());
  EXPECT_EQ(parse(from_hex("0e 0102030405060708 50525355 03000000"), h).code, parse_errc::unsupported);
  EXPECT_EQ(parse(from_hex("0e 0102030405060708 505253"), h).code, parse_errc::truncated);
}

TEST(gquic, reads_a_header_without_a_version_but_says_that_it_proves_nothing) {
  gquic_header h;
  ASSERT_TRUE(parse(from_hex("1c 0102030405060708 0102 aa"), h));
  EXPECT_EQ(to_hex(h.cid), "0102030405060708");
  EXPECT_EQ(h.pn_size, 2u);
  EXPECT_EQ(h.header_size, 9u);
  EXPECT_FALSE(h.names_itself());
  ASSERT_TRUE(parse(from_hex("00 01 aa"), h));
  EXPECT_TRUE(h.cid.empty());
}

TEST(gquic, takes_the_servers_id_from_either_direction_of_the_ietf_like_header) {
  gquic_header h;
  ASSERT_TRUE(parse(from_hex("c3 51303436 50 0102030405060708 00000001 aabb"), h));
  EXPECT_EQ(h.version, 0x51303436u);
  EXPECT_EQ(to_hex(h.cid), "0102030405060708");
  EXPECT_EQ(h.header_size, 14u);
  EXPECT_EQ(h.pn_size, 4u);
  ASSERT_TRUE(parse(from_hex("c0 51303436 05 0102030405060708 01 aabb"), h));
  EXPECT_EQ(to_hex(h.cid), "0102030405060708");
  EXPECT_EQ(h.pn_size, 1u);
  ASSERT_TRUE(parse(from_hex("ff 51303434 50 0102030405060708 00000001"), h));
  EXPECT_EQ(h.pn_size, 4u);
  EXPECT_EQ(parse(from_hex("c3 51303436 50 0102030405060708 000000"), h).code, parse_errc::truncated);
  ASSERT_TRUE(parse(from_hex("c3 51303439 08 0102030405060708 00 00 4100"), h));
  EXPECT_EQ(h.header_size, 15u);
  EXPECT_EQ(h.pn_size, 0u);
}

TEST(gquic, refuses_what_is_no_gquic) {
  gquic_header h;
  EXPECT_EQ(parse_gquic({}, h).code, parse_errc::truncated);
  EXPECT_EQ(parse(from_hex("c3 00000001 08 0102030405060708 00 00 01 00"), h).code, parse_errc::unsupported);
  EXPECT_EQ(parse(from_hex("c3 51303530 08 0102030405060708 00 00 01 00"), h).code, parse_errc::unsupported);
  EXPECT_EQ(parse(from_hex("41 0102030405060708"), h).code, parse_errc::unsupported);
  EXPECT_EQ(parse(from_hex("0d 0102030405060708 41424344 01"), h).code, parse_errc::unsupported);
  EXPECT_EQ(parse(from_hex("08 010203"), h).code, parse_errc::truncated);
}

TEST(gquic, survives_every_truncation_and_every_change_of_one_byte) {
  const std::string_view samples[] = {
      "0d 0102030405060708 51303433 01 aabbccdd",      "09 0102030405060708 51303433 51303339 51303335",
      "0e 0102030405060708 50525354 03000000",         "3c 0102030405060708 010203040506 aa",
      "c3 51303436 50 0102030405060708 00000001 aabb", "c3 51303439 08 0102030405060708 00 00 01 00"};
  const auto check = [](byte_view in) {
    gquic_header h;
    const base::parse_status status = parse_gquic(in, h);
    EXPECT_LE(status.at, in.size());
    EXPECT_TRUE(test::lies_in(h.cid, in));
    EXPECT_TRUE(test::lies_in(h.versions, in));
    EXPECT_LE(h.header_size + h.pn_size, in.size());
    EXPECT_TRUE(status || h.header_size == 0);
    (void)classify(in);
  };
  for (const std::string_view sample : samples) {
    test::for_every_truncation(from_hex(sample), check);
    test::for_every_byte_change(from_hex(sample), check);
  }
}

}  // namespace
}  // namespace millrace::quic::wire
