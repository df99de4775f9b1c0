// The client's Initials, from one that holds everything to those that never will.
#include "inspect/hello_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "inspect/analysis.hpp"
#include "inspect/quic_packets.hpp"

namespace millrace::inspect::test {
namespace {

using stats::drop_reason;

// `hello` cut into frames of `size` bytes.
std::vector<byte_list> frames_of(base::byte_view hello, std::size_t size) {
  std::vector<byte_list> out;
  for (std::size_t at = 0; at < hello.size(); at += size)
    out.push_back(crypto_frame(at, hello.subspan(at, std::min(size, hello.size() - at))));
  return out;
}

TEST(hello_reader, reads_a_client_hello_that_lies_whole_in_one_initial) {
  analysis a;
  a.to_server(initial(engine(), {}, crypto_frame(0, client_hello({}))));
  EXPECT_EQ(a.under_test.quic().hellos().assemblies_in_use(), 0u) << "no buffer is needed";
  const connection& c = a.only();
  EXPECT_EQ(c.hello, hello_state::complete);
  EXPECT_EQ(sni_of(c), "server.test");
  EXPECT_TRUE(c.role_known);
  EXPECT_TRUE(c.facts.has_ja4);
  EXPECT_EQ(std::string(c.facts.ja4.data(), 10), "q13d0205h3");
  EXPECT_EQ(c.facts.parameters.value(parameter::max_idle_timeout), 100u);
  EXPECT_EQ(hex_of(c.dcid), "0102030405060708");
  EXPECT_EQ(hex_of(c.scid), "090909");
  EXPECT_EQ(a.under_test.count().hellos.get(), 1u);
}

TEST(hello_reader, reads_every_version_with_a_public_salt) {
  for (const std::uint32_t version : {0x0000'0001u, 0x6B33'43CFu, 0xFF00'001Du, 0xFF00'0016u, 0xFACE'B002u}) {
    analysis a;
    initial_spec spec;
    spec.version = version;
    hello_spec hello;
    if (version == 0xFF00'0016u) {
      hello.parameters = {0, 6, 0, 1, 0, 2, 0x40, 0x64};  // 16-bit numbers and lengths before draft-27
      hello.parameters_type = 0xFFA5;
    }
    a.to_server(initial(engine(), spec, crypto_frame(0, client_hello(hello))));
    const connection& c = a.only();
    EXPECT_EQ(sni_of(c), "server.test") << std::hex << version;
    EXPECT_EQ(c.version, version);
    EXPECT_EQ(c.facts.parameters.value(parameter::max_idle_timeout), 100u) << std::hex << version;
  }
}

TEST(hello_reader, reads_googles_frames_where_the_version_has_them) {
  analysis a;
  initial_spec spec;
  spec.version = 0x5430'3531;  // T051
  spec.scid = {};
  a.to_server(initial(engine(), spec, crypto_frame(0, client_hello({}), 0x08)));
  EXPECT_EQ(sni_of(a.only()), "server.test");
}

TEST(hello_reader, puts_a_hello_together_from_many_frames_in_one_packet_in_any_order) {
  const byte_list hello = client_hello({});
  std::vector<byte_list> frames = frames_of(hello, 17);
  std::mt19937 random(4);
  for (int round = 0; round < 20; ++round) {
    std::ranges::shuffle(frames, random);
    byte_list payload;
    for (const byte_list& f : frames) {
      append(payload, f);
      append(payload, byte_list{1, 0, 0});  // PING and PADDING between them, as Chromium does
    }
    analysis a;
    a.to_server(initial(engine(), {}, payload));
    EXPECT_EQ(sni_of(a.only()), "server.test");
    EXPECT_EQ(a.under_test.quic().hellos().assemblies_in_use(), 0u);
    EXPECT_EQ(a.under_test.quic().hellos().blocks_in_use(), 0u);
  }
}

TEST(hello_reader, puts_a_hello_together_from_several_datagrams_that_come_backwards) {
  hello_spec spec;
  spec.padding = 3000;
  const byte_list hello = client_hello(spec);
  std::vector<byte_list> frames = frames_of(hello, 1000);
  analysis a;
  for (std::size_t i = frames.size(); i-- > 0;) {
    EXPECT_EQ(a.under_test.count().hellos.get(), 0u);
    initial_spec packet;
    packet.packet_number = static_cast<std::uint32_t>(i);
    a.to_server(initial(engine(), packet, frames[i]));
  }
  const connection& c = a.only();
  EXPECT_EQ(sni_of(c), "server.test");
  EXPECT_EQ(c.packets.initial, frames.size());
  EXPECT_EQ(a.under_test.quic().hellos().blocks_in_use(), 0u);
}

TEST(hello_reader, follows_the_client_to_the_servers_connection_id_with_the_old_keys) {
  hello_spec spec;
  spec.padding = 1000;
  const byte_list hello = client_hello(spec);
  const std::vector<byte_list> frames = frames_of(hello, 900);
  analysis a;
  a.to_server(initial(engine(), {}, frames[0]));
  initial_spec answer;
  answer.sender = quic::protect::side::server;
  answer.dcid = {9, 9, 9};
  answer.scid = {0xA, 0xB, 0xC, 0xD};
  answer.key_dcid = {1, 2, 3, 4, 5, 6, 7, 8};
  a.to_client(initial(engine(), answer, byte_list{0x02, 0, 0, 0, 0}));
  initial_spec second;
  second.dcid = answer.scid;
  second.key_dcid = answer.key_dcid;
  second.packet_number = 1;
  a.to_server(initial(engine(), second, frames[1]));
  const connection& c = a.only();
  EXPECT_EQ(sni_of(c), "server.test");
  EXPECT_EQ(hex_of(c.dcid), "0102030405060708") << "the first one stays";
  EXPECT_EQ(c.packets.initial, 3u);
}

TEST(hello_reader, reports_nothing_of_a_hello_with_a_hole) {
  const byte_list hello = client_hello({});
  analysis a;
  byte_list payload = crypto_frame(0, base::byte_view(hello).first(40));
  append(payload, crypto_frame(41, base::byte_view(hello).subspan(41)));
  a.to_server(initial(engine(), {}, payload));
  EXPECT_EQ(a.under_test.quic().hellos().assemblies_in_use(), 1u);
  const connection& c = a.only();
  EXPECT_EQ(c.hello, hello_state::partial);
  EXPECT_FALSE(c.facts.known);
  EXPECT_EQ(a.under_test.quic().hellos().assemblies_in_use(), 0u) << "given back with the connection";
  EXPECT_EQ(a.under_test.quic().hellos().blocks_in_use(), 0u);
}

TEST(hello_reader, counts_data_that_contradicts_and_keeps_what_came_first) {
  hello_spec other;
  other.sni = "sorver.test";
  const byte_list hello = client_hello({});
  const byte_list lie = client_hello(other);
  analysis a;
  byte_list payload = crypto_frame(0, base::byte_view(hello).first(hello.size() - 1));
  append(payload, crypto_frame(0, lie));
  append(payload, crypto_frame(hello.size() - 1, base::byte_view(hello).last(1)));
  a.to_server(initial(engine(), {}, payload));
  const connection& c = a.only();
  EXPECT_EQ(sni_of(c), "server.test");
  EXPECT_TRUE(c.crypto_conflict);
  EXPECT_EQ(a.anomalies(drop_reason::quic_crypto_overlap), 1u);
}

TEST(hello_reader, counts_crypto_data_at_huge_offsets) {
  const byte_list hello = client_hello({});
  for (const std::uint64_t offset : {std::uint64_t{65'536}, std::uint64_t{1} << 31, base::varint_max - 3}) {
    analysis a;
    byte_list payload = crypto_frame(offset, byte_list{1, 2, 3});
    append(payload, crypto_frame(0, hello));
    a.to_server(initial(engine(), {}, payload));
    EXPECT_EQ(a.anomalies(drop_reason::quic_crypto_too_far), 1u);
    EXPECT_EQ(sni_of(a.only()), "server.test");
    analysis b;
    b.to_server(initial(engine(), {}, crypto_frame(offset, byte_list{1, 2, 3})));
    EXPECT_EQ(b.anomalies(drop_reason::quic_crypto_too_far), 1u);
    EXPECT_FALSE(b.only().facts.known);
  }
  analysis c;  // RFC 9000 19.6: no stream is longer than 2^62 - 1
  c.to_server(initial(engine(), {}, crypto_frame(base::varint_max, byte_list{1})));
  EXPECT_EQ(c.anomalies(drop_reason::quic_bad_frame), 1u);
}

TEST(hello_reader, gives_up_on_a_hello_larger_than_it_keeps) {
  analyzer_options options = analysis::small();
  options.caps.hello_bytes = 2048;
  analysis a(options);
  hello_spec spec;
  spec.padding = 3000;
  a.to_server(initial(engine(), {}, crypto_frame(0, base::byte_view(client_hello(spec)).first(1000))));
  EXPECT_EQ(a.anomalies(drop_reason::quic_crypto_too_far), 1u);
  EXPECT_EQ(a.under_test.quic().hellos().assemblies_in_use(), 0u);
  EXPECT_EQ(a.only().hello, hello_state::given_up);
}

TEST(hello_reader, believes_nothing_of_a_packet_with_a_frame_that_may_not_be_there) {
  analysis a;
  byte_list payload = crypto_frame(0, client_hello({}));
  payload.push_back(0x08);  // STREAM
  a.to_server(initial(engine(), {}, payload));
  EXPECT_EQ(a.anomalies(drop_reason::quic_bad_frame), 1u);
  EXPECT_FALSE(a.only().facts.known);
}

TEST(hello_reader, gives_up_on_what_is_no_client_hello) {
  analysis a;
  byte_list message = client_hello({});
  message[0] = 2;
  a.to_server(initial(engine(), {}, crypto_frame(0, message)));
  EXPECT_EQ(a.anomalies(drop_reason::tls_bad_client_hello), 1u);
  EXPECT_EQ(a.only().hello, hello_state::given_up);
  analysis b;
  message[0] = 1;
  message[4 + 2 + 32] = 33;  // a session ID longer than any
  b.to_server(initial(engine(), {}, crypto_frame(0, message)));
  EXPECT_EQ(b.anomalies(drop_reason::tls_bad_client_hello), 1u);
}

TEST(hello_reader, keeps_the_hello_whose_transport_parameters_cannot_be) {
  analysis a;
  hello_spec spec;
  spec.parameters = {0x01, 0x05, 0x00};
  a.to_server(initial(engine(), {}, crypto_frame(0, client_hello(spec))));
  const connection& c = a.only();
  EXPECT_EQ(sni_of(c), "server.test");
  EXPECT_FALSE(c.facts.has_parameters);
  EXPECT_EQ(a.anomalies(drop_reason::tls_bad_transport_parameters), 1u);
}

TEST(hello_reader, counts_an_initial_that_does_not_open_and_stops_trying) {
  analysis a;
  for (std::uint32_t n = 0; n < 100; ++n) {
    initial_spec spec;
    spec.key_dcid = {8, 8, 8, 8, 8, 8, 8, 8};
    spec.packet_number = n;
    a.to_server(initial(engine(), spec, crypto_frame(0, client_hello({}))));
  }
  EXPECT_EQ(a.anomalies(drop_reason::quic_decrypt_failed), limits{}.failed_opens);
  const connection& c = a.only();
  EXPECT_EQ(c.packets.initial, 100u);
  EXPECT_FALSE(c.role_known);
}

TEST(hello_reader, lets_the_least_recent_unfinished_hello_give_way) {
  analysis a;  // eight assemblies
  const byte_list hello = client_hello({});
  const std::vector<byte_list> halves = frames_of(hello, hello.size() / 2 + 1);
  const auto send = [&](std::uint16_t port, std::size_t half) {
    initial_spec spec;
    spec.dcid = {1, 2, 3, 4, 5, 6, static_cast<std::uint8_t>(port >> 8), static_cast<std::uint8_t>(port)};
    a.udp(at("10.0.0.1", port), a.server, initial(engine(), spec, halves[half]));
    a.now += analysis::second;
  };
  for (std::uint16_t port = 1000; port < 1009; ++port) send(port, 0);
  EXPECT_EQ(a.anomalies(drop_reason::reassembly_full), 1u);
  EXPECT_EQ(a.under_test.quic().hellos().assemblies_in_use(), 8u);
  for (std::uint16_t port = 1000; port < 1009; ++port) send(port, 1);
  const auto& all = a.connections();
  ASSERT_EQ(all.size(), 9u);
  EXPECT_EQ(all[0].hello, hello_state::given_up);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(sni_of(all[i]), "server.test") << i;
}

TEST(hello_reader, survives_every_change_of_one_byte_of_an_initial) {
  const byte_list good = initial(engine(), {}, crypto_frame(0, client_hello({})));
  analysis a;
  for (std::size_t i = 0; i < good.size(); ++i) {
    byte_list changed = good;
    changed[i] ^= 0x55;
    a.udp(at("10.0.0.9", static_cast<std::uint16_t>(2000 + i)), a.server, changed);
  }
  a.expect_conservation();
  // A changed connection ID changes the keys; the packet number and all behind it are authenticated.
  EXPECT_EQ(a.under_test.count().hellos.get(), 0u);
}

}  // namespace
}  // namespace millrace::inspect::test
