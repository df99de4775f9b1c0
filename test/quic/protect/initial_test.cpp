#include "quic/protect/initial.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "quic/protect/initials.hpp"
#include "quic/protect/reference.hpp"
#include "support/guard_page.hpp"
#include "support/hostile.hpp"
#include "support/seeded.hpp"

using namespace millrace;
using quic::protect::open_errc;
using quic::protect::side;
using bytes = test::byte_list;
using test::from_hex;
using test::to_hex;

namespace {

const bytes rfc_dcid = from_hex("8394c8f03e515708");  // RFC 9001 A, RFC 9369 A

// RFC 9001 A.2: the CRYPTO frame; PADDING follows up to 1162 bytes of payload.
const bytes rfc_client_frame = from_hex(
    "060040f1010000ed0303ebf8fa56f12939b9584a3896472ec40bb863cfd3e86804fe3a47f06a2b69484c0000041301130201"
    "0000c000000010000e00000b6578616d706c652e636f6dff01000100000a00080006001d0017001800100007000504616c70"
    "6e000500050100000000003300260024001d00209370b2c9caa47fbabaf4559fedba753de171fa71f50f1ce15d43e994ec74"
    "d748002b0003020304000d0010000e0403050306030203080408050806002d00020101001c00024001003900320408ffffff"
    "ffffffffff05048000ffff07048000ffff0801100104800075300901100f088394c8f03e51570806048000ffff");

// RFC 9001 A.3: the server's whole Initial, protected, and what it protects.
const bytes rfc_server_packet = from_hex(
    "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a1c69797554780bb38cc5"
    "a99f5ede4cf73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84022f8ef4"
    "cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc42158407dd074ee");
const bytes rfc_server_frames = from_hex(
    "02000000000600405a020000560303eefce7f7b37ba1d1632e96677825ddf73988cfc79825df566dc5430b9a045a12001301"
    "00002e00330024001d00209d3c940d89690b84d08a60993c144eca684d1081287c834d5311bcf32bb9da1a002b00020304");

struct version_row {
  quic::wire::version_number version;
  std::uint8_t first_byte;  // long header, fixed bit and the type that is Initial there
  const char* salt;
  const char* labels;
};

// Salts once more, as text, so that a slip in the library's table is not repeated here by copying it.
const version_row rows[] = {
    {0x00000001, 0xc0, "38762cf7f55934b34d179ae6a4c80cadccbb7f0a", "quic "},
    {0x6b3343cf, 0xd0, "0dede3def700a6db819381be6e269dcbf9bd2ed9", "quicv2 "},
    {0x709a50c4, 0xd0, "a707c203a59b47184a1d62ca570406ea7ae3e5d3", "quicv2 "},
    {0xff000022, 0xc0, "38762cf7f55934b34d179ae6a4c80cadccbb7f0a", "quic "},
    {0xff000021, 0xc0, "38762cf7f55934b34d179ae6a4c80cadccbb7f0a", "quic "},
    {0xff000020, 0xc0, "afbfec289993d24c9e9786f19c6111e04390a899", "quic "},
    {0xff00001d, 0xc0, "afbfec289993d24c9e9786f19c6111e04390a899", "quic "},
    {0xff00001c, 0xc0, "c3eef712c72ebb5a11a7d2432bb46365bef9f502", "quic "},
    {0xff000019, 0xc0, "c3eef712c72ebb5a11a7d2432bb46365bef9f502", "quic "},
    {0xff000017, 0xc0, "c3eef712c72ebb5a11a7d2432bb46365bef9f502", "quic "},
    {0xff000016, 0xc0, "7fbcdb0e7c66bbe9193a96cd21519ebd7a02644a", "quic "},
    {0xfaceb001, 0xc0, "7fbcdb0e7c66bbe9193a96cd21519ebd7a02644a", "quic "},
    {0xfaceb002, 0xc0, "c3eef712c72ebb5a11a7d2432bb46365bef9f502", "quic "},
    {0xfaceb003, 0xc0, "38762cf7f55934b34d179ae6a4c80cadccbb7f0a", "quic "},
    {0xfaceb00e, 0xc0, "c3eef712c72ebb5a11a7d2432bb46365bef9f502", "quic "},
    {0xfaceb010, 0xc0, "c3eef712c72ebb5a11a7d2432bb46365bef9f502", "quic "},
    {0x54303530, 0xc0, "7ff579e5acd072915580304c43a2367c60488310", "quic "},
    {0x54303531, 0xc0, "7a4edef4e7ccee5fa4506c19124fc8ccda6e033d", "quic "},
    {0x51303530, 0xc0, "504574efd066fe2f9d945cfcdbd3a7f0d3b56b45", "quic "},
};

}  // namespace

