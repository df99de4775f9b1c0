#include "port/plan.hpp"

#include <gtest/gtest.h>

namespace millrace::port {
namespace {

port_facts a_nic() {
  port_facts nic;
  nic.name = "0000:03:00.0";
  nic.driver = "net_ice";
  nic.socket = 1;
  nic.max_rxq = 8;
  nic.max_txq = 8;
  nic.rxd = {.min = 64, .max = 4096, .align = 32};
  nic.txd = {.min = 64, .max = 2000, .align = 32};
  nic.min_mtu = 68;
  nic.max_mtu = 9702;
  nic.can.rss = nic.can.rx_ipv4_checksum = nic.can.tx_fast_free = nic.can.tx_segments = nic.can.rx_scatter = true;
  return nic;
}

plan must_plan(const plan_request& wish, std::vector<port_facts> ports = {a_nic()}) {
  auto made = make_plan(ports, wish);
  if (!made) ADD_FAILURE() << made.error().what;
  return made ? std::move(made.value()) : plan{};
}

TEST(plan, pool_is_the_sum_of_everything_a_packet_can_be_in) {
  const plan p = must_plan({.rxq = 2,
                            .txq = 3,
                            .rxd = 512,
                            .txd = 256,
                            .burst_pkts = 32,
                            .cache_pkts = 200,
                            .budget_pkts = 1000,
                            .workers = {{.lcore = 1, .socket = 1}, {.lcore = 2, .socket = 1}}},
                           {a_nic(), a_nic()});
  EXPECT_EQ(p.needs.descriptors, 2u * (2 * 512 + 3 * 256));
  EXPECT_EQ(p.needs.caches, 3u * 300);  // two workers and the main lcore, each up to one and a half caches
  EXPECT_EQ(p.needs.in_flight, 3u * 2 * 32);
  EXPECT_EQ(p.needs.budget, 1000u);
  EXPECT_EQ(p.pool.packets, p.needs.total());
  EXPECT_EQ(p.pool.socket, 1);
  EXPECT_TRUE(p.warnings.empty());
}

TEST(plan, moves_descriptors_into_the_driver_s_limits_and_says_so) {
  const plan p = must_plan({.rxd = 5000, .txd = 10});
  EXPECT_EQ(p.ports[0].rxd, 4096);
  EXPECT_EQ(p.ports[0].txd, 64);
  EXPECT_EQ(p.remarks.size(), 2u);
  EXPECT_EQ(must_plan({.rxd = 100}).ports[0].rxd, 128);    // rounded up to the alignment
  EXPECT_EQ(must_plan({.txd = 1999}).ports[0].txd, 1984);  // or down, when up is beyond the maximum
}

TEST(plan, takes_the_driver_s_preference_before_our_default) {
  port_facts nic = a_nic();
  nic.preferred_rxd = 2048;
  const plan p = must_plan({}, {nic});
  EXPECT_EQ(p.ports[0].rxd, 2048);
  EXPECT_EQ(p.ports[0].txd, default_descriptors);
  EXPECT_TRUE(p.remarks.empty());
}

TEST(plan, refuses_more_queues_than_there_are_naming_the_option) {
  const port_facts nic = a_nic();
  const auto rx = make_plan({&nic, 1}, {.rxq = 9});
  ASSERT_FALSE(rx);
  EXPECT_TRUE(rx.error().unusable);
  EXPECT_NE(rx.error().what.find("--rxq"), std::string::npos);
  EXPECT_EQ(rx.error().hint, "give --rxq 8");
  const auto tx = make_plan({&nic, 1}, {.txq = 100});
  ASSERT_FALSE(tx);
  EXPECT_NE(tx.error().what.find("--txq"), std::string::npos);
  EXPECT_FALSE(make_plan({}, {}));
}

TEST(plan, warns_of_a_port_on_another_numa_node) {
  const plan p = must_plan({.workers = {{.lcore = 5, .socket = 0}}});
  ASSERT_EQ(p.warnings.size(), 1u);
  EXPECT_NE(p.warnings[0].find("NUMA node 1"), std::string::npos);
  EXPECT_NE(p.warnings[0].find("lcore 5"), std::string::npos);
  port_facts virtual_port = a_nic();
  virtual_port.socket = -1;
  EXPECT_TRUE(must_plan({.workers = {{.lcore = 5, .socket = 0}}}, {virtual_port}).warnings.empty());
}

TEST(plan, falls_back_to_software_where_the_driver_cannot) {
  port_facts plain = a_nic();
  plain.can = {};
  const plan without = must_plan({.rxq = 2, .checksums = true}, {plain});
  EXPECT_FALSE(without.ports[0].use.rx_ipv4_checksum);
  EXPECT_FALSE(without.ports[0].use.rss);
  EXPECT_EQ(without.remarks.size(), 1u);
  EXPECT_EQ(without.warnings.size(), 1u);  // nothing spreads flows over two queues
  const plan with = must_plan({.rxq = 2, .checksums = true});
  EXPECT_TRUE(with.ports[0].use.rx_ipv4_checksum);
  EXPECT_TRUE(with.ports[0].use.rss);
  EXPECT_TRUE(with.remarks.empty());
  EXPECT_FALSE(must_plan({}).ports[0].use.rx_ipv4_checksum);  // nobody asked
}

TEST(plan, allows_fast_free_only_for_single_segments_of_one_pool) {
  EXPECT_FALSE(must_plan({}).ports[0].use.tx_fast_free);
  EXPECT_TRUE(must_plan({}).ports[0].use.tx_segments);
  EXPECT_TRUE(must_plan({.chains = false}).ports[0].use.tx_fast_free);
  EXPECT_FALSE(must_plan({.one_pool = false, .chains = false}).ports[0].use.tx_fast_free);
}

TEST(plan, gives_each_port_its_own_mtu_over_buffers_for_the_largest) {
  const plan p = must_plan({.mtus = {9000, 0}}, {a_nic(), a_nic()});
  EXPECT_EQ(p.ports[0].mtu, 9000);
  EXPECT_EQ(p.ports[1].mtu, 0);
  EXPECT_GE(p.pool.data_room, 9000 + 14);
  EXPECT_FALSE(p.ports[0].use.rx_scatter);
  const std::vector<port_facts> both = {a_nic(), a_nic()};
  const auto refused = make_plan(both, {.mtus = {0, 20000}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "0000:03:00.0 takes an MTU from 68 to 9702, not 20000");
}

TEST(plan, leaves_sent_checksums_to_ports_that_can_when_asked) {
  port_facts nic = a_nic();
  nic.can.tx_ipv4_checksum = true;
  EXPECT_FALSE(must_plan({}, {nic}).ports[0].use.tx_ipv4_checksum);
  EXPECT_TRUE(must_plan({.tx_checksums = true}, {nic}).ports[0].use.tx_ipv4_checksum);
  EXPECT_FALSE(must_plan({.tx_checksums = true}, {nic}).ports[0].use.tx_udp_checksum) << "it cannot";
}

TEST(plan, makes_room_for_the_mtu_or_lets_frames_arrive_in_parts) {
  EXPECT_EQ(must_plan({}).pool.data_room, mem::default_data_room);
  const plan jumbo = must_plan({.mtu = 9000});
  EXPECT_GE(jumbo.pool.data_room, 9000 + 14 + 8);
  EXPECT_FALSE(jumbo.ports[0].use.rx_scatter);
  port_facts endless = a_nic();
  endless.mtu = 65535;  // beyond the largest buffer, which has 16 bits of length
  EXPECT_TRUE(must_plan({}, {endless}).ports[0].use.rx_scatter);
  const port_facts nic = a_nic();
  EXPECT_FALSE(make_plan({&nic, 1}, {.mtu = 9703}));
}

TEST(plan, obeys_a_given_pool_size_and_warns_when_it_is_small) {
  EXPECT_EQ(must_plan({.mbufs = 100000}).pool.packets, 100000u);
  EXPECT_TRUE(must_plan({.mbufs = 100000}).warnings.empty());
  const plan small = must_plan({.mbufs = 100});
  EXPECT_EQ(small.pool.packets, 100u);
  ASSERT_EQ(small.warnings.size(), 1u);
  EXPECT_NE(small.warnings[0].find("--mbufs 100"), std::string::npos);
}

TEST(plan, prints_its_numbers) {
  const plan p = must_plan({.rxd = 5000, .budget_pkts = 77, .workers = {{.lcore = 5, .socket = 0}}});
  const std::string text = describe(p);
  for (const char* part : {"0000:03:00.0", "net_ice", "1 rx x 4096", "77 of the role", "note: ", "warning: "})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  EXPECT_NE(text.find(std::to_string(p.pool.packets)), std::string::npos);
}

TEST(plan, expects_before_eal_what_it_finds_afterwards) {
  const plan_request wish{.rxq = 2, .txq = 2, .workers = {{.lcore = 1, .socket = 1}}};
  EXPECT_EQ(expected_pool(2, 1, wish).packets, must_plan(wish, {a_nic(), a_nic()}).pool.packets);
}

TEST(plan, gives_a_packet_socket_buffers_for_its_ring_frames) {
  port_facts socket;
  socket.driver = "net_af_packet";
  socket.mtu = socket.max_mtu = 9000;
  socket.ring_frame_bytes = 16384;
  EXPECT_EQ(must_plan({}, {socket}).pool.data_room, 16384u);
  EXPECT_EQ(expected_pool(1, 1, {}, 16384).data_room, 16384u);
  const auto refused = make_plan({&socket, 1}, {.mtu = 9001});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().hint.find("ip link set dev IFACE mtu 9001"), std::string::npos);
}

TEST(mac_address, prints_as_people_write_it) {
  EXPECT_EQ(to_string(mac_address{2, 0, 0, 0xab, 0, 1}), "02:00:00:ab:00:01");
}

TEST(mac_address, is_the_ports_own_but_for_a_tap_whose_other_end_has_the_same) {
  const mac_address given{0x8e, 0x69, 0xbe, 0xae, 0x06, 0x6c};
  EXPECT_EQ(station_mac("net_af_packet", given), given);
  EXPECT_EQ(station_mac("net_tap", given), (mac_address{0x8e, 0x69, 0xbe, 0xae, 0x06, 0x6d}));
}

}  // namespace
}  // namespace millrace::port
