#include "quic/wire/transport_parameters.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/varint.hpp"
#include "quic/wire/error_code.hpp"
#include "support/bytes.hpp"
#include "support/hostile.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_view;
using base::parse_errc;
using base::parse_status;
using test::byte_list;
using test::from_hex;
using test::join;
using test::to_hex;
using enum transport_parameter;

parse_status parse_hex(std::string_view hex, transport_parameters& p, sender from = sender::server,
                       parameter_encoding encoding = parameter_encoding::varints) {
  return parse(test::keep(from_hex(hex)), from, encoding, p);
}
parse_errc code_of(std::string_view hex, sender from = sender::server) {
  transport_parameters p;
  return parse_hex(hex, p, from).code;
}
byte_list number(std::uint64_t id, std::uint64_t value) {
  byte_list out(24);
  base::byte_writer to(out);
  EXPECT_TRUE(to.varint(id) && to.varint(base::varint_size(value)) && to.varint(value));
  out.resize(to.size());
  return out;
}
byte_list emitted(const transport_parameters& p, sender from) {
  byte_list room(encoded_size(p));
  base::byte_writer out(room);
  EXPECT_TRUE(emit(out, p, from));
  EXPECT_EQ(out.room(), 0u);
  return room;
}

const std::string_view token = "000102030405060708090a0b0c0d0e0f";
const std::string_view address = "c0000201 01bb 20010db8000000000000000000000001 01bc 04 a1a2a3a4";  // 29 + token

// Everything a server can say, ascending and shortest.
std::string full() {
  return std::string("00 08 8394c8f03e515708") + "01 04 80007530" + "02 10" + std::string(token) + "03 02 45c0" +
         "04 04 80100000" + "05 02 7fff" + "06 01 06" + "07 01 07" + "08 02 4064" + "09 01 03" + "0a 01 05" +
         "0b 01 19" + "0c 00" + "0d 2d" + std::string(address) + std::string(token) + "0e 01 04" + "0f 04 01020304" +
         "10 00" + "11 0c 00000001 6b3343cf 00000001" + "20 04 80010000" + "6ab2 00";
}

TEST(transport_parameters, has_the_defaults_of_the_rfc_where_nothing_was_sent) {  // RFC 9000 18.2
  transport_parameters p;
  ASSERT_TRUE(parse_hex("", p));
  EXPECT_EQ(p.present, 0u);
  EXPECT_EQ(p.max_udp_payload_size, 65527u);
  EXPECT_EQ(p.ack_delay_exponent, 3u);
  EXPECT_EQ(p.max_ack_delay_ms, 25u);
  EXPECT_EQ(p.active_connection_id_limit, 2u);
  EXPECT_EQ(p.initial_max_data, 0u);
  EXPECT_EQ(p.max_datagram_frame_size, 0u);
  EXPECT_FALSE(p.disable_active_migration);
  EXPECT_FALSE(p.has(max_udp_payload_size));
}

TEST(transport_parameters, reads_every_parameter) {
  transport_parameters p;
  ASSERT_TRUE(parse_hex(full(), p));
  EXPECT_EQ(to_hex(p.original_destination_connection_id), "8394c8f03e515708");
  EXPECT_EQ(p.max_idle_timeout_ms, 30000u);
  EXPECT_EQ(to_hex(p.stateless_reset_token), token);
  EXPECT_EQ(p.max_udp_payload_size, 1472u);
  EXPECT_EQ(p.initial_max_data, 1048576u);
  EXPECT_EQ(p.initial_max_stream_data_bidi_local, 16383u);
  EXPECT_EQ(p.initial_max_stream_data_bidi_remote, 6u);
  EXPECT_EQ(p.initial_max_stream_data_uni, 7u);
  EXPECT_EQ(p.initial_max_streams_bidi, 100u);
  EXPECT_EQ(p.initial_max_streams_uni, 3u);
  EXPECT_EQ(p.ack_delay_exponent, 5u);
  EXPECT_EQ(p.max_ack_delay_ms, 25u);
  EXPECT_TRUE(p.disable_active_migration);
  EXPECT_EQ(to_hex(p.preferred_address.ipv4), "c0000201");
  EXPECT_EQ(p.preferred_address.ipv4_port, 443);
  EXPECT_EQ(to_hex(p.preferred_address.ipv6), "20010db8000000000000000000000001");
  EXPECT_EQ(p.preferred_address.ipv6_port, 444);
  EXPECT_EQ(to_hex(p.preferred_address.cid), "a1a2a3a4");
  EXPECT_EQ(to_hex(p.preferred_address.stateless_reset_token), token);
  EXPECT_EQ(p.active_connection_id_limit, 4u);
  EXPECT_EQ(to_hex(p.initial_source_connection_id), "01020304");
  EXPECT_TRUE(p.has(retry_source_connection_id));
  EXPECT_TRUE(p.retry_source_connection_id.empty());
  EXPECT_EQ(p.version_information.chosen, version_1);
  EXPECT_EQ(to_hex(p.version_information.available), "6b3343cf00000001");
  EXPECT_EQ(p.max_datagram_frame_size, 65536u);
  EXPECT_TRUE(p.grease_quic_bit);
  EXPECT_EQ(p.ids.size(), 20u);
  EXPECT_EQ(p.unknown_count, 0u);
  for (const std::uint64_t id : p.ids) EXPECT_TRUE(p.has(static_cast<transport_parameter>(id))) << id;
}

