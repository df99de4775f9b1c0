#include "quic/protect/seal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "quic/protect/protected_packets.hpp"
#include "quic/wire/packet_number.hpp"
#include "support/guard_page.hpp"

using namespace millrace;
using quic::protect::cipher_suite;
using quic::protect::gather;
using quic::protect::seal_errc;
using quic::protect::seal_request;
using bytes = test::byte_list;
using test::from_hex;
using test::to_hex;

namespace {

quic::protect::packet_keys keys_of(crypto::engine& engine, const quic::protect::key_context& context,
                                   const bytes& secret) {
  quic::protect::packet_keys out;
  EXPECT_TRUE(derive_packet_keys(engine, context, test::secret_of(context.suite, secret), out));
  return out;
}

seal_request request_of(const test::plain_packet& plain, base::byte_span out,
                        std::span<const base::byte_view> payload) {
  return {.out = out,
          .pn_offset = plain.pn_offset,
          .pn_size = plain.pn_size,
          .packet_number = plain.packet_number,
          .payload = payload};
}

}  // namespace

TEST(seal_packet, seals_the_short_packets_of_rfc_9001_a_5_and_rfc_9369_a_5) {
  crypto::engine engine = test::make_engine();
  const bytes secret = from_hex("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
  for (const auto& [version, hex] : {std::pair{quic::wire::version_1, "4cfe4189655e5cd55c41f69080575d7999c25a5bfb"},
                                     std::pair{quic::wire::version_2, "5558b1c60ae7b6b932bc27d786f4bc2bb20f2162ba"}}) {
    const auto keys = keys_of(engine, {version, cipher_suite::chacha20_poly1305_sha256}, secret);
    bytes packet(21);
    packet[0] = 0x42;
    const bytes ping = {0x01};
    const base::byte_view payload = ping;
    seal_request r{.out = packet, .pn_offset = 1, .pn_size = 3, .packet_number = 654360564, .payload = {&payload, 1}};
    ASSERT_EQ(seal_packet(engine, keys, r), seal_errc::ok);
    EXPECT_EQ(r.size, packet.size());
    EXPECT_EQ(to_hex(packet), hex);
  }
}

TEST(seal_packet, seals_as_libcrypto_does_however_the_payload_is_gathered) {
  crypto::engine engine = test::make_engine();
  test::seeded random(551);
  for (const test::suite_row& suite : test::suites) {
    for (const gather how : {gather::by_size, gather::copy, gather::in_parts}) {
      for (int round = 0; round < 250; ++round) {
        const bytes secret = random.bytes(suite.secret_size);
        const auto keys = keys_of(engine, {1, suite.ours}, secret);
        const std::size_t size = round % 10 == 0 ? 3000 + random.below(6000) : 4 + random.below(1500);
        const test::plain_packet plain = test::make_packet(random, round % 2 != 0, size);
        const auto pieces = test::pieces_of(random, plain.payload, 1 + random.below(6));
        bytes packet = test::room_for(plain);
        // What the header's emitter left open.
        std::fill_n(packet.begin() + plain.pn_offset, plain.pn_size, std::uint8_t{0xcc});
        seal_request r = request_of(plain, packet, pieces);
        r.how = how;
        ASSERT_EQ(seal_packet(engine, keys, r), seal_errc::ok);
        ASSERT_EQ(r.size, packet.size());
        ASSERT_EQ(to_hex(packet),
                  to_hex(test::seal_reference(test::reference_keys_of(suite.theirs, secret, "quic "), plain.header,
                                              plain.payload, plain.pn_size, plain.packet_number)));
      }
    }
  }
}

TEST(seal_packet, takes_pieces_that_lie_in_their_place_already) {
  crypto::engine engine = test::make_engine();
  test::seeded random(552);
  const bytes secret = random.bytes(32);
  const auto keys = keys_of(engine, {1, cipher_suite::aes_128_gcm_sha256}, secret);
  for (const gather how : {gather::by_size, gather::copy, gather::in_parts}) {
    for (int round = 0; round < 200; ++round) {
      const test::plain_packet plain = test::make_packet(random, false, 4 + random.below(6000));
      const std::size_t in_place = random.below(plain.payload.size() + 1);
      bytes packet = test::room_for(plain);
      std::copy_n(plain.payload.begin(), in_place, packet.begin() + static_cast<std::ptrdiff_t>(plain.header.size()));
      const base::byte_view pieces[] = {base::byte_view(packet).subspan(plain.header.size(), in_place),
                                        base::byte_view(plain.payload).subspan(in_place)};
      seal_request r = request_of(plain, packet, pieces);
      r.how = how;
      ASSERT_EQ(seal_packet(engine, keys, r), seal_errc::ok);
      ASSERT_EQ(to_hex(packet),
                to_hex(test::seal_reference(test::reference_keys_of(test::reference_suite::aes_128, secret, "quic "),
                                            plain.header, plain.payload, plain.pn_size, plain.packet_number)));
    }
  }
}

TEST(seal_packet, copies_together_what_comes_in_more_pieces_than_it_follows) {
  crypto::engine engine = test::make_engine();
  test::seeded random(553);
  const bytes secret = random.bytes(32);
  const auto keys = keys_of(engine, {1, cipher_suite::aes_128_gcm_sha256}, secret);
  const test::plain_packet plain = test::make_packet(random, false, 5000);
  std::vector<base::byte_view> pieces;
  for (std::size_t at = 0; at < plain.payload.size(); at += 50) {
    pieces.push_back(base::byte_view(plain.payload).subspan(at, 50));
  }
  bytes packet = test::room_for(plain);
  seal_request r = request_of(plain, packet, pieces);
  ASSERT_EQ(seal_packet(engine, keys, r), seal_errc::ok);
  EXPECT_EQ(to_hex(packet),
            to_hex(test::seal_reference(test::reference_keys_of(test::reference_suite::aes_128, secret, "quic "),
                                        plain.header, plain.payload, plain.pn_size, plain.packet_number)));
}

TEST(seal_packet, writes_its_packet_and_no_more) {
  crypto::engine engine = test::make_engine();
  test::seeded random(554);
  test::guard_page guard(16384);
  for (const test::suite_row& suite : test::suites) {
    const auto keys = keys_of(engine, {1, suite.ours}, random.bytes(suite.secret_size));
    for (std::size_t size = 4; size <= 300; ++size) {
      const test::plain_packet plain = test::make_packet(random, false, size);
      const auto pieces = test::pieces_of(random, plain.payload, 3);
      const base::byte_span packet = guard.place(test::room_for(plain));
      seal_request r = request_of(plain, packet, pieces);
      ASSERT_EQ(seal_packet(engine, keys, r), seal_errc::ok) << size;
    }
  }
}

TEST(seal_packet, reads_its_pieces_and_no_more) {
  crypto::engine engine = test::make_engine();
  test::seeded random(557);
  test::guard_page front_page(4096);
  test::guard_page data_page(16384);
  const auto keys = keys_of(engine, {1, cipher_suite::aes_128_gcm_sha256}, random.bytes(32));
  for (const gather how : {gather::by_size, gather::copy, gather::in_parts}) {
    for (std::size_t front_size = 0; front_size <= 70; ++front_size) {
      const test::plain_packet plain = test::make_packet(random, false, front_size + 4 + random.below(1400));
      const base::byte_view all = plain.payload;
      const std::array<base::byte_view, 2> pieces = {front_page.place(all.first(front_size)),
                                                     data_page.place(all.subspan(front_size))};
      bytes packet = test::room_for(plain);
      packet[0] = plain.header[0];
      seal_request r = request_of(plain, packet, pieces);
      r.how = how;
      ASSERT_EQ(seal_packet(engine, keys, r), seal_errc::ok) << front_size;
      ASSERT_TRUE(std::equal(pieces[0].begin(), pieces[0].end(), all.begin())) << "borrowed, not changed";
    }
  }
}

TEST(seal_packet, refuses_sizes_that_contradict_each_other) {
  crypto::engine engine = test::make_engine();
  const auto keys = keys_of(engine, {1, cipher_suite::aes_128_gcm_sha256}, bytes(32, 7));
  bytes packet(100);
  packet[0] = 0x41;  // two bytes of number
  const bytes text(50);
  const base::byte_view payload = text;
  const seal_request good{.out = packet, .pn_offset = 9, .pn_size = 2, .packet_number = 5, .payload = {&payload, 1}};
  const auto code = [&](auto change) {
    seal_request r = good;
    packet.assign(packet.size(), 0);
    packet[0] = 0x41;
    change(r);
    return seal_packet(engine, keys, r);
  };
  EXPECT_EQ(code([](seal_request&) {}), seal_errc::ok);
  EXPECT_EQ(code([](seal_request& r) { r.pn_offset = 0; }), seal_errc::bad_header);
  EXPECT_EQ(code([](seal_request& r) { r.pn_size = 0; }), seal_errc::bad_header);
  EXPECT_EQ(code([](seal_request& r) { r.pn_size = 1; }), seal_errc::bad_header);
  EXPECT_EQ(code([](seal_request& r) { r.pn_size = 5; }), seal_errc::bad_header);
  EXPECT_EQ(code([](seal_request& r) { r.packet_number = quic::wire::max_packet_number; }), seal_errc::ok);
  EXPECT_EQ(code([](seal_request& r) { r.packet_number = quic::wire::max_packet_number + 1; }), seal_errc::bad_header);
  EXPECT_EQ(code([](seal_request& r) { r.out = r.out.first(77); }), seal_errc::ok);
  for (std::size_t room = 0; room < 77; ++room) {
    EXPECT_EQ(code([room](seal_request& r) { r.out = r.out.first(room); }), seal_errc::no_room) << room;
  }
  EXPECT_EQ(code([](seal_request& r) { r.pn_offset = 0xffffffff; }), seal_errc::no_room);
  EXPECT_EQ(code([](seal_request& r) { r.payload = {}; }), seal_errc::too_short);
  const bytes one(1);
  const base::byte_view single = one;
  EXPECT_EQ(code([&](seal_request& r) { r.payload = {&single, 1}; }), seal_errc::too_short);
}
