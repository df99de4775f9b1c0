#include "inspect/analyzer.hpp"

#include <gtest/gtest.h>

#include "inspect/analysis.hpp"
#include "inspect/quic_packets.hpp"
#include "net/wire/numbers.hpp"

namespace millrace::inspect::test {
namespace {

using stats::drop_reason;
namespace tcp_flag = net::wire::tcp_flag;

TEST(analyzer, makes_one_object_of_a_5_tuple_in_both_directions) {
  analysis a;
  a.udp(at("10.0.0.1", 1111), at("10.0.0.2", 53), byte_list{1, 2, 3});
  a.now += analysis::second;
  a.udp(at("10.0.0.2", 53), at("10.0.0.1", 1111), byte_list{4, 5, 6, 7});
  a.under_test.finish();
  ASSERT_EQ(a.told.flows.size(), 1u);
  const flow& f = a.told.flows[0];
  EXPECT_EQ(f.kind, flow_kind::udp);
  EXPECT_EQ(f.packets, 2u);
  EXPECT_EQ(f.bytes, 2u * 42 + 7);
  EXPECT_EQ(f.last_ns - f.first_ns, analysis::second);
  EXPECT_TRUE(f.opened_by_low);
  EXPECT_FALSE(f.opener_known);
}

TEST(analyzer, knows_who_opened_a_tcp_connection_by_its_syn) {
  const base::endpoint client = at("10.0.0.9", 4000);
  const base::endpoint server = at("10.0.0.2", 80);
  {
    analysis a;
    a.raw(analysis::frame(client, server, {}, net::wire::transport::tcp, tcp_flag::syn));
    a.raw(analysis::frame(server, client, {}, net::wire::transport::tcp, tcp_flag::syn | tcp_flag::ack));
    a.under_test.finish();
    ASSERT_EQ(a.told.flows.size(), 1u);
    EXPECT_EQ(a.told.flows[0].kind, flow_kind::tcp);
    EXPECT_TRUE(a.told.flows[0].opener_known);
    EXPECT_EQ(a.told.flows[0].opened_by_low, a.told.flows[0].key.low() == client);
  }
  {
    analysis a;  // the SYN itself was missed
    a.raw(analysis::frame(server, client, {}, net::wire::transport::tcp, tcp_flag::syn | tcp_flag::ack));
    a.under_test.finish();
    EXPECT_TRUE(a.told.flows[0].opener_known);
    EXPECT_EQ(a.told.flows[0].opened_by_low, a.told.flows[0].key.low() == client);
  }
  {
    analysis a;
    a.raw(analysis::frame(server, client, {}, net::wire::transport::tcp));
    a.under_test.finish();
    EXPECT_FALSE(a.told.flows[0].opener_known);
  }
}

TEST(analyzer, keeps_tcp_and_udp_between_the_same_ports_apart) {
  analysis a;
  a.udp(a.client, a.server, byte_list{1});
  a.raw(analysis::frame(a.client, a.server, {}, net::wire::transport::tcp));
  a.under_test.finish();
  EXPECT_EQ(a.told.flows.size(), 2u);
}

TEST(analyzer, calls_srmp_what_fills_its_datagram_on_the_configured_port) {
  const byte_list two_frames = {0x01, 1, 2, 0, 'h', 'i', 0x81, 2, 0, 0};
  analysis a;
  a.udp(at("10.0.0.1", 999), at("10.0.0.2", 5500), two_frames);
  a.udp(at("10.0.0.2", 5500), at("10.0.0.1", 999), byte_list{0x81, 1, 0, 0});
  a.udp(at("10.0.0.1", 999), at("10.0.0.2", 5500), byte_list{0x01, 1, 9, 0, 'h', 'i'});
  a.udp(at("10.0.0.1", 999), at("10.0.0.2", 5501), two_frames);
  a.under_test.finish();
  ASSERT_EQ(a.told.flows.size(), 2u);
  EXPECT_EQ(a.told.flows[0].kind, flow_kind::srmp);
  EXPECT_EQ(a.told.flows[0].messages, 3u);
  EXPECT_EQ(a.told.flows[0].packets, 3u);
  EXPECT_EQ(a.anomalies(drop_reason::srmp_truncated), 1u);
  EXPECT_EQ(a.told.flows[1].kind, flow_kind::udp) << "SRMP has no magic: no port, no SRMP";
}

TEST(analyzer, leaves_the_srmp_port_to_quic_where_frames_do_not_fill_the_datagram) {
  analysis a;
  a.udp(at("10.0.0.1", 999), at("10.0.0.2", 5500), initial(engine(), {}, crypto_frame(0, client_hello({}))));
  EXPECT_EQ(sni_of(a.only()), "server.test");
}

TEST(analyzer, counts_every_frame_once_under_what_stopped_it) {
  analysis a;
  a.raw(byte_list(10, 0));  // too short for Ethernet
  byte_list arp(42, 0);
  arp[12] = 0x08;
  arp[13] = 0x06;
  a.raw(arp);
  byte_list udp = analysis::frame(a.client, a.server, byte_list{1, 2, 3});
  byte_list cut(udp.begin(), udp.begin() + 30);
  a.raw(cut);  // inside the IP header
  byte_list fragment = udp;
  fragment[20] = 0x20;  // more fragments
  a.raw(fragment);
  byte_list version = udp;
  version[14] = 0x55;
  a.raw(version);
  byte_list bad_length = udp;
  bad_length[38] = 0;
  bad_length[39] = 3;  // UDP length below 8
  a.raw(bad_length);
  a.raw(udp);
  a.under_test.refuse(drop_reason::l2_oversized, 70'000);
  EXPECT_EQ(a.dropped(drop_reason::l2_truncated), 1u);
  EXPECT_EQ(a.dropped(drop_reason::arp), 1u);
  EXPECT_EQ(a.dropped(drop_reason::ip_truncated), 1u);
  EXPECT_EQ(a.dropped(drop_reason::ip_fragment), 1u);
  EXPECT_EQ(a.dropped(drop_reason::ip_bad_version), 1u);
  EXPECT_EQ(a.dropped(drop_reason::udp_bad_length), 1u);
  EXPECT_EQ(a.dropped(drop_reason::l2_oversized), 1u);
  EXPECT_EQ(a.under_test.count().delivered.get(), 1u);
  EXPECT_EQ(a.under_test.count().packets.get(), 8u);
  a.expect_conservation();
}

TEST(analyzer, takes_quic_quoted_in_an_icmp_error_for_no_traffic_of_that_connection) {
  analysis a;
  const byte_list quoted =
      analysis::frame(a.client, a.server, initial(engine(), {}, crypto_frame(0, client_hello({}))));
  byte_list icmp = analysis::frame(a.server, a.client, {});
  icmp.resize(34);
  icmp[23] = 1;  // ICMP
  append(icmp, byte_list{3, 3, 0, 0, 0, 0, 0, 0});
  append(icmp, base::byte_view(quoted).subspan(14));
  const auto ip_size = static_cast<std::uint16_t>(icmp.size() - 14);
  base::store_be16(icmp.data() + 16, ip_size);
  a.raw(icmp);
  EXPECT_TRUE(a.connections().empty());
  EXPECT_EQ(a.dropped(drop_reason::icmp), 1u);
  a.expect_conservation();
}

TEST(analyzer, holds_a_million_flows_to_its_cap_and_reports_each_once) {
  analyzer_options options = analysis::small();
  options.caps.max_flows = 1024;
  struct counting final : observer {
    std::uint64_t flows = 0;
    std::uint64_t packets = 0;
    void on_connection(const connection&) override {}
    void on_flow(const flow& f) override {
      ++flows;
      packets += f.packets;
    }
  } told;
  const mem::region memory = mem::region::make("million", analyzer::bytes_needed(options.caps));
  mem::region& block = const_cast<mem::region&>(memory);
  analyzer under_test({block.data(), block.size_bytes()}, options, engine(), told);
  byte_list frame = analysis::frame(at("10.0.0.1", 1), at("192.0.2.1", 9), byte_list{1, 2, 3});
  std::uint64_t most = 0;
  for (std::uint32_t n = 0; n < 1'000'000; ++n) {
    base::store_be16(frame.data() + 28, static_cast<std::uint16_t>(n >> 16));  // in the source address
    base::store_be16(frame.data() + 34, static_cast<std::uint16_t>(n));        // source port
    under_test.on_packet(frame, net::wire::link_type::ethernet, std::uint64_t{n} * 1000,
                         static_cast<std::uint32_t>(frame.size()));
    most = std::max<std::uint64_t>(most, under_test.flows().pool().in_use());
  }
  EXPECT_EQ(most, 1024u);
  EXPECT_EQ(under_test.count().flows.get(), 1'000'000u);
  EXPECT_EQ(under_test.count().flows_evicted.get(), 1'000'000u - 1024);
  under_test.finish();
  EXPECT_EQ(told.flows, 1'000'000u);
  EXPECT_EQ(told.packets, 1'000'000u);
  EXPECT_EQ(under_test.count().packets.get(), under_test.count().delivered.get());
}

TEST(analyzer, keeps_a_conversation_through_a_flood_of_strangers) {
  analysis a;
  a.to_server(initial(engine(), {}, crypto_frame(0, client_hello({}))));
  a.to_client(sealed_long(1, 2, byte_list{9, 9, 9}, byte_list{5, 5, 5, 5}));
  for (std::uint16_t n = 0; n < 5000; ++n) {
    a.udp(at("10.1.0.1", n), at("192.0.2.7", 9), byte_list{1, 2, 3});
    initial_spec spec;
    spec.dcid[0] = static_cast<std::uint8_t>(n);
    if (n % 16 == 0) a.udp(at("10.1.0.2", n), at("192.0.2.7", 443), initial(engine(), spec, byte_list{1}));
    a.now += analysis::second / 1000;
  }
  a.to_server(short_packet(byte_list{5, 5, 5, 5}));
  a.under_test.finish();
  const auto known = std::ranges::find_if(a.told.connections, [](const connection& c) { return c.facts.known; });
  ASSERT_NE(known, a.told.connections.end());
  EXPECT_EQ(known->packets.one_rtt, 1u);
}

TEST(analyzer, lives_with_time_that_runs_backwards_and_jumps) {
  analysis a;
  a.udp(a.client, a.server, byte_list{1});
  a.now -= 500 * analysis::second;
  a.udp(a.client, a.server, byte_list{1});
  EXPECT_TRUE(a.told.flows.empty());
  a.now += 100'000 * analysis::second;
  a.udp(at("10.0.0.5", 5), a.server, byte_list{1});
  EXPECT_EQ(a.told.flows.size(), 1u);
  EXPECT_EQ(a.told.flows[0].packets, 2u);
  EXPECT_EQ(a.under_test.count().flows_expired.get(), 1u);
}

TEST(analyzer, looks_into_every_link_type) {
  const byte_list ethernet =
      analysis::frame(at("10.0.0.1", 1), at("10.0.0.2", 443), initial(engine(), {}, crypto_frame(0, client_hello({}))));
  const base::byte_view ip = base::byte_view(ethernet).subspan(14);
  const auto with = [&](byte_list header) {
    append(header, ip);
    return header;
  };
  using net::wire::link_type;
  const std::vector<std::pair<link_type, byte_list>> frames = {
      {link_type::raw_ip, with({})},
      {link_type::ipv4, with({})},
      {link_type::null_loopback, with({2, 0, 0, 0})},
      {link_type::loop, with({0, 0, 0, 2})},
      {link_type::ppp, with({0xFF, 0x03, 0x00, 0x21})},
      {link_type::linux_sll, with({0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0})},
      {link_type::linux_sll2, with({8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0})},
  };
  for (const auto& [link, bytes] : frames) {
    analysis a;
    a.under_test.on_packet(bytes, link, a.now, static_cast<std::uint32_t>(bytes.size()));
    EXPECT_EQ(sni_of(a.only()), "server.test") << static_cast<int>(link);
  }
  analysis a;
  a.under_test.on_packet(ethernet, link_type::unknown, a.now, 1);
  EXPECT_EQ(a.dropped(drop_reason::capture_unknown_link_type), 1u);
}

TEST(analyzer, needs_the_memory_it_says_and_grows_with_its_caps) {
  limits small;
  small.max_flows = 1000;
  small.max_decrypted = 0;  // its memory has caps of its own
  limits large = small;
  large.max_flows = 100'000;
  EXPECT_GT(analyzer::bytes_needed(large), 50 * analyzer::bytes_needed(small) / 10);
  EXPECT_LT(analyzer::bytes_needed(limits{}), 200u << 20) << "the default fits a small machine";
}

}  // namespace
}  // namespace millrace::inspect::test