TEST(transport_parameters, writes_back_the_canonical_form_byte_for_byte) {
  transport_parameters p;
  ASSERT_TRUE(parse_hex(full(), p));
  EXPECT_EQ(to_hex(emitted(p, sender::server)), to_hex(from_hex(full())));
}

TEST(transport_parameters, writes_ascending_and_shortest_what_came_otherwise) {
  transport_parameters p;
  ASSERT_TRUE(parse_hex("08 04 80000001 4004 4001 05 c000000000000001 01 0a", p, sender::client));
  EXPECT_EQ(to_hex(emitted(p, sender::client)), "01010a040105080101");
}

TEST(transport_parameters, refuses_what_only_a_server_may_send) {  // RFC 9000 18.2
  for (const std::string& hex : {std::string("00 00"), "02 10" + std::string(token),
                                 "0d 2d" + std::string(address) + std::string(token), std::string("10 00")}) {
    EXPECT_EQ(code_of(hex, sender::client), parse_errc::bad_value) << hex;
    EXPECT_EQ(code_of(hex, sender::server), parse_errc::ok) << hex;
  }
}

TEST(transport_parameters, refuses_values_out_of_bounds) {  // RFC 9000 18.2, 4.6
  const std::pair<byte_list, bool> cases[] = {
      {number(0x03, 1199), false},
      {number(0x03, 1200), true},
      {number(0x08, std::uint64_t{1} << 60), true},
      {number(0x08, (std::uint64_t{1} << 60) + 1), false},
      {number(0x09, std::uint64_t{1} << 60), true},
      {number(0x09, (std::uint64_t{1} << 60) + 1), false},
      {number(0x0a, 20), true},
      {number(0x0a, 21), false},
      {number(0x0b, 16383), true},
      {number(0x0b, 16384), false},
      {number(0x0e, 2), true},
      {number(0x0e, 1), false},
      {number(0x0e, 0), false},
      {number(0x04, base::varint_max), true},
  };
  for (const auto& [body, good] : cases) {
    transport_parameters p;
    EXPECT_EQ(parse(body, sender::client, parameter_encoding::varints, p).code,
              good ? parse_errc::ok : parse_errc::bad_value)
        << to_hex(body);
  }
}

TEST(transport_parameters, refuses_values_of_the_wrong_size) {
  for (const std::string& hex : {std::string("01 00"), std::string("01 02 05 00"), std::string("01 01 40"),  // integers
                                 std::string("0c 01 00"), std::string("6ab2 01 00"),                         // flags
                                 "02 0f" + std::string(token).substr(2), std::string("0f 15") + std::string(42, '0'),
                                 "0d 2c" + std::string(address) + std::string(token).substr(2),
                                 "0d 2e" + std::string(address) + std::string(token) + "00", std::string("0d 00"),
                                 std::string("11 03 000001"), std::string("11 06 00000001 6b33"), std::string("11 00")})
    EXPECT_EQ(code_of(hex), parse_errc::bad_length) << hex;
}