TEST(initial, opens_the_server_packet_of_rfc_9001_a_3) {
  crypto::engine engine = test::make_engine();
  const auto keys = test::derive(engine, 1, rfc_dcid, side::server);
  EXPECT_EQ(to_hex(keys.iv), "0ac1493ca1905853b0bba03e");
  const test::open_result result = test::open_packet(engine, keys, rfc_server_packet);
  ASSERT_EQ(result.code, open_errc::ok);
  EXPECT_EQ(result.packet_number, 1u);
  EXPECT_EQ(to_hex(result.frames), to_hex(rfc_server_frames));
}

TEST(initial, seals_the_server_packet_of_rfc_9001_a_3) {
  crypto::engine engine = test::make_engine();
  bytes packet = test::join({from_hex("c1000000010008f067a5502a4262b50040750001"), rfc_server_frames, bytes(16)});
  ASSERT_TRUE(quic::protect::seal_initial(engine, test::derive(engine, 1, rfc_dcid, side::server), packet, 18, 2, 1));
  EXPECT_EQ(to_hex(packet), to_hex(rfc_server_packet));
}

TEST(initial, seals_the_client_packet_of_rfc_9001_a_2) {
  crypto::engine engine = test::make_engine();
  const auto keys = test::derive(engine, 1, rfc_dcid, side::client);
  EXPECT_EQ(to_hex(keys.iv), "fa044b2f42a3fd3b46fb255c");
  bytes frames = rfc_client_frame;
  frames.resize(1162);
  bytes packet = test::join({from_hex("c300000001088394c8f03e5157080000449e00000002"), frames, bytes(16)});
  ASSERT_EQ(packet.size(), 1200u);
  ASSERT_TRUE(quic::protect::seal_initial(engine, keys, packet, 18, 4, 2));
  const base::byte_view all(packet);
  EXPECT_EQ(to_hex(all.first(54)),
            "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11d242b123dc9bd8bab936b47d92ec356c0bab7df5"
            "976d");
  EXPECT_EQ(to_hex(all.last(16)), "e221af44860018ab0856972e194cd934");
  const test::open_result result = test::open_packet(engine, keys, packet);
  ASSERT_EQ(result.code, open_errc::ok);
  EXPECT_EQ(result.packet_number, 2u);
  EXPECT_EQ(result.frames, frames);
}

