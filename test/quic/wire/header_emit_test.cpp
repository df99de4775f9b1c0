#include "quic/wire/header_emit.hpp"

#include <gtest/gtest.h>

#include <random>

#include "support/bytes.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_span;
using base::byte_view;
using base::byte_writer;
using test::byte_list;
using test::from_hex;
using test::to_hex;

const byte_list dcid = from_hex("8394c8f03e515708");
const byte_list scid = from_hex("f067a5502a4262b5");

// Header and packet number bytes; empty when emit refuses.
template <class Header>
byte_list emitted(const Header& h, std::size_t room_size = 2000) {
  byte_list room(room_size);
  byte_writer out(room);
  byte_span number;
  if (!emit(out, h, number)) {
    EXPECT_EQ(out.size(), 0u);
    return {};
  }
  EXPECT_EQ(number.size(), h.pn_size);
  EXPECT_EQ(number.data() + number.size(), room.data() + out.size());
  EXPECT_EQ(out.size(), encoded_size(h) + h.pn_size);
  room.resize(out.size());
  return room;
}

TEST(header_emit, writes_the_client_initial_of_the_rfc) {  // RFC 9001 A.2
  EXPECT_EQ(to_hex(emitted(long_header{.dcid = dcid, .length = 1182, .pn_size = 4})),
            "c300000001088394c8f03e5157080000449e00000000");
}

TEST(header_emit, writes_the_server_initial_of_the_rfc) {  // RFC 9001 A.3
  EXPECT_EQ(to_hex(emitted(long_header{.scid = scid, .length = 117, .pn_size = 2})),
            "c1000000010008f067a5502a4262b50040750000");
}

TEST(header_emit, writes_the_initial_of_version_2) {  // RFC 9369 A.2
  EXPECT_EQ(to_hex(emitted(long_header{.version = version_2, .dcid = dcid, .length = 1182, .pn_size = 4})),
            "d36b3343cf088394c8f03e5157080000449e00000000");
}

TEST(header_emit, writes_what_the_parser_reads) {
  std::mt19937 random(17);
  const packet_type types[] = {packet_type::initial, packet_type::zero_rtt, packet_type::handshake};
  const version_number versions[] = {version_1, version_2, 0xff00001d, 0xfaceb002, 0x54303531};
  for (int round = 0; round < 3000; ++round) {
    const byte_list to(random() % 21, 0x11);
    const byte_list from(random() % 21, 0x22);
    const byte_list token(random() % 300, 0x33);
    long_header h{.type = types[random() % 3],
                  .version = versions[random() % 5],
                  .dcid = to,
                  .scid = from,
                  .length = 20 + random() % 20000,
                  .pn_size = 1 + random() % 4};
    if (h.type == packet_type::initial) h.token = token;
    byte_list packet = emitted(h);
    ASSERT_FALSE(packet.empty());
    packet.resize(encoded_size(h) + h.length);
    packet_header read;
    ASSERT_TRUE(parse_packet(packet, read));
    EXPECT_EQ(read.type, h.type);
    EXPECT_EQ(read.version, h.version);
    EXPECT_EQ(to_hex(read.dcid), to_hex(h.dcid));
    EXPECT_EQ(to_hex(read.scid), to_hex(h.scid));
    EXPECT_EQ(to_hex(read.token), to_hex(h.token));
    EXPECT_EQ(read.length, h.length);
    EXPECT_EQ(read.pn_offset, encoded_size(h));
    EXPECT_EQ(read.packet_size, packet.size());
    EXPECT_EQ(read.first_byte & 0x03u, h.pn_size - 1);
    EXPECT_EQ(read.first_byte & 0x0Cu, 0u);  // RFC 9000 17.2: reserved bits are 0 before protection
    // And back: what was read is enough to write the same bytes.
    const long_header again{.type = read.type,
                            .version = read.version,
                            .dcid = read.dcid,
                            .scid = read.scid,
                            .token = read.token,
                            .length = read.length,
                            .pn_size = h.pn_size};
    EXPECT_EQ(to_hex(emitted(again)), to_hex(byte_view(packet).first(encoded_size(h) + h.pn_size)));
  }
}

TEST(header_emit, writes_short_headers_with_their_bits) {
  EXPECT_EQ(to_hex(emitted(short_header{.dcid = dcid, .pn_size = 3})), "428394c8f03e515708000000");
  EXPECT_EQ(to_hex(emitted(short_header{.spin = true, .key_phase = true, .pn_size = 1})), "6400");
}

