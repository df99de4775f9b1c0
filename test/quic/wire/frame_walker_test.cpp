#include "quic/wire/frame_walker.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/hostile.hpp"
#include "support/quic_frame_echo.hpp"
#include "support/quic_payloads.hpp"
#include "support/quic_reference.hpp"
#include "support/seeded.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_view;
using base::parse_errc;
using test::byte_list;
using test::from_hex;
using test::join;
using test::note_taker;

walk_result walk(const byte_list& payload, const frame_rules& rules = packet_type::initial) {
  return walk_frames(test::keep(payload), rules, frame_visitor{});
}

const byte_list five_frames =
    join({from_hex("01 02 05 00 00 02"), from_hex("06 4064 03 aabbcc"), from_hex("00000000000000000000"),
          from_hex("1c 0a 06 03"), test::from_text("why"), from_hex("00")});

TEST(frame_walker, hands_out_every_frame_in_order) {
  for (const packet_type packet : {packet_type::initial, packet_type::handshake}) {
    note_taker taker;
    const walk_result result = walk_frames(five_frames, packet, taker);
    EXPECT_TRUE(result);
    EXPECT_EQ(taker.text(),
              "ping, ack after 0 3-5, crypto 100:aabbcc, padding 10, close 10 for 6 \"776879\", padding 1");
    EXPECT_EQ(result.frames, 6u);
    EXPECT_TRUE(result.ack_eliciting);
    EXPECT_EQ(transport_error_of(result.fault), transport_error::no_error);
  }
}

TEST(frame_walker, calls_a_packet_of_acks_padding_and_close_not_ack_eliciting) {  // RFC 9002 2
  EXPECT_FALSE(walk(from_hex("02 05 00 00 02 00 00 1c 00 00 00")).ack_eliciting);
  EXPECT_TRUE(walk(from_hex("02 05 00 00 02 01")).ack_eliciting);
  EXPECT_TRUE(walk(from_hex("06 00 00")).ack_eliciting);
}

TEST(frame_walker, refuses_a_packet_without_frames) {  // RFC 9000 12.4
  const walk_result result = walk({});
  EXPECT_EQ(result.fault, frame_fault::no_frames);
  EXPECT_EQ(transport_error_of(result.fault), transport_error::protocol_violation);
}

TEST(frame_walker, refuses_known_frames_that_may_not_be_there) {  // RFC 9000 12.4, table 3
  for (const packet_type packet : {packet_type::initial, packet_type::handshake})
    for (const unsigned type : {0x04u, 0x05u, 0x07u, 0x08u, 0x0fu, 0x10u, 0x11u, 0x12u, 0x13u, 0x14u, 0x15u,
                                0x16u, 0x17u, 0x18u, 0x19u, 0x1au, 0x1bu, 0x1du, 0x1eu, 0x30u, 0x31u}) {
      const walk_result result = walk({0x01, static_cast<std::uint8_t>(type), 0, 0, 0, 0}, packet);
      EXPECT_EQ(result.fault, frame_fault::not_allowed) << type;
      EXPECT_EQ(result.status.code, parse_errc::bad_value);
      EXPECT_EQ(result.status.at, 1u);
      EXPECT_EQ(result.type, type);
      EXPECT_EQ(transport_error_of(result.fault), transport_error::protocol_violation);
    }
}

TEST(frame_walker, refuses_unknown_frames) {
  for (const std::string_view type : {"1f", "2f", "32", "4040", "bf000001", "ff00000000000001"}) {
    const walk_result result = walk(from_hex(type));
    EXPECT_EQ(result.fault, frame_fault::unknown_type) << type;
    EXPECT_EQ(result.status.code, parse_errc::unsupported);
    EXPECT_EQ(transport_error_of(result.fault), transport_error::frame_encoding_error);
  }
}

