#include "quic/wire/frame_walker.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/hostile.hpp"
#include "support/quic_frame_echo.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_view;
using base::parse_errc;
using test::byte_list;
using test::from_hex;
using test::join;

// Writes down what it sees, in one line.
struct note_taker : frame_visitor {
  std::string notes;
  bool on(const padding_frame& f) { return note("padding " + std::to_string(f.count)); }
  bool on(const ping_frame&) { return note("ping"); }
  bool on(const ack_frame& f) { return note("ack " + std::to_string(f.largest)); }
  bool on(const crypto_frame& f) {
    return note("crypto " + std::to_string(f.offset) + "+" + std::to_string(f.data.size()));
  }
  bool on(const connection_close_frame& f) {
    return note("close " + std::to_string(f.error_code) + " " + std::string(base::as_text(f.reason)));
  }
  bool note(const std::string& what) {
    notes += notes.empty() ? what : ", " + what;
    return true;
  }
};

walk_result walk(const byte_list& payload, packet_type packet = packet_type::initial) {
  return walk_frames(test::keep(payload), packet, frame_visitor{});
}

const byte_list five_frames =
    join({from_hex("01 02 05 00 00 02"), from_hex("06 4064 03 aabbcc"), from_hex("00000000000000000000"),
          from_hex("1c 0a 06 03"), test::from_text("why"), from_hex("00")});

TEST(frame_walker, hands_out_every_frame_in_order) {
  for (const packet_type packet : {packet_type::initial, packet_type::handshake}) {
    note_taker taker;
    const walk_result result = walk_frames(five_frames, packet, taker);
    EXPECT_TRUE(result);
    EXPECT_EQ(taker.notes, "ping, ack 5, crypto 100+3, padding 10, close 10 why, padding 1");
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

TEST(frame_walker, refuses_packets_whose_frames_it_does_not_read) {
  for (const packet_type packet : {packet_type::zero_rtt, packet_type::one_rtt, packet_type::retry,
                                   packet_type::version_negotiation, packet_type::unknown_long}) {
    const walk_result result = walk(from_hex("01"), packet);
    EXPECT_EQ(result.fault, frame_fault::not_allowed);
    EXPECT_EQ(result.status.code, parse_errc::unsupported);
    EXPECT_EQ(result.frames, 0u);
  }
}

TEST(frame_walker, stops_at_the_first_fault_and_says_where) {
  note_taker taker;
  const walk_result result = walk_frames(test::keep(from_hex("01 00 02 05 00 00 06 01")), packet_type::initial, taker);
  EXPECT_EQ(taker.notes, "ping, padding 1");
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

TEST(frame_walker, gives_back_a_canonical_payload_byte_for_byte) {
  test::frame_echo echo;
  EXPECT_TRUE(walk_frames(five_frames, packet_type::initial, echo));
  EXPECT_EQ(test::to_hex(echo.written()), test::to_hex(five_frames));
}

}  // namespace
}  // namespace millrace::quic::wire
