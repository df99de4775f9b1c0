#include "quic/protect/open.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "quic/protect/protected_packets.hpp"
#include "quic/wire/packet_number.hpp"
#include "support/guard_page.hpp"
#include "support/hostile.hpp"

using namespace millrace;
using quic::protect::cipher_suite;
using quic::protect::open_errc;
using quic::protect::opened_packet;
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

// A sealed packet of one suite, by the reference, with the keys that open it.
struct sealed_sample {
  test::plain_packet plain;
  bytes packet;
  quic::protect::packet_keys keys;
};
sealed_sample make_sample(crypto::engine& engine, test::seeded& random, const test::suite_row& suite, bool is_long,
                          std::size_t payload_size) {
  sealed_sample out;
  const bytes secret = random.bytes(suite.secret_size);
  out.plain = test::make_packet(random, is_long, payload_size);
  out.packet = test::seal_reference(test::reference_keys_of(suite.theirs, secret, "quic "), out.plain.header,
                                    out.plain.payload, out.plain.pn_size, out.plain.packet_number);
  out.keys = keys_of(engine, {quic::wire::version_1, suite.ours}, secret);
  return out;
}

void expect_plain(const opened_packet& opened, const test::plain_packet& plain, base::byte_view packet) {
  ASSERT_EQ(opened.packet_number, plain.packet_number);
  ASSERT_EQ(opened.header_size, plain.header.size());
  ASSERT_EQ(opened.payload_size, plain.payload.size());
  ASSERT_EQ(opened.first_byte, plain.header[0]);
  ASSERT_EQ(to_hex(packet.first(opened.header_size)), to_hex(plain.header));
  ASSERT_EQ(to_hex(packet.subspan(opened.header_size, opened.payload_size)), to_hex(plain.payload));
}

// Parts that lie apart from each other, each in place or going to `elsewhere`.
struct scattered {
  std::vector<bytes> from;
  std::vector<bytes> to;
  std::vector<crypto::text_part> parts;

  scattered(test::seeded& random, base::byte_view packet, std::size_t pieces, bool may_move) {
    for (const base::byte_view piece : test::pieces_of(random, packet, pieces)) {
      from.emplace_back(piece.begin(), piece.end());
      to.emplace_back(piece.size(), 0xee);
    }
    for (std::size_t i = 0; i < from.size(); ++i) {
      const bool moves = may_move && random.below(2) == 0;
      parts.push_back({from[i].data(), moves ? to[i].data() : from[i].data(), from[i].size()});
    }
  }
  [[nodiscard]] bytes result() const {
    bytes out;
    for (const crypto::text_part& part : parts) out.insert(out.end(), part.to, part.to + part.size);
    return out;
  }
};

}  // namespace