TEST(frame_walker, never_cuts_a_type_to_fewer_bits) {
  // 0x10001 ends in the 16 bits of PING, 0x1'0000'0006 in the 32 of CRYPTO.
  EXPECT_EQ(walk(from_hex("80010001")).fault, frame_fault::unknown_type);
  EXPECT_EQ(walk(from_hex("c000000100000006 00 00")).fault, frame_fault::unknown_type);
}

TEST(frame_walker, refuses_a_type_in_more_bytes_than_it_needs) {  // RFC 9000 12.4
  for (const std::string_view type : {"4001", "80000001", "c000000000000001", "4000", "400600 00"}) {
    const walk_result result = walk(from_hex(type));
    EXPECT_EQ(result.fault, frame_fault::not_minimal) << type;
    EXPECT_EQ(transport_error_of(result.fault), transport_error::protocol_violation);
  }
}

TEST(frame_walker, refuses_packets_that_hold_no_frames) {
  for (const packet_type packet : {packet_type::retry, packet_type::version_negotiation, packet_type::unknown_long}) {
    const walk_result result = walk(from_hex("01"), packet);
    EXPECT_EQ(result.fault, frame_fault::not_allowed);
    EXPECT_EQ(result.status.code, parse_errc::unsupported);
    EXPECT_EQ(result.frames, 0u);
  }
}

TEST(frame_walker, reads_every_frame_of_a_1_rtt_packet) {
  note_taker taker;
  const walk_result result = walk_frames(test::keep(test::every_frame()), packet_type::one_rtt, taker);
  EXPECT_TRUE(result) << result.status.at;
  EXPECT_EQ(taker.text(), test::notes_of_every_frame);
  EXPECT_EQ(result.frames, 30u);
  EXPECT_TRUE(result.ack_eliciting);
  EXPECT_FALSE(result.probing);
  test::frame_echo echo;
  EXPECT_TRUE(walk_frames(test::keep(test::every_frame()), packet_type::one_rtt, echo));
  EXPECT_EQ(test::to_hex(echo.written()), test::to_hex(test::every_frame()));
}

// The types by table 3 of RFC 9000, each with a body that is good enough to reach its end.
const std::pair<std::string_view, std::string_view> one_of_each[] = {
    {"00", "IH01"},
    {"01", "IH01"},
    {"02 00000000", "IH1"},
    {"04 000000", "01"},
    {"05 0000", "01"},
    {"06 0000", "IH1"},
    {"07 01 aa", "1"},
    {"08 00", "01"},
    {"09 00", "01"},
    {"0a 0000", "01"},
    {"0b 0000", "01"},
    {"0c 0000", "01"},
    {"0d 0000", "01"},
    {"0e 000000", "01"},
    {"0f 000000", "01"},
    {"10 00", "01"},
    {"11 0000", "01"},
    {"12 00", "01"},
    {"13 00", "01"},
    {"14 00", "01"},
    {"15 0000", "01"},
    {"16 00", "01"},
    {"17 00", "01"},
    {"18 0000 01 aa 00000000000000000000000000000000", "01"},
    {"19 00", "1"},
    {"1a 0000000000000000", "01"},
    {"1b 0000000000000000", "1"},
    {"1c 000000", "IH01"},
    {"1d 0000", "01"},
    {"1e", "1"},
    {"30 aa", "01"},
    {"31 00", "01"},
    {"03 00000000 000000", "IH1"}};

TEST(frame_walker, takes_each_frame_in_the_packets_it_belongs_to_and_in_no_other) {  // RFC 9000 12.4, table 3
  const std::pair<char, packet_type> packets[] = {{'I', packet_type::initial},
                                                  {'H', packet_type::handshake},
                                                  {'0', packet_type::zero_rtt},
                                                  {'1', packet_type::one_rtt}};
  for (const auto& [hex, where] : one_of_each)
    for (const auto& [letter, packet] : packets) {
      const walk_result result = walk(from_hex(hex), packet);
      const bool allowed = where.find(letter) != std::string_view::npos;
      EXPECT_EQ(result.fault, allowed ? frame_fault::none : frame_fault::not_allowed) << hex << ' ' << letter;
      EXPECT_EQ(transport_error_of(result.fault),
                allowed ? transport_error::no_error : transport_error::protocol_violation);
    }
}

