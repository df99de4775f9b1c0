#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/byte_reader.hpp"
#include "loadgen/frames.hpp"
#include "quic/protect/initial.hpp"
#include "quic/wire/frame_crypto.hpp"
#include "quic/wire/header.hpp"
#include "tls/wire/client_hello.hpp"

namespace millrace::loadgen {
namespace {

using test_support::engine;
using test_support::for_each_frame;
using test_support::frame_bytes;
using test_support::generator;
using test_support::payload_of;
using test_support::some;

// Opens one client Initial and reads its ClientHello; the views live in `plain`.
void open_hello(base::byte_view datagram, const quic_flow& ids, frame_bytes& plain, tls::wire::client_hello& hello) {
  quic::wire::packet_header header;
  ASSERT_TRUE(quic::wire::parse_packet(datagram, header));
  EXPECT_EQ(header.type, quic::wire::packet_type::initial);
  EXPECT_EQ(header.version, ids.version);
  EXPECT_TRUE(std::ranges::equal(header.dcid, ids.original_dcid));
  EXPECT_TRUE(std::ranges::equal(header.scid, ids.client_cid));
  EXPECT_EQ(header.packet_size, datagram.size());

  quic::protect::packet_keys keys;
  ASSERT_TRUE(derive_initial_keys(engine(), header.version, header.dcid, quic::protect::side::client, keys));
  plain.resize(datagram.size());
  quic::protect::opened opened;
  ASSERT_EQ(open_initial(engine(), keys, datagram, header, ~std::uint64_t{0}, plain, opened),
            quic::protect::open_errc::ok);
  EXPECT_EQ(opened.packet_number, 0u);
  base::byte_reader in(opened.payload);
  std::uint64_t type = 0;
  quic::wire::crypto_frame crypto;
  ASSERT_TRUE(in.varint(type) && type == 0x06 && parse(in, crypto));
  EXPECT_EQ(crypto.offset, 0u);
  ASSERT_TRUE(tls::wire::parse_client_hello(crypto.data, hello));
  for (const std::uint8_t byte : in.rest()) ASSERT_EQ(byte, 0) << "padding";
}

TEST(quic_frames, hold_initials_that_open_and_name_their_server) {
  for (const std::uint32_t size : {0u, 1262u, 1514u, 9216u}) {
    frame_options o = some(16, size, "quic");
    o.domain = "example.test";
    auto from = generator(o);
    unsigned initials = 0;
    for_each_frame(from, [&](base::byte_view frame, const frame_plan& p, const net::wire::decoded& seen) {
      if (p.role != packet_role::quic_initial) return;
      ++initials;
      const base::byte_view datagram = payload_of(frame, seen);
      ASSERT_GE(datagram.size(), 1200u);  // RFC 9000 14.1
      frame_bytes plain;
      tls::wire::client_hello hello;
      open_hello(datagram, make_quic_flow(o.seed, p.flow), plain, hello);
      EXPECT_EQ(hello.sni, "flow-" + std::to_string(p.flow) + ".example.test");
      ASSERT_EQ(hello.alpn.size(), 1u);
      EXPECT_EQ(hello.alpn[0], "h3");
      EXPECT_TRUE(hello.has_transport_parameters);
    });
    EXPECT_EQ(initials, 16u);
  }
}

TEST(quic_frames, hold_the_longest_name_they_may_have) {
  frame_options o = some(4, 1262, "quic");
  o.domain = std::string(max_domain_size, 'n');
  o.flows = max_flows;
  auto from = generator(o);
  const std::uint64_t last = max_flows - 1;
  std::uint64_t index = last;
  while (from.plan(index).step != 0) index += max_flows;
  const frame_bytes frame = test_support::make_frame(from, index);
  net::wire::decoded seen;
  ASSERT_TRUE(net::wire::decode(frame, net::wire::link_type::ethernet, seen));
  frame_bytes plain;
  tls::wire::client_hello hello;
  open_hello(payload_of(frame, seen), make_quic_flow(o.seed, max_flows - 1), plain, hello);
  EXPECT_EQ(hello.sni, "flow-16777215." + o.domain);
}

TEST(quic_frames, keep_connection_ids_consistent_over_a_flow) {
  const frame_options o = some(16, 1514, "quic");
  auto from = generator(o);
  std::map<packet_role, unsigned> roles;
  for_each_frame(from, [&](base::byte_view frame, const frame_plan& p, const net::wire::decoded& seen) {
    ++roles[p.role];
    const base::byte_view datagram = payload_of(frame, seen);
    const quic_flow ids = make_quic_flow(o.seed, p.flow);
    const quic_cid& to = p.from_client ? ids.server_cid : ids.client_cid;
    quic::wire::packet_header header;
    ASSERT_TRUE(quic::wire::parse_packet(datagram, header));
    if (p.role == packet_role::quic_one_rtt) {
      EXPECT_FALSE(header.is_long());
      EXPECT_TRUE(std::ranges::equal(datagram.subspan(1, quic_cid_size), to));
    } else if (p.role == packet_role::quic_handshake) {
      EXPECT_EQ(header.type, quic::wire::packet_type::handshake);
      EXPECT_TRUE(std::ranges::equal(header.dcid, to));
      EXPECT_TRUE(std::ranges::equal(header.scid, p.from_client ? ids.client_cid : ids.server_cid));
      EXPECT_EQ(header.packet_size, datagram.size());
    }
  });
  EXPECT_EQ(roles[packet_role::quic_initial], 16u);
  EXPECT_EQ(roles[packet_role::quic_handshake], 32u);
  EXPECT_EQ(roles[packet_role::quic_one_rtt], 16u * 13);
}

TEST(quic_frames, hold_no_initial_where_none_fits) {
  auto from = generator(some(8, smallest_frame_with_initials - 1, "quic"));
  for (std::uint64_t i = 0; i < from.cycle_frames(); ++i) EXPECT_EQ(from.plan(i).role, packet_role::quic_one_rtt);
}

}  // namespace
}  // namespace millrace::loadgen