TEST(initial, agrees_with_libcrypto_for_every_version_and_connection_id_size) {
  crypto::engine engine = test::make_engine();
  test::seeded random(9001);
  for (const version_row& row : rows) {
    SCOPED_TRACE(testing::Message() << std::hex << row.version);
    EXPECT_TRUE(quic::protect::has_initial_salt(row.version));
    for (std::size_t dcid_size = 0; dcid_size <= quic::wire::max_cid_size; ++dcid_size) {
      for (const side sender : {side::client, side::server}) {
        const bytes dcid = random.bytes(dcid_size);
        const test::reference_keys theirs =
            test::derive_reference(from_hex(row.salt), dcid, sender == side::client, row.labels);
        const auto ours = test::derive(engine, row.version, dcid, sender);
        ASSERT_EQ(to_hex(ours.iv), to_hex(theirs.iv));
        const unsigned pn_size = 1 + static_cast<unsigned>(random.below(4));
        const std::uint64_t pn = random.below(1u << (8 * pn_size - 1));
        const test::plain_initial plain =
            test::make_initial(row.first_byte, row.version, dcid, random.bytes(4 + random.below(1200)), pn_size, pn);
        const bytes packet = test::sealed(engine, ours, plain);
        ASSERT_EQ(to_hex(packet), to_hex(test::seal_reference(theirs, plain.header, plain.frames, pn_size, pn)));
        bool ok = false;
        ASSERT_EQ(test::open_reference(theirs, packet, plain.pn_offset, ok), plain.frames);
        ASSERT_TRUE(ok);
        // The header by hand: which of these versions the parser knows is its own business. A number of few bytes
        // decodes near what was seen before.
        quic::wire::packet_header header;
        header.pn_offset = plain.pn_offset;
        header.packet_size = static_cast<std::uint32_t>(packet.size());
        const test::open_result opened =
            test::open_packet(engine, ours, packet, header, pn == 0 ? ~std::uint64_t{0} : pn - 1);
        ASSERT_EQ(opened.code, open_errc::ok);
        ASSERT_EQ(opened.packet_number, pn);
        ASSERT_EQ(opened.frames, plain.frames);
      }
    }
  }
}

TEST(initial, knows_no_salt_for_versions_without_a_public_one) {
  crypto::engine engine = test::make_engine();
  for (const quic::wire::version_number version :
       {0x0u, 0x2u, 0xff000015u, 0xff000023u, 0xff0000ffu, 0xff010016u, 0xfaceb000u, 0x51303436u, 0x51303433u,
        0x54303532u, 0x0a0a0a0au, 0xbabababau, 0x6b3343d0u}) {
    quic::protect::packet_keys keys;
    keys.iv.fill(0x77);
    EXPECT_FALSE(quic::protect::has_initial_salt(version)) << std::hex << version;
    EXPECT_FALSE(quic::protect::derive_initial_keys(engine, version, rfc_dcid, side::client, keys));
    EXPECT_EQ(keys.iv[0], 0x77) << "written although it failed";
  }
}

TEST(initial, derives_from_a_connection_id_of_any_size_the_invariants_allow) {
  crypto::engine engine = test::make_engine();
  test::seeded random(255);
  for (const std::size_t size : {0u, 21u, 64u, 65u, 255u}) {
    const bytes dcid = random.bytes(size);
    const test::reference_keys theirs = test::derive_reference(from_hex(rows[0].salt), dcid, true, "quic ");
    EXPECT_EQ(to_hex(test::derive(engine, 1, dcid, side::client).iv), to_hex(theirs.iv)) << size;
  }
}

TEST(initial, opens_what_it_sealed_at_every_size) {
  crypto::engine engine = test::make_engine();
  test::seeded random(17);
  const auto keys = test::derive(engine, 1, rfc_dcid, side::client);
  for (std::size_t size = 0; size <= 1500; size += size < 100 ? 1 : 37) {
    for (unsigned pn_size = 1; pn_size <= 4; ++pn_size) {
      if (size + pn_size < 4) continue;  // nothing to sample
      const bytes frames = random.bytes(size);
      const bytes packet = test::sealed(engine, keys, test::make_initial(0xc0, 1, rfc_dcid, frames, pn_size, 5));
      const test::open_result result = test::open_packet(engine, keys, packet);
      ASSERT_EQ(result.code, open_errc::ok) << size << ' ' << pn_size;
      ASSERT_EQ(result.packet_number, 5u);
      ASSERT_EQ(result.frames, frames);
    }
  }
}