TEST(frame_walker, takes_from_a_client_no_frame_that_only_a_server_may_send) {  // RFC 9000 19.7, 19.20
  for (const std::string_view hex : {"07 01 aa", "1e"}) {
    const walk_result from_client = walk(from_hex(hex), frame_rules(packet_type::one_rtt, sender::client));
    EXPECT_EQ(from_client.fault, frame_fault::not_allowed);
    EXPECT_EQ(from_client.status.at, 0u);
    EXPECT_EQ(transport_error_of(from_client.fault), transport_error::protocol_violation);
    EXPECT_TRUE(walk(from_hex(hex), frame_rules(packet_type::one_rtt, sender::server)));
    EXPECT_TRUE(walk(from_hex(hex), packet_type::one_rtt));
  }
  for (const auto& [hex, where] : one_of_each)
    if (hex.substr(0, 2) != "07" && hex.substr(0, 2) != "1e") {
      EXPECT_TRUE(walk(from_hex(hex), frame_rules(packet_type::one_rtt, sender::client))) << hex;
    }
}

TEST(frame_walker, takes_no_datagram_beyond_what_was_advertised) {  // RFC 9221 3
  const auto fault_of = [](std::string_view hex, std::uint64_t max) {
    const walk_result result = walk(from_hex(hex), frame_rules(packet_type::one_rtt, sender::client, max));
    if (!result) {
      EXPECT_EQ(transport_error_of(result.fault), transport_error::protocol_violation);
      EXPECT_EQ(result.status.at, 1u);
    }
    return result.fault;
  };
  EXPECT_EQ(fault_of("01 31 02 aabb", 4), frame_fault::none);  // type, length and data: 4 bytes
  EXPECT_EQ(fault_of("01 31 02 aabb", 3), frame_fault::not_allowed);
  EXPECT_EQ(fault_of("01 30 aabb", 3), frame_fault::none);
  EXPECT_EQ(fault_of("01 30 aabb", 2), frame_fault::not_allowed);
  EXPECT_EQ(fault_of("01 31 00", 0), frame_fault::not_allowed);
  EXPECT_EQ(fault_of("01 30", 0), frame_fault::not_allowed);
  EXPECT_EQ(fault_of("01 31 4002 aabb", 5), frame_fault::none);  // a length in two bytes counts as two
  EXPECT_EQ(fault_of("01 31 4002 aabb", 4), frame_fault::not_allowed);
}

TEST(frame_walker, refuses_in_1_rtt_packets_what_no_extension_was_agreed_on_for) {  // RFC 9000 12.4, 19.21
  for (const std::string_view type : {"1f", "2f", "32", "4040", "40af", "bf000001", "ff00000000000001"})
    for (const packet_type packet : {packet_type::zero_rtt, packet_type::one_rtt}) {
      const walk_result result = walk(from_hex(type), packet);
      EXPECT_EQ(result.fault, frame_fault::unknown_type) << type;
      EXPECT_EQ(transport_error_of(result.fault), transport_error::frame_encoding_error);
    }
}

TEST(frame_walker, refuses_every_type_in_each_longer_form) {  // RFC 9000 12.4
  for (const auto& [hex, where] : one_of_each)
    for (const std::string_view start : {"40", "800000", "c0000000000000"}) {
      const walk_result result = walk(from_hex(std::string(start) + std::string(hex)), packet_type::one_rtt);
      EXPECT_EQ(result.fault, frame_fault::not_minimal) << hex;
      EXPECT_EQ(transport_error_of(result.fault), transport_error::protocol_violation);
    }
}

