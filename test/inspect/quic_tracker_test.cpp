// One object a connection, through versions, Retry, changing addresses and shared ports.
#include "inspect/quic_tracker.hpp"

#include <gtest/gtest.h>

#include "inspect/analysis.hpp"
#include "inspect/quic_packets.hpp"

namespace millrace::inspect::test {
namespace {

using stats::drop_reason;

const byte_list client_dcid = {1, 2, 3, 4, 5, 6, 7, 8};
const byte_list client_id = {9, 9, 9};
const byte_list server_id = {0xA, 0xB, 0xC, 0xD, 0xE};

byte_list hello_initial(const initial_spec& spec = {}, const hello_spec& hello = {}) {
  return initial(engine(), spec, crypto_frame(0, client_hello(hello)));
}

byte_list server_initial(const byte_list& dcid = client_id, const byte_list& scid = server_id,
                         const byte_list& key = client_dcid, std::size_t pad_to = 1200) {
  initial_spec spec;
  spec.sender = quic::protect::side::server;
  spec.dcid = dcid;
  spec.scid = scid;
  spec.key_dcid = key;
  spec.pad_to = pad_to;
  return initial(engine(), spec, byte_list{0x02, 0, 0, 0, 0});
}

TEST(quic_tracker, counts_a_connection_by_packet_type_with_coalesced_ones_each) {
  analysis a;
  a.to_server(hello_initial());
  byte_list flight = server_initial(client_id, server_id, client_dcid, 0);
  append(flight, sealed_long(1, 2, client_id, server_id));
  append(flight, short_packet(client_id));
  a.to_client(flight);
  a.to_server(sealed_long(1, 1, client_dcid, client_id));
  a.to_server(short_packet(server_id));
  a.to_client(short_packet(client_id));
  const connection& c = a.only();
  EXPECT_EQ(c.packets.initial, 2u);
  EXPECT_EQ(c.packets.handshake, 1u);
  EXPECT_EQ(c.packets.zero_rtt, 1u);
  EXPECT_EQ(c.packets.one_rtt, 3u);
  EXPECT_EQ(c.datagrams, 5u);
  EXPECT_EQ(c.client, a.client);
  EXPECT_EQ(c.server, a.server);
  EXPECT_EQ(c.version, 1u);
  EXPECT_EQ(a.anomalies(drop_reason::quic_junk), 0u);
  EXPECT_TRUE(a.told.flows.empty()) << "no second object for the same datagrams";
  a.expect_conservation();
}

TEST(quic_tracker, takes_no_junk_behind_the_last_packet_for_a_packet) {
  const byte_list tails[] = {byte_list(50, 0x00), byte_list(50, 0x41), byte_list(3, 0xC0),
                             sealed_long(1, 2, {}, server_id), sealed_long(2, 2, client_dcid, client_id)};
  for (const byte_list& tail : tails) {
    analysis a;
    byte_list datagram = hello_initial();
    append(datagram, tail);
    a.to_server(datagram);
    const connection& c = a.only();
    EXPECT_EQ(c.packets.initial, 1u);
    EXPECT_EQ(c.packets.handshake + c.packets.one_rtt, 0u);
    EXPECT_EQ(a.anomalies(drop_reason::quic_junk), 1u);
    EXPECT_EQ(sni_of(c), "server.test");
  }
}

TEST(quic_tracker, follows_version_negotiation_to_another_version) {
  analysis a;
  initial_spec first;
  first.version = 0xFF00'001C;
  hello_spec offer;
  offer.alpn = {"h3-28"};
  a.to_server(hello_initial(first, offer));
  a.to_client(version_negotiation(client_id, client_dcid, {0xFF00'001B, 0x0A1A'2A3A}));
  initial_spec second;
  second.version = 0xFF00'001B;
  second.dcid = {2, 2, 2, 2, 2, 2, 2, 2};
  second.scid = {7};
  offer.alpn = {"h3-27"};
  a.to_server(hello_initial(second, offer));
  const connection& c = a.only();
  EXPECT_EQ(c.versions.size(), 2u);
  EXPECT_EQ(c.version, 0xFF00'001Bu);
  EXPECT_EQ(c.packets.version_negotiation, 1u);
  EXPECT_EQ(c.packets.initial, 2u);
  EXPECT_EQ(c.offered.size(), 2u);
  EXPECT_EQ(hex_of(c.dcid), "0102030405060708");
  EXPECT_EQ(c.facts.alpn_count, 2u);
  EXPECT_TRUE(c.role_known);
}

TEST(quic_tracker, does_not_open_a_reserved_version_and_says_whom_its_answer_came_from) {
  analysis a;
  byte_list first = sealed_long(0xBABA'BABA, 0, client_dcid, client_id, 1100);
  a.to_server(first);
  a.to_client(version_negotiation(client_id, client_dcid, {1}));
  a.to_server(hello_initial());
  const connection& c = a.only();
  EXPECT_EQ(c.packets.unknown_long, 1u);
  EXPECT_EQ(c.packets.initial, 1u);
  EXPECT_EQ(a.anomalies(drop_reason::quic_unknown_version), 1u);
  ASSERT_EQ(c.versions.size(), 2u);
  EXPECT_EQ(c.versions[0], 0xBABA'BABAu);
  EXPECT_EQ(sni_of(c), "server.test");
}

TEST(quic_tracker, follows_a_verified_retry_to_its_keys) {
  for (const std::uint32_t version : {1u, 0x6B33'43CFu, 0xFF00'001Du}) {
    analysis a;
    initial_spec spec;
    spec.version = version;
    const byte_list hello = client_hello({});
    const byte_list token = {0x70, 0x71};
    a.to_server(initial(engine(), spec, crypto_frame(0, base::byte_view(hello).first(60))));
    a.to_client(retry(engine(), version, client_id, server_id, client_dcid, token));
    spec.dcid = server_id;
    spec.token = token;
    spec.packet_number = 1;
    a.to_server(initial(engine(), spec, crypto_frame(60, base::byte_view(hello).subspan(60))));
    const connection& c = a.only();
    EXPECT_TRUE(c.retry_verified);
    EXPECT_EQ(c.packets.retry, 1u);
    EXPECT_EQ(c.packets.initial, 2u);
    EXPECT_EQ(sni_of(c), "server.test");
    EXPECT_EQ(hex_of(c.dcid), "0102030405060708");
    EXPECT_EQ(a.anomalies(drop_reason::quic_decrypt_failed), 0u);
  }
}

TEST(quic_tracker, does_not_follow_a_retry_with_a_wrong_tag) {
  analysis a;
  const byte_list hello = client_hello({});
  a.to_server(initial(engine(), {}, crypto_frame(0, base::byte_view(hello).first(60))));
  byte_list forged = retry(engine(), 1, client_id, server_id, client_dcid, byte_list{1});
  forged.back() ^= 1;
  a.to_client(forged);
  initial_spec rest;
  rest.packet_number = 1;
  a.to_server(initial(engine(), rest, crypto_frame(60, base::byte_view(hello).subspan(60))));
  const connection& c = a.only();
  EXPECT_FALSE(c.retry_verified);
  EXPECT_EQ(c.packets.retry, 1u);
  EXPECT_EQ(a.anomalies(drop_reason::quic_bad_retry_tag), 1u);
  EXPECT_EQ(sni_of(c), "server.test");
}

TEST(quic_tracker, goes_on_behind_a_retry_it_did_not_see) {
  analysis a;
  const byte_list hello = client_hello({});
  a.to_server(initial(engine(), {}, crypto_frame(0, base::byte_view(hello).first(60))));
  initial_spec again;
  again.dcid = server_id;
  again.token = {1, 2, 3};
  again.packet_number = 1;
  a.to_server(initial(engine(), again, crypto_frame(60, base::byte_view(hello).subspan(60))));
  EXPECT_EQ(sni_of(a.only()), "server.test");
}

TEST(quic_tracker, tells_two_connections_on_one_5_tuple_apart) {
  for (const bool empty_ids : {true, false}) {
    analysis a;
    initial_spec one;
    initial_spec two;
    two.dcid = {2, 2, 2, 2, 2, 2, 2, 2};
    one.scid = empty_ids ? byte_list{} : byte_list{1, 1, 1};
    two.scid = empty_ids ? byte_list{} : byte_list{2, 2, 2};
    const byte_list server_two = {5, 5, 5, 5};
    a.to_server(hello_initial(one));
    a.to_client(server_initial(one.scid, server_id));
    a.to_server(short_packet(server_id));
    hello_spec other;
    other.sni = "other.test";
    a.to_server(hello_initial(two, other));
    a.to_client(server_initial(two.scid, server_two, two.dcid));
    a.to_server(short_packet(server_two));
    a.to_server(short_packet(server_id));
    a.to_server(short_packet(server_id));
    const auto& all = a.connections();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(sni_of(all[0]), "server.test");
    EXPECT_EQ(all[0].packets.initial, 2u);
    EXPECT_EQ(all[0].packets.one_rtt, 3u);
    EXPECT_EQ(sni_of(all[1]), "other.test");
    EXPECT_EQ(all[1].packets.initial, 2u);
    EXPECT_EQ(all[1].packets.one_rtt, 1u);
  }
}

TEST(quic_tracker, does_not_take_a_retransmitted_first_flight_for_another_connection) {
  analysis a;
  for (std::uint32_t n = 0; n < 3; ++n) {
    initial_spec spec;
    spec.scid = {};
    spec.packet_number = n;
    a.to_server(hello_initial(spec));
  }
  EXPECT_EQ(a.only().packets.initial, 3u);
}

TEST(quic_tracker, finds_a_client_that_moved_by_its_connection_id) {
  analysis a;
  a.to_server(hello_initial());
  a.to_client(server_initial());
  const base::endpoint elsewhere = at("10.7.7.7", 60'000);
  a.udp(elsewhere, a.server, short_packet(server_id));
  a.udp(a.server, elsewhere,
        short_packet(client_id));  // three bytes: too short to be looked up, but the 5-tuple is known
  const connection& c = a.only();
  EXPECT_EQ(c.packets.one_rtt, 2u);
  EXPECT_EQ(c.client, a.client);
  ASSERT_EQ(c.moved_to.size(), 1u);
  EXPECT_EQ(c.moved_to[0], elsewhere);
  EXPECT_TRUE(a.told.flows.empty());
}

TEST(quic_tracker, does_not_join_connections_whose_ids_are_equal_by_accident) {
  analysis a;
  a.to_server(hello_initial());
  hello_spec other;
  other.sni = "other.test";
  a.udp(at("10.0.0.2", 1), at("192.0.2.2", 443), hello_initial({}, other));
  ASSERT_EQ(a.connections().size(), 2u);
  EXPECT_EQ(sni_of(a.told.connections[1]), "other.test");
}

TEST(quic_tracker, leaves_short_headers_of_nobody_to_their_5_tuple) {
  analysis a;
  a.to_server(short_packet(server_id));
  a.to_client(short_packet(client_id));
  EXPECT_TRUE(a.connections().empty());
  ASSERT_EQ(a.told.flows.size(), 1u);
  EXPECT_EQ(a.told.flows[0].kind, flow_kind::udp);
  EXPECT_EQ(a.told.flows[0].packets, 2u);
}

TEST(quic_tracker, admits_not_to_know_the_roles_when_it_came_late) {
  analysis a;
  a.to_client(sealed_long(1, 2, client_id, server_id));
  a.to_server(sealed_long(1, 2, server_id, client_id));
  a.to_server(short_packet(server_id));
  const connection& c = a.only();
  EXPECT_FALSE(c.role_known);
  EXPECT_FALSE(c.has_initial);
  EXPECT_EQ(c.packets.handshake, 2u);
  EXPECT_EQ(c.packets.one_rtt, 1u);
  EXPECT_EQ(c.client, a.server) << "the first sender, for want of better";
}

TEST(quic_tracker, turns_around_when_the_other_side_proves_to_be_the_client) {
  analysis a;
  a.to_client(server_initial());
  a.to_server(hello_initial());
  const connection& c = a.only();
  EXPECT_TRUE(c.role_known);
  EXPECT_EQ(c.client, a.client);
  EXPECT_EQ(c.server, a.server);
  EXPECT_EQ(hex_of(c.dcid), "0102030405060708");
  EXPECT_EQ(c.packets.initial, 2u);
  EXPECT_EQ(sni_of(c), "server.test");
}

TEST(quic_tracker, knows_the_client_by_what_only_clients_and_only_servers_send) {
  {
    analysis a;
    a.to_client(sealed_long(1, 2, client_id, server_id));
    a.to_server(sealed_long(1, 1, server_id, client_id));  // 0-RTT
    EXPECT_EQ(a.only().client, a.client);
    EXPECT_TRUE(a.told.connections[0].role_known);
  }
  {
    analysis a;
    a.to_client(retry(engine(), 1, client_id, server_id, client_dcid, byte_list{1}));
    EXPECT_EQ(a.only().client, a.client);
    EXPECT_TRUE(a.told.connections[0].role_known);
    EXPECT_FALSE(a.told.connections[0].has_initial);
  }
  {
    analysis a;
    a.to_client(version_negotiation(client_id, client_dcid, {1}));
    EXPECT_EQ(a.only().client, a.client);
    EXPECT_TRUE(a.told.connections[0].versions.empty());
    EXPECT_EQ(a.told.connections[0].version, 0u);
  }
}

TEST(quic_tracker, counts_what_a_cut_capture_still_shows_and_opens_nothing) {
  analysis a;
  const byte_list whole = analysis::frame(a.client, a.server, hello_initial());
  a.raw(byte_list(whole.begin(), whole.begin() + 100), whole.size());
  const connection& c = a.only();
  EXPECT_EQ(c.packets.initial, 1u);
  EXPECT_EQ(c.bytes, whole.size());
  EXPECT_EQ(hex_of(c.dcid), "0102030405060708");
  EXPECT_FALSE(c.facts.known);
  EXPECT_EQ(a.anomalies(drop_reason::quic_bad_length) + a.anomalies(drop_reason::quic_decrypt_failed), 0u);
}

TEST(quic_tracker, counts_a_length_beyond_a_whole_datagram) {
  analysis a;
  byte_list packet = long_header(1, 0, client_dcid, client_id);
  append(packet, byte_list{0, 0x7F, 0xFF});
  packet.resize(60, 1);
  a.to_server(packet);
  EXPECT_EQ(a.anomalies(drop_reason::quic_bad_length), 1u);
  EXPECT_EQ(a.only().packets.initial, 1u);
}

TEST(quic_tracker, counts_connection_ids_that_no_version_1_packet_has) {
  analysis a;
  byte_list packet = {0xC3, 0, 0, 0, 1, 21};
  packet.resize(1200, 1);
  a.to_server(packet);
  EXPECT_TRUE(a.connections().empty());
  EXPECT_EQ(a.anomalies(drop_reason::quic_cid_too_long), 1u);
  a.expect_conservation();
}

TEST(quic_tracker, keeps_long_ids_of_unknown_versions_out_of_the_report) {
  analysis a;
  a.to_server(hello_initial());
  const byte_list long_id(40, 3);
  a.to_server(sealed_long(0x0A1A'2A3A, 0, byte_list(8, 1), long_id, 1100));
  ASSERT_EQ(a.connections().size(), 1u);
  analysis b;
  b.to_client(version_negotiation(long_id, client_dcid, {1}));
  EXPECT_EQ(b.only().packets.version_negotiation, 1u);
}

TEST(quic_tracker, reports_connections_that_fall_silent_and_begins_anew_after_that) {
  analyzer_options options = analysis::small();
  options.caps.idle_ns = 30 * analysis::second;
  analysis a(options);
  a.to_server(hello_initial());
  a.now += 31 * analysis::second;
  a.udp(at("10.0.0.3", 3), a.server, byte_list{1, 2, 3});
  ASSERT_EQ(a.told.connections.size(), 1u);
  EXPECT_EQ(a.under_test.count().connections_expired.get(), 1u);
  a.to_server(hello_initial());
  EXPECT_EQ(a.connections().size(), 2u);
}

TEST(quic_tracker, reports_the_connection_that_gives_way_and_frees_its_ids) {
  analysis a;  // 64 of each
  for (std::uint16_t n = 0; n < 200; ++n) {
    initial_spec spec;
    spec.dcid[0] = static_cast<std::uint8_t>(n);
    spec.dcid[1] = 77;
    a.udp(at("10.0.0.1", static_cast<std::uint16_t>(1000 + n)), a.server, hello_initial(spec));
    a.now += analysis::second / 10;
  }
  EXPECT_EQ(a.told.connections.size(), 136u);
  EXPECT_EQ(a.under_test.count().connections_evicted.get(), 136u);
  EXPECT_LE(a.under_test.quic().cids().in_use(), 128u);
  EXPECT_EQ(a.connections().size(), 200u);
  EXPECT_EQ(a.under_test.quic().cids().in_use(), 0u);
  for (const connection& c : a.told.connections) EXPECT_EQ(sni_of(c), "server.test");
  a.expect_conservation();
}

TEST(quic_tracker, refuses_new_connections_while_all_are_too_young_to_give_way) {
  analyzer_options options = analysis::small();
  options.caps.min_evict_age_ns = 5 * analysis::second;
  analysis a(options);
  for (std::uint16_t n = 0; n < 100; ++n) {
    initial_spec spec;
    spec.dcid[0] = static_cast<std::uint8_t>(n);
    a.udp(at("10.0.0.1", static_cast<std::uint16_t>(1000 + n)), a.server, hello_initial(spec));
  }
  EXPECT_EQ(a.dropped(drop_reason::flow_table_full), 36u);
  a.expect_conservation();
  EXPECT_EQ(a.connections().size(), 64u);
}

TEST(quic_tracker, takes_greased_short_headers_where_the_client_announced_them) {
  for (const bool greased : {false, true}) {
    analysis a;
    hello_spec hello;
    if (greased) hello.parameters = {0x6A, 0xB2, 0x00};
    a.to_server(hello_initial({}, hello));
    byte_list odd = short_packet(client_id);
    odd[0] = 0x01;
    a.to_client(odd);
    EXPECT_EQ(a.only().packets.one_rtt, greased ? 1u : 0u);
    EXPECT_EQ(a.anomalies(drop_reason::quic_junk), greased ? 0u : 1u);
  }
}

TEST(quic_tracker, takes_a_greased_short_header_that_shows_the_connections_id) {
  analysis a;
  a.to_server(hello_initial());
  byte_list flight = server_initial(client_id, server_id, client_dcid, 0);
  byte_list greased = short_packet(server_id);
  greased[0] = 0x01;
  a.to_client(flight);
  a.to_server(greased);
  byte_list handshake = sealed_long(1, 2, server_id, client_id);
  append(handshake, greased);
  a.to_server(handshake);
  EXPECT_EQ(a.only().packets.one_rtt, 2u);
  EXPECT_EQ(a.anomalies(drop_reason::quic_junk), 0u);
}

TEST(quic_tracker, names_gquic_and_reads_its_hello) {
  analysis a;
  byte_list packet = {0x0D, 1, 2, 3, 4, 5, 6, 7, 8, 'Q', '0', '4', '3', 1};
  packet.resize(packet.size() + 12, 0xEE);  // hash
  const byte_list chlo = [] {
    byte_list m = {'C', 'H', 'L', 'O', 1, 0, 0, 0, 'S', 'N', 'I', 0, 6, 0, 0, 0};
    append(m, base::as_bytes("g.test"));
    return m;
  }();
  append(packet, byte_list{0xA0, 1, 0, static_cast<std::uint8_t>(chlo.size())});
  append(packet, chlo);
  a.to_server(packet);
  a.to_client(byte_list{0x00, 5, 6, 7, 8, 9, 10});
  a.to_server(byte_list{0x08, 1, 2, 3, 4, 5, 6, 7, 8, 2, 1, 1, 1});
  const connection& c = a.only();
  EXPECT_TRUE(c.is_gquic);
  EXPECT_EQ(c.version, 0x5130'3433u);
  EXPECT_EQ(c.packets.gquic, 3u);
  EXPECT_EQ(sni_of(c), "g.test");
  EXPECT_TRUE(c.role_known);
  EXPECT_EQ(hex_of(c.dcid), "0102030405060708");
}

TEST(quic_tracker, begins_an_ietf_connection_where_gquic_was_spoken_before) {
  analysis a;
  byte_list packet = {0x0D, 1, 2, 3, 4, 5, 6, 7, 8, 'Q', '0', '4', '3', 1};
  packet.resize(60, 0);
  a.to_server(packet);
  a.to_server(hello_initial());
  a.to_server(short_packet(server_id));
  const auto& all = a.connections();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].is_gquic);
  EXPECT_EQ(all[1].packets.one_rtt, 1u);
}

}  // namespace
}  // namespace millrace::inspect::test