TEST(initial, does_not_open_with_the_other_directions_keys_or_another_versions) {
  crypto::engine engine = test::make_engine();
  const bytes packet = test::sealed(engine, test::derive(engine, 1, rfc_dcid, side::client),
                                    test::make_initial(0xc0, 1, rfc_dcid, bytes(100), 2, 0));
  EXPECT_EQ(test::open_packet(engine, test::derive(engine, 1, rfc_dcid, side::server), packet).code,
            open_errc::auth_failed);
  EXPECT_EQ(test::open_packet(engine, test::derive(engine, 0xff00001d, rfc_dcid, side::client), packet).code,
            open_errc::auth_failed);
}

TEST(initial, refuses_every_one_byte_change) {
  crypto::engine engine = test::make_engine();
  const auto keys = test::derive(engine, 1, rfc_dcid, side::client);
  const bytes good = test::sealed(engine, keys, test::make_initial(0xc0, 1, rfc_dcid, bytes(60, 6), 2, 1));
  quic::wire::packet_header header;
  ASSERT_TRUE(quic::wire::parse_packet(good, header));
  bytes room(good.size());
  test::for_every_byte_change(
      good,
      [&](base::byte_view changed) {
        // The header as it was read from the good packet: what changed lies to protection alone to find.
        std::fill(room.begin(), room.end(), std::uint8_t{0});
        quic::protect::opened opened{.packet_number = 99, .payload = {}};
        ASSERT_EQ(quic::protect::open_initial(engine, keys, changed, header, ~std::uint64_t{0}, room, opened),
                  open_errc::auth_failed);
        EXPECT_EQ(opened.packet_number, 99u);
        EXPECT_TRUE(std::all_of(room.begin() + header.pn_offset + 4, room.end(), [](std::uint8_t b) { return b == 0; }))
            << "plaintext nobody vouched for";
      },
      17);
}

TEST(initial, refuses_every_truncation_and_reads_nothing_behind_it) {
  crypto::engine engine = test::make_engine();
  const auto keys = test::derive(engine, 1, rfc_dcid, side::client);
  const bytes good = test::sealed(engine, keys, test::make_initial(0xc0, 1, rfc_dcid, bytes(60, 6), 2, 1));
  quic::wire::packet_header header;
  ASSERT_TRUE(quic::wire::parse_packet(good, header));
  bytes room(good.size());
  quic::protect::opened opened;
  test::for_every_truncation(good, [&](base::byte_view cut) {
    EXPECT_EQ(quic::protect::open_initial(engine, keys, cut, header, ~std::uint64_t{0}, room, opened),
              open_errc::too_short);
    // The same bytes under a header that claims no more than there is.
    quic::wire::packet_header shorter = header;
    shorter.packet_size = static_cast<std::uint32_t>(cut.size());
    EXPECT_NE(quic::protect::open_initial(engine, keys, cut, shorter, ~std::uint64_t{0}, room, opened), open_errc::ok);
  });
}

TEST(initial, reads_and_writes_no_byte_too_far) {
  crypto::engine engine = test::make_engine();
  const auto keys = test::derive(engine, 1, rfc_dcid, side::client);
  test::guard_page packet_page;
  test::guard_page out_page;
  for (std::size_t size = 3; size < 400; ++size) {
    const bytes frames(size, static_cast<std::uint8_t>(size));
    const test::plain_initial plain = test::make_initial(0xc0, 1, rfc_dcid, frames, 1, 0);
    const bytes clear = test::unsealed(plain);
    const base::byte_span packet = packet_page.room(clear.size());
    std::copy(clear.begin(), clear.end(), packet.begin());
    ASSERT_TRUE(quic::protect::seal_initial(engine, keys, packet, plain.pn_offset, 1, 0));
    quic::wire::packet_header header;
    ASSERT_TRUE(quic::wire::parse_packet(packet, header));
    quic::protect::opened opened;
    ASSERT_EQ(quic::protect::open_initial(engine, keys, packet, header, ~std::uint64_t{0}, out_page.room(packet.size()),
                                          opened),
              open_errc::ok);
    ASSERT_TRUE(std::equal(frames.begin(), frames.end(), opened.payload.begin(), opened.payload.end()));
  }
}