TEST(frame_walker, names_the_error_of_the_rfc_for_each_malformed_frame) {  // RFC 9000 19
  const std::string_view malformed[] = {
      "02 05 00 00 06",                // an ACK below packet 0, 19.3.1
      "02 05 00 01 00 04 00",          // in its second range
      "06 ffffffffffffffff 01 aa",     // CRYPTO beyond 2^62 - 1, 19.6
      "07 00",                         // NEW_TOKEN of nothing, 19.7
      "0e 00 ffffffffffffffff 01 aa",  // STREAM beyond 2^62 - 1, 19.8
      "0c 00 ffffffffffffffff aa",     // the same without a length
      "12 d000000000000001",
      "13 d000000000000001",  // MAX_STREAMS above 2^60, 19.11
      "16 d000000000000001",
      "17 d000000000000001",                           // STREAMS_BLOCKED above 2^60, 19.14
      "18 05 00 00 000102030405060708090a0b0c0d0e0f",  // a connection ID of nothing, 19.15
      "18 05 00 15 000000000000000000000000000000000000000000 000102030405060708090a0b0c0d0e0f",  // and of 21 bytes
      "18 05 06 01 aa 000102030405060708090a0b0c0d0e0f",  // retiring beyond its own number
      "04 00 00",
      "05 00",
      "10",
      "11 00",
      "14",
      "15 00",
      "19",
      "1a 00",
      "1b 00",
      "1c 00 00",
      "1d 00",
      "31 01"};
  for (const std::string_view hex : malformed) {
    const walk_result result = walk(from_hex("01" + std::string(hex)), packet_type::one_rtt);
    EXPECT_EQ(result.fault, frame_fault::malformed) << hex;
    EXPECT_EQ(result.frames, 1u);
    EXPECT_EQ(transport_error_of(result.fault), transport_error::frame_encoding_error);
  }
}

TEST(frame_walker, tells_packets_that_only_probe_a_path) {  // RFC 9000 9.1
  EXPECT_TRUE(walk(from_hex("1a 0102030405060708 00000000"), packet_type::one_rtt).probing);
  EXPECT_TRUE(
      walk(from_hex("1b 0102030405060708 18 01 00 01 aa 00000000000000000000000000000000"), packet_type::one_rtt)
          .probing);
  EXPECT_FALSE(walk(from_hex("1a 0102030405060708 01"), packet_type::one_rtt).probing);
  EXPECT_FALSE(walk(from_hex("02 00000000"), packet_type::one_rtt).probing);
}

TEST(frame_walker, stops_at_the_first_fault_and_says_where) {
  note_taker taker;
  const walk_result result = walk_frames(test::keep(from_hex("01 00 02 05 00 00 06 01")), packet_type::initial, taker);
  EXPECT_EQ(taker.text(), "ping, padding 1");
  EXPECT_EQ(result.fault, frame_fault::malformed);
  EXPECT_EQ(result.status.code, parse_errc::bad_value);
  EXPECT_EQ(result.status.at, 6u);
  EXPECT_EQ(result.type, frame_ack);
  EXPECT_EQ(result.frames, 2u);
  EXPECT_EQ(transport_error_of(result.fault), transport_error::frame_encoding_error);
}

TEST(frame_walker, stops_when_the_visitor_has_seen_enough) {
  struct first_crypto : frame_visitor {
    using frame_visitor::on;
    int seen = 0;
    bool on(const crypto_frame&) {
      ++seen;
      return false;
    }
  };
  first_crypto visitor;
  const walk_result result =
      walk_frames(test::keep(from_hex("01 06 00 01 aa 06 01 01 bb")), packet_type::initial, visitor);
  EXPECT_EQ(visitor.seen, 1);
  EXPECT_EQ(result.fault, frame_fault::stopped);
  EXPECT_TRUE(result.status);
  EXPECT_EQ(result.frames, 2u);
}