TEST(header_emit, writes_a_retry_that_lacks_only_its_tag) {  // RFC 9001 A.4
  byte_list room(100);
  byte_writer out(room);
  ASSERT_TRUE(emit_retry(out, version_1, {}, scid, test::keep(test::from_text("token"))));
  EXPECT_EQ(to_hex(out.written()), "f0000000010008f067a5502a4262b5746f6b656e");
  byte_writer second(room);
  ASSERT_TRUE(emit_retry(second, version_2, {}, scid, test::keep(test::from_text("token"))));
  EXPECT_EQ(to_hex(second.written()).substr(0, 2), "c0");
  EXPECT_FALSE(emit_retry(second, version_1, {}, scid, {}));  // RFC 9000 17.2.5.2: no client takes an empty token
  const byte_list packet = test::join({out.written(), byte_list(16, 0x77)});
  packet_header read;
  ASSERT_TRUE(parse_packet(packet, read));
  EXPECT_EQ(read.type, packet_type::retry);
  EXPECT_EQ(base::as_text(read.token), "token");
}

TEST(header_emit, writes_a_version_negotiation_with_the_fixed_bit_set) {  // RFC 9000 17.2.1
  const version_number versions[] = {version_1, version_2};
  byte_list room(600);
  for (const std::uint8_t random : byte_list{0x00, 0x3F, 0xFF}) {
    byte_writer out(room);
    ASSERT_TRUE(emit_version_negotiation(out, random, dcid, test::keep(byte_list(255, 1)), versions));
    packet_header read;
    ASSERT_TRUE(parse_packet(out.written(), read));
    EXPECT_EQ(read.type, packet_type::version_negotiation);
    EXPECT_TRUE(read.fixed_bit);
    EXPECT_EQ(read.scid.size(), 255u);
    EXPECT_EQ(to_hex(read.versions), "000000016b3343cf");
    EXPECT_EQ(classify(out.written()), datagram_kind::long_form);
  }
  byte_writer out(room);
  EXPECT_FALSE(emit_version_negotiation(out, 0, dcid, scid, {}));
}

TEST(header_emit, answers_with_versions_under_the_received_ids_exchanged) {  // RFC 9000 17.2.1
  const std::array<version_number, 2> versions = {version_1, version_2};
  for (const std::size_t size : {0u, 7u, 21u, 255u}) {  // lengths decide nothing
    byte_list room(600);
    packet_header received;
    received.type = packet_type::unknown_long;
    received.first_byte = 0xC0;
    received.version = 0x0a0a0a0a;
    received.dcid = test::keep(byte_list(size, 0xD1));
    received.scid = test::keep(byte_list(255 - size, 0x51));
    byte_writer out(room);
    ASSERT_TRUE(answer_with_versions(out, 0, received, versions));
    packet_header read;
    ASSERT_TRUE(parse_packet(out.written(), read));
    EXPECT_EQ(to_hex(read.dcid), to_hex(received.scid));
    EXPECT_EQ(to_hex(read.scid), to_hex(received.dcid));
    received.type = packet_type::version_negotiation;
    EXPECT_FALSE(answer_with_versions(out, 0, received, versions)) << "or two endpoints would go on for ever";
    received.type = packet_type::one_rtt;
    received.first_byte = 0x40;
    EXPECT_FALSE(answer_with_versions(out, 0, received, versions));
  }
}

TEST(header_emit, refuses_what_cannot_be_on_the_wire) {
  const byte_list too_long(21, 1);
  EXPECT_TRUE(emitted(long_header{.dcid = too_long}).empty());
  EXPECT_TRUE(emitted(long_header{.scid = too_long}).empty());
  EXPECT_TRUE(emitted(long_header{.pn_size = 0}).empty());
  EXPECT_TRUE(emitted(long_header{.pn_size = 5}).empty());
  EXPECT_TRUE(emitted(long_header{.length = std::uint64_t{1} << 30}).empty());
  EXPECT_TRUE(emitted(long_header{.type = packet_type::handshake, .token = dcid}).empty());
  EXPECT_TRUE(emitted(long_header{.type = packet_type::retry}).empty());
  EXPECT_TRUE(emitted(long_header{.type = packet_type::one_rtt}).empty());
  EXPECT_TRUE(emitted(long_header{.version = 0x0a0a0a0a}).empty());
  EXPECT_TRUE(emitted(long_header{.version = 0xff00000f}).empty());
  EXPECT_TRUE(emitted(short_header{.dcid = too_long}).empty());
  EXPECT_TRUE(emitted(short_header{.pn_size = 5}).empty());
}

TEST(header_emit, writes_nothing_where_there_is_no_room) {
  const long_header h{.dcid = dcid, .scid = scid, .length = 100, .pn_size = 2};
  for (std::size_t room = 0; room < encoded_size(h) + 2; ++room) EXPECT_TRUE(emitted(h, room).empty());
  EXPECT_FALSE(emitted(h, encoded_size(h) + 2).empty());
}

}  // namespace
}  // namespace millrace::quic::wire