TEST(initial, needs_room_for_the_whole_packet) {
  crypto::engine engine = test::make_engine();
  const auto keys = test::derive(engine, 1, rfc_dcid, side::server);
  quic::wire::packet_header header;
  ASSERT_TRUE(quic::wire::parse_packet(rfc_server_packet, header));
  bytes room(rfc_server_packet.size() - 1);
  quic::protect::opened opened;
  EXPECT_EQ(quic::protect::open_initial(engine, keys, rfc_server_packet, header, ~std::uint64_t{0}, room, opened),
            open_errc::no_room);
}

TEST(initial, reports_reserved_bits_of_an_authentic_packet_only) {
  crypto::engine engine = test::make_engine();
  const auto keys = test::derive(engine, 1, rfc_dcid, side::client);
  for (const unsigned bits : {0x04u, 0x08u, 0x0cu}) {
    test::plain_initial plain = test::make_initial(0xc0, 1, rfc_dcid, bytes(50), 2, 3);
    plain.header[0] = static_cast<std::uint8_t>(plain.header[0] | bits);
    bytes packet = test::sealed(engine, keys, plain);
    EXPECT_EQ(test::open_packet(engine, keys, packet).code, open_errc::reserved_bits);
    packet.back() = static_cast<std::uint8_t>(packet.back() ^ 1);
    EXPECT_EQ(test::open_packet(engine, keys, packet).code, open_errc::auth_failed);
  }
}

TEST(initial, opens_a_coalesced_packet_without_touching_what_follows) {
  crypto::engine engine = test::make_engine();
  const auto keys = test::derive(engine, 1, rfc_dcid, side::client);
  bytes datagram = test::sealed(engine, keys, test::make_initial(0xc0, 1, rfc_dcid, bytes(70, 1), 1, 0));
  const std::size_t first = datagram.size();
  const bytes second = test::sealed(engine, keys, test::make_initial(0xc0, 1, rfc_dcid, bytes(90, 2), 3, 1));
  datagram.insert(datagram.end(), second.begin(), second.end());
  EXPECT_EQ(test::open_packet(engine, keys, datagram).frames, bytes(70, 1));
  EXPECT_EQ(test::open_packet(engine, keys, base::byte_view(datagram).subspan(first)).frames, bytes(90, 2));
}

TEST(initial, seals_nothing_whose_sizes_contradict_each_other) {
  crypto::engine engine = test::make_engine();
  const auto keys = test::derive(engine, 1, rfc_dcid, side::client);
  const test::plain_initial plain = test::make_initial(0xc0, 1, rfc_dcid, bytes(50), 2, 3);
  const bytes clear = test::unsealed(plain);
  const auto refuses = [&](bytes packet, std::uint32_t pn_offset, unsigned pn_size, std::uint64_t pn) {
    const bytes before = packet;
    return !quic::protect::seal_initial(engine, keys, packet, pn_offset, pn_size, pn) && packet == before;
  };
  EXPECT_TRUE(refuses(clear, plain.pn_offset, 0, 3));
  EXPECT_TRUE(refuses(clear, plain.pn_offset, 5, 3));
  EXPECT_TRUE(refuses(clear, plain.pn_offset, 1, 3)) << "the first byte says two";
  EXPECT_TRUE(refuses(clear, plain.pn_offset, 2, std::uint64_t{1} << 62));
  EXPECT_TRUE(refuses(clear, 0, 2, 3));
  EXPECT_TRUE(refuses(clear, 0xffffffff, 2, 3));
  EXPECT_TRUE(refuses(clear, static_cast<std::uint32_t>(clear.size() - 19), 2, 3)) << "nothing to sample";
  EXPECT_TRUE(refuses({}, plain.pn_offset, 2, 3));
}