TEST(transport_parameters, refuses_a_preferred_address_without_a_connection_id) {  // RFC 9000 18.2
  const std::string start = "c0000201 01bb 20010db8000000000000000000000001 01bc";
  EXPECT_EQ(code_of("0d 29" + start + "00" + std::string(token)), parse_errc::bad_value);
  EXPECT_EQ(code_of("0d 3e" + start + "15" + std::string(42, 'a') + std::string(token)), parse_errc::bad_value);
}

TEST(transport_parameters, refuses_version_information_that_contradicts_itself) {  // RFC 9368 4
  EXPECT_EQ(code_of("11 08 00000000 00000001"), parse_errc::bad_value);
  EXPECT_EQ(code_of("11 0c 00000001 00000001 00000000"), parse_errc::bad_value);
  EXPECT_EQ(code_of("11 08 00000001 6b3343cf", sender::client), parse_errc::bad_value);
  EXPECT_EQ(code_of("11 08 00000001 6b3343cf", sender::server), parse_errc::ok);
  EXPECT_EQ(code_of("11 04 00000001", sender::server), parse_errc::ok);
}

TEST(transport_parameters, refuses_any_parameter_that_comes_twice) {  // RFC 9000 7.4
  transport_parameters p;
  const parse_status status = parse_hex("01 01 05 04 01 06 01 01 05", p);
  EXPECT_EQ(status.code, parse_errc::duplicate);
  EXPECT_EQ(status.at, 6u);
  EXPECT_EQ(code_of("4321 00 4321 00"), parse_errc::duplicate);
  EXPECT_EQ(code_of("1b 00 1b 01 00"), parse_errc::duplicate);  // reserved ones too
}

TEST(transport_parameters, skips_what_it_does_not_know_and_counts_it) {  // RFC 9000 7.4.2
  transport_parameters p;
  ASSERT_TRUE(parse_hex("4321 03 aabbcc 01 01 05 1b 02 ffff c00000000000004e 00 7127 01 09", p));
  EXPECT_EQ(p.unknown_count, 3u);   // 0x321, 0x4e, 0x3127
  EXPECT_EQ(p.reserved_count, 1u);  // 27
  EXPECT_EQ(std::vector(p.ids.begin(), p.ids.end()), (std::vector<std::uint64_t>{0x321, 1, 27, 0x4e, 0x3127}));
  EXPECT_TRUE(is_reserved_parameter(27));
  EXPECT_TRUE(is_reserved_parameter(27 + 31 * 1000));
  EXPECT_FALSE(is_reserved_parameter(28));
}

TEST(transport_parameters, caps_how_many_there_may_be) {
  byte_list body;
  for (std::size_t i = 0; i < max_transport_parameters; ++i) body = join({body, number(0x100 + i, 1)});
  transport_parameters p;
  EXPECT_TRUE(parse(body, sender::client, parameter_encoding::varints, p));
  body = join({body, number(0x4000, 1)});
  EXPECT_EQ(parse(body, sender::client, parameter_encoding::varints, p).code, parse_errc::too_many);
}

TEST(transport_parameters, reads_the_16_bit_form_of_drafts_before_27) {
  EXPECT_EQ(encoding_of(0xff00001a), parameter_encoding::sixteen_bits);
  EXPECT_EQ(encoding_of(0xff00001b), parameter_encoding::varints);
  EXPECT_EQ(encoding_of(0xfaceb001), parameter_encoding::sixteen_bits);
  EXPECT_EQ(encoding_of(0xfaceb002), parameter_encoding::varints);
  EXPECT_EQ(encoding_of(0x54303530), parameter_encoding::sixteen_bits);
  EXPECT_EQ(encoding_of(version_1), parameter_encoding::varints);
  const auto read = [](std::string_view hex, transport_parameters& p) {
    return parse_hex(hex, p, sender::client, parameter_encoding::sixteen_bits);
  };
  transport_parameters p;
  ASSERT_TRUE(read("0012 0004 0004 80060000 000e 0001 00 ff01 0001 99", p));
  EXPECT_EQ(p.initial_max_data, 0x60000u);
  EXPECT_EQ(p.active_connection_id_limit, 0u);  // those drafts had no least limit
  EXPECT_EQ(p.unknown_count, 1u);
  EXPECT_EQ(read("0005 0001 0001 05 00", p).code, parse_errc::trailing_bytes);
  EXPECT_EQ(read("0006 0001 0001 05", p).code, parse_errc::truncated);
  EXPECT_EQ(read("00", p).code, parse_errc::truncated);
  EXPECT_EQ(read("0004 0001 0001", p).code, parse_errc::truncated);
}