TEST(open_packet, opens_the_short_packets_of_rfc_9001_a_5_and_rfc_9369_a_5) {
  crypto::engine engine = test::make_engine();
  const bytes secret = from_hex("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
  for (const auto& [version, hex] : {std::pair{quic::wire::version_1, "4cfe4189655e5cd55c41f69080575d7999c25a5bfb"},
                                     std::pair{quic::wire::version_2, "5558b1c60ae7b6b932bc27d786f4bc2bb20f2162ba"}}) {
    const auto keys = keys_of(engine, {version, cipher_suite::chacha20_poly1305_sha256}, secret);
    bytes packet = from_hex(hex);
    opened_packet opened;
    ASSERT_EQ(open_packet(engine, keys, packet, 1, 654360563, opened), open_errc::ok);
    EXPECT_EQ(opened.packet_number, 654360564u);
    EXPECT_EQ(to_hex(base::byte_view(packet).first(5)), "4200bff401");
    EXPECT_EQ(opened.payload_size, 1u);
  }
}

TEST(open_packet, opens_what_libcrypto_sealed_in_place) {
  crypto::engine engine = test::make_engine();
  test::seeded random(541);
  for (const test::suite_row& suite : test::suites) {
    for (const bool is_long : {false, true}) {
      for (int round = 0; round < 300; ++round) {
        sealed_sample s = make_sample(engine, random, suite, is_long, 4 + random.below(1500));
        opened_packet opened;
        ASSERT_EQ(open_packet(engine, s.keys, s.packet, s.plain.pn_offset, test::largest_before(s.plain.packet_number),
                              opened),
                  open_errc::ok);
        expect_plain(opened, s.plain, s.packet);
      }
    }
  }
}

TEST(open_packet, opens_packets_in_parts_wherever_they_are_cut) {
  crypto::engine engine = test::make_engine();
  test::seeded random(542);
  for (const test::suite_row& suite : test::suites) {
    for (int round = 0; round < 600; ++round) {
      sealed_sample s =
          make_sample(engine, random, suite, round % 2 != 0, 4 + random.below(round % 3 == 0 ? 20 : 3000));
      scattered pieces(random, s.packet, 1 + random.below(9), round % 5 != 0);
      opened_packet opened;
      ASSERT_EQ(open_packet(engine, s.keys, pieces.parts, s.plain.pn_offset,
                            test::largest_before(s.plain.packet_number), opened),
                open_errc::ok);
      expect_plain(opened, s.plain, pieces.result());
    }
  }
}

TEST(open_packet, leaves_shared_parts_as_they_were) {
  crypto::engine engine = test::make_engine();
  test::seeded random(543);
  for (int round = 0; round < 200; ++round) {
    const sealed_sample s = make_sample(engine, random, test::suites[0], false, 4 + random.below(500));
    std::vector<crypto::text_part> parts;
    bytes to(s.packet.size());
    std::size_t at = 0;
    for (const base::byte_view piece : test::pieces_of(random, s.packet, 1 + random.below(4))) {
      parts.push_back({piece.data(), to.data() + at, piece.size()});
      at += piece.size();
    }
    const bytes before = s.packet;
    opened_packet opened;
    ASSERT_EQ(
        open_packet(engine, s.keys, parts, s.plain.pn_offset, test::largest_before(s.plain.packet_number), opened),
        open_errc::ok);
    EXPECT_EQ(s.packet, before);
    expect_plain(opened, s.plain, to);
  }
}

TEST(open_packet, refuses_every_one_byte_change_and_leaves_no_plaintext) {
  crypto::engine engine = test::make_engine();
  test::seeded random(544);
  for (const test::suite_row& suite : test::suites) {
    for (const bool is_long : {false, true}) {
      const sealed_sample s = make_sample(engine, random, suite, is_long, 40);
      test::for_every_byte_change(
          s.packet,
          [&](base::byte_view changed) {
            bytes packet(changed.begin(), changed.end());
            opened_packet opened{.packet_number = 77, .header_size = 78, .payload_size = 79};
            const open_errc code = open_packet(engine, s.keys, packet, s.plain.pn_offset,
                                               test::largest_before(s.plain.packet_number), opened);
            ASSERT_EQ(code, open_errc::auth_failed);
            ASSERT_EQ(opened.packet_number, 77u);
            ASSERT_EQ(opened.payload_size, 79u);
            // Behind the longest header and before the tag nothing but zeros.
            const auto front = packet.begin() + static_cast<std::ptrdiff_t>(s.plain.pn_offset + 4);
            ASSERT_TRUE(std::all_of(front, packet.end() - 16, [](std::uint8_t b) { return b == 0; }));
            ASSERT_TRUE(std::equal(packet.end() - 16, packet.end(), changed.end() - 16))
                << "a reset token is read here";
          },
          5);
    }
  }
}

TEST(open_packet, refuses_every_one_byte_change_of_packets_in_parts) {
  crypto::engine engine = test::make_engine();
  test::seeded random(548);
  for (const test::suite_row& suite : test::suites) {
    const sealed_sample s = make_sample(engine, random, suite, false, 60);
    test::for_every_byte_change(
        s.packet,
        [&](base::byte_view changed) {
          scattered parts(random, changed, 1 + random.below(5), true);
          opened_packet opened{.packet_number = 77, .header_size = 78, .payload_size = 79};
          ASSERT_EQ(open_packet(engine, s.keys, parts.parts, s.plain.pn_offset,
                                test::largest_before(s.plain.packet_number), opened),
                    open_errc::auth_failed);
          ASSERT_EQ(opened.packet_number, 77u);
          ASSERT_EQ(opened.payload_size, 79u);
        },
        5);
  }
}

TEST(open_packet, refuses_every_truncation_and_reads_nothing_behind_it) {
  crypto::engine engine = test::make_engine();
  test::seeded random(545);
  test::guard_page guard(4096);
  for (const test::suite_row& suite : test::suites) {
    const sealed_sample s = make_sample(engine, random, suite, false, 60);
    for (std::size_t size = 0; size < s.packet.size(); ++size) {
      const base::byte_span cut = guard.place(base::byte_view(s.packet).first(size));
      opened_packet opened;
      const open_errc code = open_packet(engine, s.keys, cut, s.plain.pn_offset, 0, opened);
      EXPECT_EQ(code, size < s.plain.pn_offset + 20 ? open_errc::too_short : open_errc::auth_failed) << size;
      const base::byte_span again = guard.place(base::byte_view(s.packet).first(size));
      const crypto::text_part whole{again.data(), again.data(), again.size()};
      EXPECT_EQ(open_packet(engine, s.keys, std::span(&whole, 1), s.plain.pn_offset, 0, opened), code) << size;
    }
  }
}

TEST(open_packet, answers_to_sizes_that_cannot_be) {
  crypto::engine engine = test::make_engine();
  test::seeded random(546);
  const sealed_sample s = make_sample(engine, random, test::suites[0], false, 60);
  opened_packet opened;
  bytes packet = s.packet;
  EXPECT_EQ(open_packet(engine, s.keys, packet, 0, 0, opened), open_errc::too_short);
  EXPECT_EQ(open_packet(engine, s.keys, packet, 0xffffffff, 0, opened), open_errc::too_short);
  EXPECT_EQ(open_packet(engine, s.keys, std::span<const crypto::text_part>{}, 1, 0, opened), open_errc::too_short);
  std::vector<crypto::text_part> many(quic::protect::parts_max + 1, {packet.data(), packet.data(), 1});
  EXPECT_EQ(open_packet(engine, s.keys, many, 1, 0, opened), open_errc::too_many_parts);
  // A header of 512 bytes that does not lie together, as only a peer with strange tokens makes them.
  bytes large(2000);
  const crypto::text_part halves[] = {{large.data(), large.data(), 100},
                                      {large.data() + 100, large.data() + 100, 1900}};
  EXPECT_EQ(open_packet(engine, s.keys, halves, 600, 0, opened), open_errc::too_many_parts);
  EXPECT_EQ(open_packet(engine, s.keys, halves, 400, 0, opened), open_errc::auth_failed);
}

TEST(open_packet, reports_reserved_bits_of_an_authentic_packet) {
  crypto::engine engine = test::make_engine();
  test::seeded random(547);
  for (const test::suite_row& suite : test::suites) {
    for (const auto& [is_long, bit] : {std::pair{false, 0x08}, {false, 0x10}, {true, 0x04}, {true, 0x08}}) {
      const bytes secret = random.bytes(suite.secret_size);
      test::plain_packet plain = test::make_packet(random, is_long, 30);
      plain.header[0] = static_cast<std::uint8_t>(plain.header[0] | bit);
      bytes packet = test::seal_reference(test::reference_keys_of(suite.theirs, secret, "quic "), plain.header,
                                          plain.payload, plain.pn_size, plain.packet_number);
      const auto keys = keys_of(engine, {1, suite.ours}, secret);
      opened_packet opened;
      EXPECT_EQ(open_packet(engine, keys, packet, plain.pn_offset, test::largest_before(plain.packet_number), opened),
                open_errc::reserved_bits);
    }
  }
}

// RFC 9287: whether the bit may be 0 is for who reads the header; protection does not cover it and does not care.
TEST(open_packet, opens_packets_whose_fixed_bit_is_cleared) {
  crypto::engine engine = test::make_engine();
  test::seeded random(548);
  for (const test::suite_row& suite : test::suites) {
    for (const bool is_long : {false, true}) {
      const bytes secret = random.bytes(suite.secret_size);
      test::plain_packet plain = test::make_packet(random, is_long, 30);
      plain.header[0] = static_cast<std::uint8_t>(plain.header[0] & ~0x40);
      bytes packet = test::seal_reference(test::reference_keys_of(suite.theirs, secret, "quic "), plain.header,
                                          plain.payload, plain.pn_size, plain.packet_number);
      opened_packet opened;
      ASSERT_EQ(open_packet(engine, keys_of(engine, {1, suite.ours}, secret), packet, plain.pn_offset,
                            test::largest_before(plain.packet_number), opened),
                open_errc::ok);
      expect_plain(opened, plain, packet);
    }
  }
}

// RFC 9000 A.3: a number of n bytes is the one nearest to the next expected; half a window above it still opens, one
// more is taken for a number a window lower, under which nothing opens.
TEST(open_packet, numbers_packets_to_the_edges_of_the_window_and_of_all_numbers) {
  crypto::engine engine = test::make_engine();
  test::seeded random(549);
  const bytes secret = random.bytes(32);
  const auto keys = keys_of(engine, {1, cipher_suite::aes_128_gcm_sha256}, secret);
  const auto theirs = test::reference_keys_of(test::reference_suite::aes_128, secret, "quic ");
  const auto code = [&](std::uint64_t number, unsigned pn_size, std::uint64_t largest) {
    bytes header = {static_cast<std::uint8_t>(0x40 | (pn_size - 1))};
    for (unsigned i = pn_size; i-- > 0;) header.push_back(static_cast<std::uint8_t>(number >> (8 * i)));
    bytes packet = test::seal_reference(theirs, header, bytes(20, 1), pn_size, number);
    opened_packet opened;
    const open_errc answer = open_packet(engine, keys, packet, 1, largest, opened);
    if (answer == open_errc::ok) {
      EXPECT_EQ(opened.packet_number, number);
    }
    return answer;
  };
  constexpr std::uint64_t last = quic::wire::max_packet_number;
  for (unsigned pn_size = 1; pn_size <= 4; ++pn_size) {
    const std::uint64_t half = std::uint64_t{1} << (8 * pn_size - 1);
    for (const std::uint64_t largest : {std::uint64_t{1} << 40, last - half - 1, last - 4 * half}) {
      EXPECT_EQ(code(largest + 1 + half, pn_size, largest), open_errc::ok) << pn_size;
      EXPECT_EQ(code(largest + 2 - half, pn_size, largest), open_errc::ok) << pn_size;
      EXPECT_EQ(code(largest + 1 - half, pn_size, largest), open_errc::auth_failed) << pn_size;
    }
    EXPECT_EQ(code((std::uint64_t{1} << 40) + 2 + half, pn_size, std::uint64_t{1} << 40), open_errc::auth_failed);
    EXPECT_EQ(code(0, pn_size, quic::wire::no_packet_number), open_errc::ok);
    EXPECT_EQ(code(last, pn_size, last - 1), open_errc::ok);
    EXPECT_EQ(code(last, pn_size, last), open_errc::ok) << "a duplicate opens; who keeps the numbers refuses it";
    EXPECT_EQ(code(last - 1, pn_size, last), open_errc::ok);
  }
}

TEST(open_packet, has_a_drop_reason_for_each_refusal) {
  EXPECT_EQ(quic::protect::reason_of(open_errc::ok), stats::drop_reason::none);
  for (const open_errc code : {open_errc::too_short, open_errc::no_room, open_errc::auth_failed,
                               open_errc::reserved_bits, open_errc::too_many_parts, open_errc::integrity_spent}) {
    EXPECT_NE(quic::protect::reason_of(code), stats::drop_reason::none);
  }
}