TEST(frame_walker, maps_tls_alerts_into_the_range_of_crypto_errors) {
  EXPECT_EQ(static_cast<std::uint64_t>(crypto_error(40)), 0x128u);
  EXPECT_TRUE(is_crypto_error(0x100));
  EXPECT_TRUE(is_crypto_error(0x1ff));
  EXPECT_FALSE(is_crypto_error(0xff));
  EXPECT_FALSE(is_crypto_error(0x200));
}

TEST(frame_walker, survives_every_truncation_and_every_change_of_one_byte) {
  const auto check = [](byte_view in) {
    test::frame_echo echo;
    const walk_result result = walk_frames(in, packet_type::initial, echo);
    EXPECT_LE(result.status.at, in.size());
    EXPECT_FALSE(echo.broken) << test::to_hex(in);
    if (!result) return;
    // What was read, written again, is the canonical form: it reads as the same frames and writes as itself.
    test::frame_echo again;
    EXPECT_TRUE(walk_frames(echo.written(), packet_type::initial, again));
    EXPECT_EQ(test::to_hex(again.written()), test::to_hex(echo.written()));
    EXPECT_LE(echo.written().size(), in.size());
  };
  test::for_every_truncation(five_frames, check);
  test::for_every_byte_change(five_frames, check);
}

// What a second decoder, written for tests alone, makes of the same bytes.
void expect_as_reference(byte_view in, const frame_rules& rules, const test::reference_packet& packet) {
  note_taker taker;
  const walk_result result = walk_frames(in, rules, taker);
  test::frame_notes notes;
  EXPECT_EQ(test::reference_reader(in).read(packet, notes), result.fault) << test::to_hex(in);
  EXPECT_EQ(taker.text(), notes.text()) << test::to_hex(in);
  EXPECT_LE(result.status.at, in.size());
}

TEST(frame_walker, agrees_with_a_second_decoder_on_every_truncation_and_every_change_of_one_byte) {
  const byte_list good = test::every_frame();
  const frame_rules server(packet_type::one_rtt, sender::server);
  const auto check = [&](byte_view in) { expect_as_reference(in, server, {}); };
  check(good);
  test::for_every_truncation(good, check);
  test::for_every_byte_change(good, check);
  for (const auto& [letter, rules] : {std::pair{'0', frame_rules(packet_type::zero_rtt, sender::client, 4)},
                                      std::pair{'1', frame_rules(packet_type::one_rtt, sender::client, 4)}}) {
    const test::reference_packet packet{.kind = letter, .from_client = true, .knows_sender = true, .max_datagram = 4};
    test::for_every_byte_change(good, [&](byte_view in) { expect_as_reference(in, rules, packet); }, 5);
  }
}

TEST(frame_walker, agrees_with_a_second_decoder_on_frames_thrown_together) {
  test::guard_page guard;
  for (std::uint64_t seed = 1; seed <= 20000; ++seed) {
    test::seeded random(seed);
    byte_list payload;
    for (std::size_t i = random.below(6); i != 0; --i) {
      payload = join({payload, from_hex(one_of_each[random.below(std::size(one_of_each))].first)});
      if (random.below(3) == 0) payload.back() = static_cast<std::uint8_t>(random.next());
    }
    SCOPED_TRACE(seed);
    const std::uint64_t most = random.below(2) == 0 ? base::varint_max : random.below(5);
    const bool client = random.below(2) == 0;
    expect_as_reference(guard.place(payload),
                        frame_rules(packet_type::one_rtt, client ? sender::client : sender::server, most),
                        {.from_client = client, .knows_sender = true, .max_datagram = most});
    if (testing::Test::HasFailure()) break;
  }
}

TEST(frame_walker, gives_back_a_canonical_payload_byte_for_byte) {
  test::frame_echo echo;
  EXPECT_TRUE(walk_frames(five_frames, packet_type::initial, echo));
  EXPECT_EQ(test::to_hex(echo.written()), test::to_hex(five_frames));
}

}  // namespace
}  // namespace millrace::quic::wire