TEST(transport_parameters, leaves_the_output_alone_when_it_fails) {
  transport_parameters p;
  p.initial_max_data = 77;
  EXPECT_FALSE(parse_hex("04 01 05 0a 01 3f", p));
  EXPECT_EQ(p.initial_max_data, 77u);
}

TEST(transport_parameters, appends_parameters_it_does_not_know_as_they_are) {
  transport_parameters p;
  p.initial_max_data = 9;
  p.set(initial_max_data);
  p.set(grease_quic_bit);
  p.more = test::keep(from_hex("1b 02 aabb"));
  const byte_list body = emitted(p, sender::client);
  EXPECT_EQ(to_hex(body), "0401096ab2001b02aabb");
  transport_parameters read;
  ASSERT_TRUE(parse(body, sender::client, parameter_encoding::varints, read));
  EXPECT_EQ(read.reserved_count, 1u);
  EXPECT_TRUE(read.grease_quic_bit);
}

TEST(transport_parameters, writes_nothing_where_there_is_no_room) {
  transport_parameters p;
  ASSERT_TRUE(parse_hex(full(), p));
  for (std::size_t size = 0; size < encoded_size(p); ++size) {
    byte_list room(size);
    base::byte_writer out(room);
    EXPECT_FALSE(emit(out, p, sender::server));
    EXPECT_EQ(out.size(), 0u);
  }
}

TEST(transport_parameters, are_told_to_the_peer_as_one_error_whatever_is_wrong_with_them) {  // RFC 9000 7.4, 18.2
  std::string many;
  for (std::size_t i = 0; i <= max_transport_parameters; ++i) many += to_hex(number(0x100 + i, 1));
  for (const std::string& hex : {std::string("01"), std::string("03 01 05"), std::string("01 01 05 01 01 05"),
                                 std::string("0c 01 00"), std::string("00 00"), many}) {
    transport_parameters p;
    EXPECT_EQ(transport_parameter_error_of(parse_hex(hex, p, sender::client)),
              transport_error::transport_parameter_error)
        << hex;
  }
  EXPECT_EQ(transport_parameter_error_of({}), transport_error::no_error);
}

TEST(transport_parameters, refuses_a_preferred_address_of_a_server_without_ids) {  // RFC 9000 18.2
  const std::string offer = "0d 2d" + std::string(address) + std::string(token);
  EXPECT_EQ(code_of(offer + "0f 00"), parse_errc::bad_value);
  EXPECT_EQ(code_of("0f 00" + offer), parse_errc::bad_value);
  EXPECT_EQ(code_of(offer + "0f 01 aa"), parse_errc::ok);
  EXPECT_EQ(code_of("0f 00"), parse_errc::ok);
}

TEST(transport_parameters, says_the_same_in_any_order_and_with_grease) {  // RFC 9000 18.1
  transport_parameters p;
  ASSERT_TRUE(parse_hex(full(), p));
  p.more = test::keep(from_hex("4321 03 aabbcc"));
  const byte_list canonical = emitted(p, sender::server);
  std::vector<byte_list> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const parameter_shuffle shuffle{.seed = seed, .grease = seed % 4 != 0};
    byte_list body(encoded_size(p, shuffle));
    base::byte_writer out(body);
    ASSERT_TRUE(emit(out, p, sender::server, shuffle));
    ASSERT_EQ(out.room(), 0u);
    base::byte_writer no_room(base::byte_span(body).first(body.size() - 1));
    transport_parameters read;
    ASSERT_TRUE(parse(body, sender::server, parameter_encoding::varints, read));
    EXPECT_EQ(read.reserved_count, shuffle.grease ? 1u : 0u);
    EXPECT_EQ(read.unknown_count, 1u);
    read.more = p.more;
    EXPECT_EQ(to_hex(emitted(read, sender::server)), to_hex(canonical));
    for (const byte_list& other : seen) EXPECT_NE(body, other) << seed;
    EXPECT_FALSE(emit(no_room, p, sender::server, shuffle));
    EXPECT_EQ(no_room.size(), 0u);
    seen.push_back(body);
  }
}

