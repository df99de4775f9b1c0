// The tables a host is made of, each by itself.

#include "net/network.hpp"
#include "net/wire/arp.hpp"

namespace millrace::net {
namespace {

using namespace test;
using stats::drop_reason;

// --- addresses ---

TEST(wire_address, knows_prefixes_bit_by_bit) {
  for (unsigned length = 0; length <= 128; ++length) {
    const auto a = ip("2001:db8:1234:5678:9abc:def0:1357:9bdf");
    const auto first = wire::first_of_prefix(a, length);
    const auto last = wire::last_of_prefix(a, length);
    EXPECT_TRUE(wire::is_in_prefix(first, a, length));
    EXPECT_TRUE(wire::is_in_prefix(last, a, length));
    if (length == 0) continue;
    auto other = a;
    other.octets[(length - 1) / 8] ^= static_cast<std::uint8_t>(0x80 >> (length - 1) % 8);
    EXPECT_FALSE(wire::is_in_prefix(other, a, length)) << length;
    EXPECT_TRUE(wire::is_in_prefix(other, a, length - 1)) << length;
  }
  EXPECT_FALSE(wire::is_in_prefix(ip("198.18.0.1"), ip("::"), 0));
  EXPECT_EQ(wire::last_of_prefix(ip("198.18.0.1"), 20), ip("198.18.15.255"));
}

TEST(wire_address, makes_the_addresses_that_follow_from_others) {
  EXPECT_EQ(wire::solicited_node(ip("2001:db8::2:1234:5678")), ip("ff02::1:ff34:5678"));  // RFC 4291 2.7.1
  EXPECT_EQ(wire::multicast_mac(ip("ff02::1:ff34:5678")), (wire::mac_address{{0x33, 0x33, 0xFF, 0x34, 0x56, 0x78}}));
  EXPECT_EQ(wire::multicast_mac(ip("239.129.2.3")), (wire::mac_address{{1, 0, 0x5E, 1, 2, 3}}));
  EXPECT_EQ(wire::link_local_of({{0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE}}),
            ip("fe80::3656:78ff:fe9a:bcde"));  // RFC 2464 4
  EXPECT_TRUE(wire::is_link_local(ip("febf::1")));
  EXPECT_FALSE(wire::is_link_local(ip("fec0::1")));
}

TEST(wire_arp, writes_what_it_reads) {
  const wire::arp_packet arp{.operation = wire::arp_operation::reply,
                             .sender_mac = mac(3),
                             .target_mac = mac(4),
                             .sender = ip("198.18.0.3"),
                             .target = ip("198.18.0.4")};
  byte_list bytes(28);
  base::byte_writer writer(bytes);
  ASSERT_TRUE(emit(arp, writer));
  EXPECT_EQ(bytes, from_hex("0001 0800 06 04 0002 020000000003 c6120003 020000000004 c6120004"));
  wire::arp_packet back;
  ASSERT_TRUE(parse(bytes, back));
  EXPECT_EQ(back.sender, arp.sender);
  EXPECT_EQ(back.target_mac, arp.target_mac);
  base::byte_writer small(base::byte_span(bytes).first(27));
  EXPECT_FALSE(emit(arp, small));
}

// --- configuration ---

TEST(host_config, names_what_cannot_work) {
  const auto refused = [](auto change, std::string_view word) {
    host_config c = config_of(1);
    change(c);
    const base::outcome fine = check(c);
    return !fine && fine.error().what.find(word) != std::string::npos;
  };
  EXPECT_TRUE(check(config_of(1)));
  EXPECT_TRUE(refused([](auto& c) { c.mac = {}; }, "MAC"));
  EXPECT_TRUE(refused([](auto& c) { c.vlan = 4095; }, "VLAN 4095"));
  EXPECT_TRUE(refused([](auto& c) { c.mtu = 1279; }, "1280"));
  EXPECT_TRUE(refused([](auto& c) { c.addresses[0].address = ip("198.18.0.255"); }, "broadcast"));
  EXPECT_TRUE(refused([](auto& c) { c.addresses[0].address = ip("127.0.0.1"); }, "127.0.0.1"));
  EXPECT_TRUE(refused([](auto& c) { c.addresses.push_back(c.addresses[0]); }, "twice"));
  EXPECT_TRUE(refused([](auto& c) { c.addresses[0].prefix_length = 33; }, "33 bits"));
  EXPECT_TRUE(refused([](auto& c) { c.addresses.resize(16, c.addresses[0]); }, "15 addresses"));
  EXPECT_TRUE(refused([](auto& c) { c.routes = {{ip("0.0.0.0"), 0, ip("203.0.113.1")}}; }, "203.0.113.1"));
  EXPECT_TRUE(refused([](auto& c) { c.neighbours = {{ip("198.18.0.5"), wire::broadcast_mac}}; }, "198.18.0.5"));
  EXPECT_TRUE(refused([](auto& c) { c.limits.fragments_per_datagram = 129; }, "fragments"));
  EXPECT_TRUE(refused([](auto& c) { c.instance = 1; }, "instance"));
}

// --- routes ---

TEST(route_table, answers_the_longest_prefix) {
  route_table t;
  EXPECT_TRUE(t.add({ip("0.0.0.0"), 0, ip("10.0.0.1")}));
  EXPECT_TRUE(t.add({ip("10.1.0.0"), 16, {}}));
  EXPECT_TRUE(t.add({ip("10.1.2.0"), 24, ip("10.0.0.3")}));
  EXPECT_TRUE(t.add({ip("10.1.2.3"), 32, ip("10.0.0.4")}));
  EXPECT_TRUE(t.add({ip("2001:db8::"), 32, ip("fe80::1")}));
  const auto gateway = [&](std::string_view dst) { return t.find(ip(dst))->gateway; };
  EXPECT_EQ(gateway("10.1.2.3"), ip("10.0.0.4"));
  EXPECT_EQ(gateway("10.1.2.4"), ip("10.0.0.3"));
  EXPECT_EQ(gateway("10.1.3.4"), base::ip_address{});
  EXPECT_EQ(gateway("11.1.3.4"), ip("10.0.0.1"));
  EXPECT_EQ(gateway("2001:db8:1::1"), ip("fe80::1"));
  EXPECT_EQ(t.find(ip("2001:db9::1")), nullptr) << "an IPv4 default is none for IPv6";
  while (t.size() < max_routes) EXPECT_TRUE(t.add({ip("10.9.0.0"), 16, {}}));
  EXPECT_FALSE(t.add({ip("10.9.0.0"), 16, {}}));
}

// --- rates ---

TEST(token_bucket, lets_a_burst_pass_and_then_its_rate) {
  token_bucket b({1000, 10});
  unsigned passed = 0;
  for (int i = 0; i < 100; ++i) passed += b.take(5 * sec);
  EXPECT_EQ(passed, 10u);
  for (std::uint64_t t = 0; t < sec; t += 100'000) passed += b.take(5 * sec + t);
  EXPECT_NEAR(passed, 1010, 2);
  EXPECT_TRUE(b.take(100 * sec));
  passed = 0;
  for (int i = 0; i < 100; ++i) passed += b.take(1);  // time that runs backwards gives nothing
  EXPECT_EQ(passed, 9u);
  token_bucket none({0, 0});
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(none.take(0));
}

// --- path MTU ---

TEST(path_mtus, are_bounded_and_end) {
  host_limits limits;
  limits.path_mtus = 8;
  path_mtus t(limits, 1);
  ASSERT_TRUE(t);
  for (unsigned i = 0; i < 100; ++i)
    EXPECT_TRUE(t.on_report(ip("2001:db8::" + std::to_string(i)), 1300, 1500, sec + i));
  EXPECT_EQ(t.size(), 8u);
  EXPECT_NE(t.find(ip("2001:db8::99"), 2 * sec), nullptr);
  EXPECT_EQ(t.find(ip("2001:db8::99"), 602 * sec), nullptr);
  EXPECT_EQ(t.find(ip("2001:db8::1"), 2 * sec), nullptr) << "gave way";
}

// --- neighbours ---

TEST(neighbour_cache, evicts_the_least_useful_and_drops_what_waited_for_it) {
  host_limits limits;
  limits.neighbours = 4;
  neighbour_cache c(limits, 100, 1);
  ASSERT_TRUE(c);
  ASSERT_TRUE(c.add_fixed(ip("10.0.0.1"), mac(1)));
  neighbour* waiting = c.obtain(ip("10.0.0.2"), 1);
  ASSERT_EQ(c.keep(*waiting, 60).size(), 60u);
  EXPECT_TRUE(c.keep(*waiting, 1000).empty()) << "longer than a frame may be";
  EXPECT_EQ(c.on_request(ip("10.0.0.3"), mac(3), 2), learned::accepted);
  neighbour* used = c.find(ip("10.0.0.3"));
  EXPECT_NE(c.use(*used, 3), nullptr);
  EXPECT_EQ(c.on_request(ip("10.0.0.4"), mac(4), 4), learned::accepted);
  EXPECT_EQ(c.on_request(ip("10.0.0.5"), mac(5), 5), learned::accepted);
  EXPECT_EQ(c.find(ip("10.0.0.4")), nullptr) << "nobody here ever used it";
  EXPECT_NE(c.obtain(ip("10.0.0.6"), 6), nullptr);
  EXPECT_EQ(c.find(ip("10.0.0.5")), nullptr);
  EXPECT_NE(c.obtain(ip("10.0.0.7"), 7), nullptr);
  EXPECT_EQ(c.find(ip("10.0.0.2")), nullptr) << "incomplete, and the oldest";
  EXPECT_EQ(c.drops().get(drop_reason::neighbour_cache_full), 1u);
  EXPECT_NE(c.find(ip("10.0.0.1")), nullptr);
  EXPECT_EQ(c.in_use(), 4u);
  EXPECT_EQ(c.frames_held(), 0u);
}

TEST(neighbour_cache, has_no_room_among_fixed_ones) {
  host_limits limits;
  limits.neighbours = 2;
  neighbour_cache c(limits, 100, 1);
  ASSERT_TRUE(c.add_fixed(ip("10.0.0.1"), mac(1)));
  ASSERT_TRUE(c.add_fixed(ip("10.0.0.2"), mac(2)));
  EXPECT_FALSE(c.add_fixed(ip("10.0.0.3"), mac(3)));
  EXPECT_EQ(c.obtain(ip("10.0.0.3"), 1), nullptr);
  EXPECT_EQ(c.on_request(ip("10.0.0.3"), mac(3), 1), learned::full);
}

TEST(neighbour_cache, forgets_what_nobody_uses) {
  host_limits limits;
  neighbour_cache c(limits, 100, 1);
  EXPECT_EQ(c.on_request(ip("10.0.0.3"), mac(3), sec), learned::accepted);
  c.sweep(600 * sec);
  EXPECT_EQ(c.in_use(), 1u);
  c.sweep(602 * sec);
  EXPECT_EQ(c.in_use(), 0u);
}

TEST(neighbour_cache, bounds_the_frames_that_wait) {
  host_limits limits;
  limits.pending_frames = 10;
  limits.pending_per_neighbour = 4;
  neighbour_cache c(limits, 100, 1);
  unsigned kept = 0;
  for (int i = 1; i <= 5; ++i) {
    neighbour* n = c.obtain(ip("10.0.0." + std::to_string(i)), 1);
    for (int j = 0; j < 6; ++j) kept += !c.keep(*n, 64).empty();
  }
  EXPECT_EQ(c.frames_held(), 10u);
  EXPECT_EQ(c.frames_kept(), kept);
  EXPECT_EQ(kept, c.frames_held() + c.drops().get(drop_reason::neighbour_queue_full));
}

// --- own addresses ---

TEST(local_addresses, choose_the_source_that_fits) {
  local_addresses l;
  for (const auto& [text, length] : {std::pair{"198.18.0.1", 24},
                                     {"198.18.1.1", 24},
                                     {"2001:db8:18::1", 64},
                                     {"fe80::1", 64},
                                     {"2001:db8:19::1", 64}})
    ASSERT_TRUE(l.add({ip(text), static_cast<std::uint8_t>(length)}));
  l.start(0, false, 0);
  EXPECT_EQ(l.source_for(ip("198.18.1.77"))->ip, ip("198.18.1.1"));
  EXPECT_EQ(l.source_for(ip("8.8.8.8"))->ip, ip("198.18.0.1"));
  EXPECT_EQ(l.source_for(ip("2001:db8:19::5"))->ip, ip("2001:db8:19::1"));
  EXPECT_EQ(l.source_for(ip("2001:db8:77::5"))->ip, ip("2001:db8:18::1"));
  EXPECT_EQ(l.source_for(ip("fe80::5"))->ip, ip("fe80::1"));
  EXPECT_EQ(l.source_for(ip("ff02::1"))->ip, ip("fe80::1"));
  EXPECT_TRUE(l.is_broadcast(ip("198.18.1.255")));
  EXPECT_FALSE(l.is_broadcast(ip("198.18.2.255")));
}

TEST(local_addresses, have_no_broadcast_on_a_link_of_two) {
  local_addresses l;
  ASSERT_TRUE(l.add({ip("198.18.0.0"), 31}));
  EXPECT_FALSE(l.is_broadcast(ip("198.18.0.1"))) << "RFC 3021 2.2";
}

}  // namespace
}  // namespace millrace::net