TEST(transport_parameters, comes_first_with_each_parameter_for_some_seed) {
  transport_parameters p;
  ASSERT_TRUE(parse_hex("01 01 05 04 01 06 05 01 07 0c 00", p, sender::client));
  std::vector<bool> first(16);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    byte_list body(encoded_size(p, {.seed = seed, .grease = false}));
    base::byte_writer out(body);
    ASSERT_TRUE(emit(out, p, sender::client, {.seed = seed, .grease = false}));
    first[body[0]] = true;
  }
  for (const std::size_t id : {0x01u, 0x04u, 0x05u, 0x0cu}) EXPECT_TRUE(first[id]) << id;
}

TEST(transport_parameters, confirms_the_connection_ids_of_the_handshake) {  // RFC 9000 7.3
  const byte_view odcid = test::keep(from_hex("8394c8f03e515708"));
  const byte_view scid = test::keep(from_hex("01020304"));
  const byte_view retry = test::keep(from_hex("0a0b"));
  const auto confirm = [&](std::string_view hex, sender from, const handshake_ids& seen) {
    transport_parameters p;
    EXPECT_TRUE(parse_hex(hex, p, from));
    return confirms(p, from, seen);
  };
  const handshake_ids plain{.original_destination = odcid, .initial_source = scid};
  const handshake_ids retried{odcid, scid, true, retry};
  EXPECT_TRUE(confirm("0f 04 01020304", sender::client, plain));
  EXPECT_FALSE(confirm("0f 04 01020305", sender::client, plain));
  EXPECT_FALSE(confirm("0f 00", sender::client, plain));
  EXPECT_FALSE(confirm("01 01 05", sender::client, plain)) << "absent";
  EXPECT_TRUE(confirm("0f 00", sender::client, {}));
  EXPECT_TRUE(confirm("00 08 8394c8f03e515708 0f 04 01020304", sender::server, plain));
  EXPECT_FALSE(confirm("00 08 8394c8f03e515709 0f 04 01020304", sender::server, plain));
  EXPECT_FALSE(confirm("0f 04 01020304", sender::server, plain)) << "no original destination";
  EXPECT_FALSE(confirm("00 08 8394c8f03e515708 0f 04 01020304 10 02 0a0b", sender::server, plain)) << "no Retry was";
  EXPECT_TRUE(confirm("00 08 8394c8f03e515708 0f 04 01020304 10 02 0a0b", sender::server, retried));
  EXPECT_FALSE(confirm("00 08 8394c8f03e515708 0f 04 01020304 10 02 0a0c", sender::server, retried));
  EXPECT_FALSE(confirm("00 08 8394c8f03e515708 0f 04 01020304", sender::server, retried)) << "a Retry was";
}

void expect_sound(byte_view in, sender from) {
  transport_parameters p;
  const parse_status status = parse(in, from, parameter_encoding::varints, p);
  EXPECT_LE(status.at, in.size());
  if (!status) return;
  for (const byte_view view : {p.original_destination_connection_id, p.initial_source_connection_id,
                               p.retry_source_connection_id, p.stateless_reset_token, p.preferred_address.cid,
                               p.preferred_address.stateless_reset_token, p.version_information.available})
    EXPECT_TRUE(test::lies_in(view, in));
  const byte_list canonical = emitted(p, from);
  transport_parameters again;
  ASSERT_TRUE(parse(canonical, from, parameter_encoding::varints, again));
  EXPECT_EQ(to_hex(emitted(again, from)), to_hex(canonical));
}

TEST(transport_parameters, survives_every_truncation_and_every_change_of_one_byte) {
  const byte_list good = from_hex(full());
  test::for_every_truncation(good, [](byte_view in) { expect_sound(in, sender::server); });
  test::for_every_byte_change(
      good,
      [](byte_view in) {
        expect_sound(in, sender::server);
        expect_sound(in, sender::client);
        transport_parameters p;
        (void)parse(in, sender::client, parameter_encoding::sixteen_bits, p);
      },
      3);
}

}  // namespace
}  // namespace millrace::quic::wire
