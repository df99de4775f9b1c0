// The configuration file: what it means, what it refuses and where, and that what is printed reads back as the same.
#include "app/config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "app/config_keys.hpp"
#include "support/file_tree.hpp"

namespace millrace::app {
namespace {

using base::ip_address;

serve_config read(std::string_view text) {
  auto got = parse_config(text, "a.toml");
  EXPECT_TRUE(got) << (got ? "" : got.error().what);
  if (!got) return default_config();
  const auto fine = check_config(got.value().config, got.value().origins);
  EXPECT_TRUE(fine) << (fine ? "" : fine.error().what);
  return std::move(got.value().config);
}

// "FILE:LINE:COLUMN: what" with the hint behind it, of reading or else of checking.
std::string refusal(std::string_view text) {
  const auto got = parse_config(text, "a.toml");
  const auto told = [](const base::failure& why) {
    EXPECT_TRUE(why.unusable) << why.what;
    EXPECT_EQ(why.what.find('\n'), std::string::npos) << why.what;
    return why.what + (why.hint.empty() ? "" : " [" + why.hint + "]");
  };
  if (!got) return told(got.error());
  const auto fine = check_config(got.value().config, got.value().origins);
  return fine ? "taken" : told(fine.error());
}

std::string interface(std::string_view lines) { return "[[interface]]\n" + std::string(lines) + "\n"; }

TEST(config, without_a_file_the_first_port_answers_on_the_benchmark_addresses) {
  const serve_config c = read("");
  ASSERT_EQ(c.interfaces.size(), 1u);
  EXPECT_EQ(c.interfaces[0].port, "0");
  ASSERT_EQ(c.interfaces[0].host.addresses.size(), 2u);
  EXPECT_EQ(to_text(c.interfaces[0].host.addresses[0]), "198.18.0.1/24");
  EXPECT_EQ(to_text(c.interfaces[0].host.addresses[1]), "2001:db8:18::1/64");
  EXPECT_EQ(c.srmp.port, 5500);
  EXPECT_EQ(c.echo_port, 0);
  EXPECT_EQ(c.loop.idle, pipeline::idle_policy::adaptive);
  EXPECT_EQ(to_toml(c), to_toml(default_config()));
}

TEST(config, keys_before_the_tables_are_the_names_of_the_options) {
  const serve_config c = read(
      "address = \"10.1.2.3/8\"\ngateway = \"10.0.0.1\"\nsrmp-port = 7000\necho-port = 7\nidle = \"poll\"\n"
      "duration = 1.5\nstats-period = 2\nlcores = [3, 1]\n");
  ASSERT_EQ(c.interfaces[0].host.addresses.size(), 1u);
  EXPECT_EQ(to_text(c.interfaces[0].host.addresses[0]), "10.1.2.3/8");
  ASSERT_EQ(c.interfaces[0].host.routes.size(), 1u);
  EXPECT_TRUE(is_default_route(c.interfaces[0].host.routes[0]));
  EXPECT_EQ(c.srmp.port, 7000);
  EXPECT_EQ(c.echo_port, 7);
  EXPECT_EQ(c.loop.idle, pipeline::idle_policy::poll);
  EXPECT_EQ(c.duration_s, 1.5);
  EXPECT_EQ(c.stats_period_s, 2);
  EXPECT_EQ(c.lcores, (std::vector<unsigned>{3, 1}));
}

TEST(config, interfaces_name_their_port_and_have_lists_of_their_own) {
  const serve_config c = read(R"(
[[interface]]
port = "net_tap0"
address = ["10.0.0.1/24", "fd00::1/64"]
gateway = ["10.0.0.254", "fe80::1"]
mac = "02:00:00:00:00:aB"
vlan = 100
mtu = 9000
link-local = false
dad-transmits = 0
announce = false
accept-broadcast = true
route = [{ to = "10.1.0.0/16", via = "10.0.0.253" }, { to = "10.2.0.0/16" }]
[[interface.neighbour]]
address = "10.2.0.9"
mac = "02:00:00:00:00:09"
[[interface]]
address = "172.16.0.1/12"
)");
  ASSERT_EQ(c.interfaces.size(), 2u);
  const interface_config& one = c.interfaces[0];
  EXPECT_EQ(one.port, "net_tap0");
  EXPECT_TRUE(one.own_mac);
  EXPECT_EQ(to_text(one.host.mac), "02:00:00:00:00:ab");
  EXPECT_EQ(one.host.vlan, 100);
  EXPECT_TRUE(one.own_mtu);
  EXPECT_EQ(one.host.mtu, 9000);
  EXPECT_FALSE(one.host.link_local);
  EXPECT_EQ(one.host.dad_transmits, 0);
  EXPECT_FALSE(one.host.announce);
  EXPECT_TRUE(one.host.accept_broadcast);
  ASSERT_EQ(one.host.routes.size(), 4u);
  EXPECT_EQ(to_text(one.host.routes[1].gateway), "fe80::1");
  EXPECT_EQ(to_text(one.host.routes[2].prefix), "10.1.0.0");
  EXPECT_EQ(one.host.routes[3].gateway.family, base::ip_family::none);
  ASSERT_EQ(one.host.neighbours.size(), 1u);
  EXPECT_EQ(to_text(one.host.neighbours[0].mac), "02:00:00:00:00:09");
  EXPECT_EQ(c.interfaces[1].port, "1");  // its place in the file
  EXPECT_FALSE(c.interfaces[1].own_mtu);
}

TEST(config, limits_arrive_in_the_structs_of_their_rooms) {
  const serve_config c = read(R"(
[srmp]
answer = "echo"
batch-bytes = "1K"
amplification-factor = 9
amplification-rate = "1M"
amplification-burst = 70000
[srmp.peers]
kind-of-reply = true
one-frame-a-datagram = true
empty-datagram-closes = false
[rpc]
max-json-bytes = "128K"
max-json-depth = 5
max-items = 6
[limits]
neighbours = 7
pending-frames = 8
pending-per-neighbour = 3
reachable = 0.000000001e9
delay = 2.25
reassembly-bytes = "64K"
icmp-errors = 11
icmp-errors-burst = 12
[loop]
burst = 64
tx-patience = 0.001
stop-patience = 3
[pool]
packets = 40000
cache = 64
rxd = 512
txd = 256
checksum-offload = false
)");
  EXPECT_EQ(c.srmp.answer, srmp_answer::echo);
  EXPECT_EQ(c.srmp.batch_bytes, 1024u);
  EXPECT_EQ(c.srmp.amplification.factor, 9u);
  EXPECT_EQ(c.srmp.amplification.bytes.per_second, 1024u * 1024);
  EXPECT_EQ(c.srmp.amplification.bytes.burst, 70000u);
  EXPECT_TRUE(c.srmp.peers.kind_of_reply && c.srmp.peers.one_frame_a_datagram);
  EXPECT_FALSE(c.srmp.peers.empty_datagram_closes);
  EXPECT_EQ(c.srmp.rpc.max_json_bytes, 128u * 1024);
  EXPECT_EQ(c.srmp.rpc.max_json_depth, 5u);
  EXPECT_EQ(c.srmp.rpc.max_items, 6u);
  EXPECT_EQ(c.limits.neighbours, 7u);
  EXPECT_EQ(c.limits.pending_frames, 8u);
  EXPECT_EQ(c.limits.reachable_ns, 1'000'000'000u);
  EXPECT_EQ(c.limits.delay_ns, 2'250'000'000u);
  EXPECT_EQ(c.limits.reassembly_bytes, 65536u);
  EXPECT_EQ(c.limits.icmp_errors.per_second, 11u);
  EXPECT_EQ(c.limits.icmp_errors.burst, 12u);
  EXPECT_EQ(c.loop.burst_pkts, 64);
  EXPECT_EQ(c.loop.tx_patience_ns, 1'000'000u);
  EXPECT_EQ(c.loop.stop_patience_ns, 3'000'000'000u);
  EXPECT_EQ(c.pool.packets, 40000u);
  EXPECT_EQ(c.pool.cache_pkts, 64);
  EXPECT_EQ(c.pool.rxd, 512);
  EXPECT_EQ(c.pool.txd, 256);
  EXPECT_FALSE(c.pool.checksum_offload);
}

TEST(config, clients_are_asked_to_go_to_addresses_of_ours_alone) {
  const auto usual = read("").quic.endpoint.transport;
  EXPECT_EQ(usual.preferred_ipv4.address.family, base::ip_family::none);
  EXPECT_EQ(usual.preferred_ipv6.address.family, base::ip_family::none);
  const std::string ours =
      interface("port = \"0\"\naddress = [\"198.18.0.1/24\", \"198.18.0.9/24\", \"2001:db8:18::9/64\"]");
  const auto both = read("[quic]\npreferred-ipv4 = \"198.18.0.9\"\npreferred-ipv6 = \"2001:db8:18::9\"\n" + ours);
  EXPECT_EQ(to_text(both.quic.endpoint.transport.preferred_ipv4.address), "198.18.0.9");
  EXPECT_EQ(to_text(both.quic.endpoint.transport.preferred_ipv6.address), "2001:db8:18::9");
  EXPECT_EQ(refusal("[quic]\npreferred-ipv4 = \"198.18.0.7\"\n" + ours),
            "a.toml:2:18: 198.18.0.7 is none of the interfaces' addresses [add it to one of them]");
  EXPECT_EQ(refusal("[quic]\npreferred-ipv4 = \"\"\n" + ours), "taken");
  EXPECT_THAT(refusal("[quic]\npreferred-ipv4 = \"2001:db8:18::9\"\n" + ours),
              testing::HasSubstr("an IPv4 address in quotes"));
  EXPECT_THAT(refusal("[quic]\npreferred-ipv6 = 6\n" + ours), testing::HasSubstr("an IPv6 address in quotes"));
}

TEST(config, keys_of_quic_connections_rest_as_the_file_says) {
  const serve_config usual = read("");
  EXPECT_EQ(usual.quic.endpoint.awake_keys, 0u);
  EXPECT_EQ(usual.quic.endpoint.rest_keys_after_ns, 2'000'000'000u);
  const serve_config c = read("[quic]\nawake-keys = 300\nrest-keys-after = 0.5\n");
  EXPECT_EQ(c.quic.endpoint.awake_keys, 300u);
  EXPECT_EQ(c.quic.endpoint.rest_keys_after_ns, 500'000'000u);
  EXPECT_EQ(read("[quic]\nrest-keys-after = 0\n").quic.endpoint.rest_keys_after_ns, 0u);
  // Of those under way none can rest.
  EXPECT_EQ(refusal("[quic]\nhandshakes = 100\nawake-keys = 99\n"),
            "a.toml:3:14: there are fewer of them than handshakes");
  EXPECT_EQ(refusal("[quic]\nhandshakes = 100\nawake-keys = 100\n"), "taken");
}

TEST(config, what_is_not_toml_is_told_at_its_place) {
  EXPECT_EQ(refusal("srmp-port = \n").rfind("a.toml:1:", 0), 0u) << refusal("srmp-port = \n");
  EXPECT_EQ(refusal("\n\n[limits\n").rfind("a.toml:3:", 0), 0u);
  EXPECT_EQ(refusal("echo-port = 1\necho-port = 2\n").rfind("a.toml:2:", 0), 0u);
  EXPECT_EQ(refusal("a.+b = 1").rfind("a.toml:1:", 0), 0u);  // toml++ itself takes that for impossible
  EXPECT_EQ(refusal(std::string_view("\xFF\xFE=1", 4)).rfind("a.toml:1:", 0), 0u);
}

TEST(config, a_key_of_very_many_parts_is_refused_before_anything_recurses) {
  std::string key = "a";
  for (int i = 0; i < 50000; ++i) key += ".a";
  EXPECT_EQ(refusal("echo-port = 7\n" + key + " = 1").rfind("a.toml:2:130: more dots", 0), 0u);
  EXPECT_EQ(refusal("# " + key), "taken");
  EXPECT_EQ(refusal("idle = \"" + key + "\"").find("more dots"), std::string::npos);
}

TEST(config, letters_of_other_alphabets_stand_in_comments_alone) {
  EXPECT_EQ(refusal("echo-port = 7 # \xC3\xA9\xC9\x9B \"\nsrmp-port = 8 # '\xC3\xA9"), "taken");
  EXPECT_EQ(refusal("\xEF\xBB\xBF"
                    "echo-port = 7"),
            "taken");
  EXPECT_EQ(refusal("echo-port = 7\na\xC9\x9B = 1"),
            "a.toml:2:2: a character that is not ASCII stands outside of a comment");
  EXPECT_EQ(refusal("idle = \"#\xC3\xA9\"").rfind("a.toml:1:10: a character", 0), 0u);
  EXPECT_EQ(refusal("idle = \"\\\"#\xC3\xA9\"").rfind("a.toml:1:12: a character", 0), 0u);
}

TEST(config, unknown_keys_are_refused_with_the_nearest_name) {
  EXPECT_EQ(refusal("srmp_port = 1"), "a.toml:1:1: there is no key \"srmp_port\" here [did you mean 'srmp-port'?]");
  EXPECT_EQ(refusal("\n  [limit]\n"), "a.toml:2:4: there is no key \"limit\" here [did you mean 'limits'?]");
  EXPECT_EQ(refusal("[limits]\nneighbors = 5"),
            "a.toml:2:1: there is no key \"neighbors\" here [did you mean 'neighbours'?]");
  EXPECT_EQ(refusal("http3-port = 443").rfind("a.toml:1:1: there is no key \"http3-port\" here [keys here are: ", 0),
            0u)
      << refusal("http3-port = 443");
  EXPECT_EQ(refusal(interface("adress = \"10.0.0.1/8\"")),
            "a.toml:2:1: there is no key \"adress\" here [did you mean 'address'?]");
  EXPECT_EQ(refusal("[srmp.peers]\ngoodbey = true").rfind("a.toml:2:1: there is no key", 0), 0u);
  EXPECT_EQ(refusal(interface("[[interface.route]]\nto = \"10.0.0.0/8\"\nvai = \"10.0.0.1\"")),
            "a.toml:4:1: there is no key \"vai\" here [did you mean 'via'?]");
}

TEST(config, wrong_types_and_values_out_of_range_are_told_at_the_value) {
  EXPECT_EQ(refusal("srmp-port = \"x\""), "a.toml:1:13: srmp-port is a number from 0 to 65535, not \"x\"");
  EXPECT_EQ(refusal("srmp-port = 65536"), "a.toml:1:13: srmp-port is a number from 0 to 65535, not 65536");
  EXPECT_EQ(refusal("srmp-port = -1"), "a.toml:1:13: srmp-port is a number from 0 to 65535, not -1");
  EXPECT_EQ(refusal("srmp-port = 5.5"), "a.toml:1:13: srmp-port is a number from 0 to 65535, not 5.5");
  EXPECT_EQ(refusal("duration = true"),
            "a.toml:1:12: duration is seconds from 0 to 1000000000, like 5 or 0.25, not true");
  EXPECT_EQ(refusal("duration = nan").rfind("a.toml:1:12: duration is seconds", 0), 0u);
  EXPECT_EQ(refusal("duration = inf").rfind("a.toml:1:12: duration is seconds", 0), 0u);
  EXPECT_EQ(refusal("duration = -1").rfind("a.toml:1:12: duration is seconds", 0), 0u);
  EXPECT_EQ(refusal("idle = \"lazy\""), "a.toml:1:8: idle is one of \"poll\", \"pause\", \"adaptive\", not \"lazy\"");
  EXPECT_EQ(refusal("idle = [\"poll\"]"), "a.toml:1:8: idle is one of \"poll\", \"pause\", \"adaptive\", not an array");
  EXPECT_EQ(refusal("limits = 5"), "a.toml:1:10: limits is a table, not 5");
  EXPECT_EQ(refusal("[limits]\nreassembly-bytes = \"64\""),
            "a.toml:2:20: reassembly-bytes is bytes from 65536 to 134217728, like 4096 or \"64K\", not \"64\"");
  EXPECT_EQ(refusal("[limits]\nretransmit = 0").rfind("a.toml:2:14: retransmit is seconds from 0.001 to", 0), 0u);
  EXPECT_EQ(refusal("[limits]\nreachable = nan").rfind("a.toml:2:13: reachable is seconds", 0), 0u);
  EXPECT_EQ(refusal("[loop]\nburst = 0").rfind("a.toml:2:9: burst is a number from 1 to", 0), 0u);
  EXPECT_EQ(refusal("address = \"10.0.0.1\""),
            "a.toml:1:11: address is an address with its prefix like \"198.18.0.1/24\", not \"10.0.0.1\"");
  EXPECT_EQ(refusal("address = [\"10.0.0.1/8\", 7]"),
            "a.toml:1:26: address is an address with its prefix like \"198.18.0.1/24\", not 7");
  EXPECT_EQ(refusal("gateway = \"there\""), "a.toml:1:11: gateway is an address like \"198.18.0.254\", not \"there\"");
  EXPECT_EQ(refusal("lcores = [-1]"), "a.toml:1:11: lcores is numbers from 0 to 1023, not -1");
  EXPECT_EQ(refusal(interface("mac = \"02:00\"")),
            "a.toml:2:7: mac is a MAC address like \"02:00:00:00:00:01\", not \"02:00\"");
  EXPECT_EQ(refusal(interface("mtu = 500")), "a.toml:2:7: mtu is 0, or a number from 576 to 65000, not 500");
  EXPECT_EQ(refusal(interface("vlan = 4095")), "a.toml:2:8: vlan is a number from 0 to 4094, not 4095");
  EXPECT_EQ(refusal(interface("port = \"\"")),
            "a.toml:2:8: port is a port's number, or its name like \"net_tap0\", not \"\"");
  EXPECT_EQ(refusal("[interface]\nport = 0"),
            "a.toml:1:1: interface is an array of tables, not a table [write [[interface]]]");
  EXPECT_EQ(refusal("interface = [1]"), "a.toml:1:14: interface is a table, not 1");
  EXPECT_EQ(refusal(interface("[[interface.route]]\nvia = \"198.18.0.2\"")), "a.toml:2:1: 'to' is missing here");
  EXPECT_EQ(refusal(interface("[[interface.neighbour]]\naddress = \"198.18.0.2\"")),
            "a.toml:2:1: 'mac' is missing here");
}

TEST(config, of_several_mistakes_the_first_in_the_file_is_told) {
  EXPECT_EQ(refusal("srmp-port = 70000\necho-port = 80000\nx = 1\n").rfind("a.toml:1:13: ", 0), 0u);
  EXPECT_EQ(refusal("zzz = 1\necho-port = 80000\n").rfind("a.toml:1:1: ", 0), 0u);
}

TEST(config, addresses_that_no_host_can_have_are_refused) {
  EXPECT_EQ(refusal("address = [\"10.0.0.1/8\",\n \"10.0.0.0/24\"]"),
            "a.toml:2:2: 10.0.0.0/24 is the network itself [give the address of a host in it]");
  EXPECT_EQ(refusal("address = \"10.0.0.255/24\""),
            "a.toml:1:11: 10.0.0.255/24 is the broadcast address of its network [give the address of a host in it]");
  EXPECT_EQ(refusal("address = \"224.0.0.1/24\""), "a.toml:1:11: 224.0.0.1 is no address a host can have");
  EXPECT_EQ(refusal("address = \"127.0.0.1/8\""), "a.toml:1:11: 127.0.0.1 is no address a host can have");
  EXPECT_EQ(refusal("address = \"::/64\""), "a.toml:1:11: :: is no address a host can have");
  EXPECT_EQ(refusal("address = \"10.0.0.1/0\""), "a.toml:1:11: 10.0.0.1/0 makes the whole internet its own network");
  EXPECT_EQ(refusal("address = []"), "a.toml:1:11: the interface has no address");
  EXPECT_EQ(refusal(interface("port = 0") + interface("port = 1")), "a.toml:3:1: the interface has no address");
  EXPECT_EQ(refusal("address = [\"10.0.0.1/8\", \"10.0.0.1/24\"]"),
            "a.toml:1:26: 10.0.0.1 is given twice, before at a.toml:1:12");
  EXPECT_EQ(refusal(interface("address = \"10.0.0.1/8\"") + interface("address = \"10.0.0.1/8\"")),
            "a.toml:4:11: 10.0.0.1 is given twice, before at a.toml:2:11");
  std::string many = "address = [";
  for (int i = 1; i <= 16; ++i) many += "\"10.0.0." + std::to_string(i) + "/24\",";
  EXPECT_EQ(refusal(many + "]"), "a.toml:1:11: more than 15 addresses");
  EXPECT_EQ(refusal("address = [\"10.0.0.0/31\", \"10.0.1.1/32\"]"), "taken");  // RFC 3021
}

TEST(config, ways_out_that_lead_nowhere_are_refused) {
  EXPECT_EQ(refusal("gateway = \"10.0.0.1\""),
            "a.toml:1:11: gateway 10.0.0.1 cannot be reached: it is on none of the interface's networks "
            "[these are 198.18.0.0/24, 2001:db8:18::/64]");
  EXPECT_EQ(refusal("gateway = \"198.18.0.1\""), "a.toml:1:11: gateway 198.18.0.1 is this interface's own address");
  EXPECT_EQ(refusal("gateway = [\"198.18.0.2\", \"198.18.0.3\"]"),
            "a.toml:1:26: gateway 198.18.0.3: there is one to the same prefix, at a.toml:1:12");
  EXPECT_EQ(refusal("gateway = \"224.0.0.1\""), "a.toml:1:11: gateway 224.0.0.1 is no address a router can have");
  EXPECT_EQ(refusal("gateway = [\"198.18.0.2\", \"fe80::1\"]"), "taken");
  EXPECT_EQ(refusal(interface("route = [{ to = \"10.0.0.1/8\", via = \"198.18.0.2\" }]")),
            "a.toml:2:10: route 10.0.0.1/8 has bits behind its prefix [write 10.0.0.0/8]");
  EXPECT_EQ(refusal(interface("route = [{ to = \"10.0.0.0/8\", via = \"fe80::1\" }]")),
            "a.toml:2:10: route 10.0.0.0/8: gateway fe80::1 is of another IP version");
  EXPECT_EQ(refusal(interface("route = [{ to = \"0.0.0.0/0\" }]")),
            "a.toml:2:10: route 0.0.0.0/0 puts the whole internet on the link [give it a 'via']");
  std::string many = "route = [";
  for (int i = 0; i < 61; ++i) many += "{ to = \"10.0." + std::to_string(i) + ".0/24\" },";
  EXPECT_EQ(refusal(interface(many + "]")), "a.toml:2:9: more than 64 routes, with those of the addresses");
}

TEST(config, neighbours_are_stations_on_the_link) {
  const auto neighbour = [](const char* address, const char* mac) {
    return interface("neighbour = [{ address = \"" + std::string(address) + "\", mac = \"" + mac + "\" }]");
  };
  EXPECT_EQ(refusal(neighbour("198.18.0.9", "02:00:00:00:00:01")), "taken");
  EXPECT_EQ(refusal(neighbour("198.18.1.9", "02:00:00:00:00:01"))
                .rfind("a.toml:2:14: neighbour 198.18.1.9 is on none of the interface's networks", 0),
            0u);
  EXPECT_EQ(refusal(neighbour("198.18.0.1", "02:00:00:00:00:01")),
            "a.toml:2:14: neighbour 198.18.0.1 is this interface's own address");
  EXPECT_EQ(refusal(neighbour("198.18.0.9", "01:00:00:00:00:01")),
            "a.toml:2:14: neighbour 198.18.0.9: 01:00:00:00:00:01 is no MAC address a station can have");
  EXPECT_EQ(refusal(interface("[[interface.neighbour]]\naddress = \"198.18.0.9\"\nmac = \"02:00:00:00:00:01\"\n"
                              "[[interface.neighbour]]\naddress = \"198.18.0.9\"\nmac = \"02:00:00:00:00:02\"")),
            "a.toml:5:1: neighbour 198.18.0.9 is given twice, before at a.toml:2:1");
}

TEST(config, what_contradicts_itself_is_refused) {
  EXPECT_EQ(refusal("srmp-port = 7\necho-port = 7"), "a.toml:2:13: UDP port 7 is SRMP's already, at a.toml:1:13");
  EXPECT_EQ(refusal("echo-port = 5500"), "a.toml:1:13: UDP port 5500 is SRMP's already, at a.toml");
  EXPECT_EQ(refusal("srmp-port = 0\necho-port = 0"), "taken");
  EXPECT_EQ(refusal(interface("port = 1") + interface("address = \"10.0.0.1/8\"")),
            "a.toml:3:1: port 1 is taken by the interface at a.toml:1:1");
  EXPECT_EQ(refusal("address = \"10.0.0.1/8\"\n" + interface("port = 1")),
            "a.toml:1:11: address at the top is of the first port, and there are [[interface]] tables "
            "[give it in the [[interface]] that it belongs to]");
  EXPECT_EQ(refusal("[limits]\npending-frames = 4"), "a.toml:2:18: 4 is less than pending-per-neighbour, which is 8");
  EXPECT_EQ(refusal("lcores = [1, 2, 1]"), "a.toml:1:17: lcore 1 is given twice");
  EXPECT_EQ(refusal(interface("mtu = 1000")), "a.toml:2:7: 1000 is less than the 1280 that IPv6 needs");
  EXPECT_EQ(refusal(interface("mtu = 1500") + "[srmp]\nbatch-bytes = 1472"),
            "a.toml:4:15: 1472 bytes with headers are more than the MTU 1500 of a.toml:2:7");
  std::string many;
  for (int i = 0; i < 17; ++i) many += interface("address = \"10." + std::to_string(i) + ".0.1/16\"");
  EXPECT_EQ(refusal(many), "a.toml:33:1: more than 16 interfaces");
}

TEST(config, directories_have_a_place_of_their_own) {
  const test::file_tree disk;
  disk.put("/www/index.html", "");
  const std::string root = "root = \"" + disk.path("/www") + "\"\n";
  const auto at = [&](std::string_view path) {
    return "[[http.directory]]\npath = \"" + std::string(path) + "\"\n" + root;
  };
  const serve_config c = read("[http]\nfiles = 7\nbytes = \"1M\"\npath-bytes = 100\n" + at("/docs") + at("/a b/c"));
  ASSERT_EQ(c.http.directories.size(), 2u);
  EXPECT_EQ(c.http.directories[0].path, "/docs");
  EXPECT_EQ(c.http.directories[0].root, disk.path("/www"));
  EXPECT_EQ(c.http.limits.most_files, 7u);
  EXPECT_EQ(c.http.limits.most_bytes, 1u << 20);
  EXPECT_EQ(c.http.limits.most_path_bytes, 100u);
  EXPECT_EQ(to_toml(read(to_toml(c))), to_toml(c));
  const auto both = directories_of(read("[quic]\n" + root + at("/docs")));
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].path, "/");
  EXPECT_EQ(both[1].path, "/docs");

  EXPECT_EQ(refusal(at("/") + at("/x") + at("/x")), "a.toml:8:8: /x is given twice, before at a.toml:5:8");
  EXPECT_EQ(refusal("[quic]\n" + root + at("/")), "a.toml:4:8: / is the root's already, given at a.toml:2:8");
  EXPECT_EQ(refusal(at("/stats")), "a.toml:2:8: /stats is a built-in endpoint");
  for (const char* path : {"", "docs", "/docs/", "/a/../b", "//a", "/.", "/{name}", "/a/{rest...}", "/a\\\\b"})
    EXPECT_THAT(refusal(at(path)), testing::StartsWith("a.toml:2:8: \"")) << path;
  EXPECT_THAT(refusal(at("docs")), testing::HasSubstr("is no path that a directory can have"));
  EXPECT_EQ(refusal("[[http.directory]]\npath = \"/\"\nroot = \"/nowhere/at/all\""),
            "a.toml:3:8: \"/nowhere/at/all\" is no directory");
  EXPECT_EQ(refusal("[[http.directory]]\npath = \"/\""), "a.toml:1:1: 'root' is missing here");
  EXPECT_EQ(refusal("[[http.directory]]\nroot = \"/\""), "a.toml:1:1: 'path' is missing here");
  EXPECT_EQ(refusal("[[http.directory]]\npath = 1"), "a.toml:1:1: 'root' is missing here");
  EXPECT_THAT(refusal("[[http.directory]]\npaht = \"/\""), testing::HasSubstr("a.toml:1:1"));
  EXPECT_THAT(refusal("[http]\ndirectory = 1"), testing::HasSubstr("a.toml:2:13: directory is an array of tables"));
  EXPECT_THAT(refusal("[http]\nfiles = 0"), testing::StartsWith("a.toml:2:9: files is a number from 1"));
  EXPECT_THAT(refusal("http = 1"), testing::StartsWith("a.toml:1:8: http is a table"));
  std::string many;
  for (int i = 0; i < 65; ++i) many += at("/" + std::to_string(i));
  EXPECT_EQ(refusal(many), "a.toml:193:1: more than 64 directories");
}

TEST(config, every_printed_value_reads_back_as_the_same) {
  const serve_config c = read(R"(
srmp-port = 7000
idle = "pause"
duration = 0.1
lcores = 2
[[interface]]
port = "0000:03:00.0,x"
address = ["10.0.0.1/24", "fd00::1/64"]
route = [{ to = "10.1.0.0/16", via = "10.0.0.253" }, { to = "10.2.0.0/16" }, { to = "0.0.0.0/0", via = "10.0.0.9" }]
neighbour = [{ address = "10.0.0.2", mac = "02:00:00:00:00:02" }]
vlan = 7
mtu = 1400
mac = "02:00:00:00:00:01"
[[interface]]
port = 7_0
address = "172.16.0.1/12"
  )");
  const std::string text = to_toml(c);
  EXPECT_EQ(to_toml(read(text)), text);
}

// Each key alone is set to another value than its default, printed, and read back.
TEST(config, no_key_is_forgotten_by_the_printer_or_the_reader) {
  const auto sections = [](serve_config& c) {
    return std::vector<std::pair<std::string, config_keys>>{{"", top_keys(c)},
                                                            {"[[interface]]", interface_keys(c.interfaces[0])},
                                                            {"[srmp]", srmp_keys(c.srmp)},
                                                            {"[srmp.peers]", peer_keys(c.srmp.peers)},
                                                            {"[rpc]", rpc_keys(c.srmp.rpc)},
                                                            {"[http]", http_keys(c.http)},
                                                            {"[limits]", limit_keys(c.limits)},
                                                            {"[loop]", loop_keys(c.loop)},
                                                            {"[pool]", pool_keys(c.pool)}};
  };
  serve_config plain = default_config();
  std::size_t seen = 0;
  const auto rows_of_plain = sections(plain);
  for (std::size_t s = 0; s < rows_of_plain.size(); ++s) {
    const auto& [heading, rows] = rows_of_plain[s];
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::string text;
      for (const char* other :
           {"1", "2", "2000", "true", "false", "\"echo\"", "\"poll\"", "100000", "\"02:00:00:00:00:07\""}) {
        text = heading + "\n" + std::string(rows[i].name) + " = " + other + "\n";
        auto got = parse_config(text, "a.toml");
        if (!got || to_toml(got.value().config) == to_toml(plain)) continue;
        const std::string printed = to_toml(got.value().config);
        auto again = parse_config(printed, "b.toml");
        ASSERT_TRUE(again) << printed << again.error().what;
        EXPECT_EQ(to_toml(again.value().config), printed) << text;
        EXPECT_EQ(sections(again.value().config)[s].second[i].print(),
                  sections(got.value().config)[s].second[i].print())
            << text;
        ++seen;
        text.clear();
        break;
      }
      EXPECT_TRUE(text.empty()) << "no value changes " << heading << " " << rows[i].name;
    }
  }
  EXPECT_GT(seen, 50u);
}

TEST(config, the_documentation_has_every_key) {
  std::ifstream page(std::string(std::getenv("MILLRACE_SOURCE")) + "/docs/configuration.md");
  ASSERT_TRUE(page.is_open());
  const std::string text((std::istreambuf_iterator<char>(page)), {});
  serve_config c = default_config();
  for (const config_keys& rows :
       {top_keys(c), interface_keys(c.interfaces[0]), srmp_keys(c.srmp), peer_keys(c.srmp.peers), rpc_keys(c.srmp.rpc),
        quic_keys(c.quic), http_keys(c.http), limit_keys(c.limits), loop_keys(c.loop), pool_keys(c.pool)})
    for (const config_key& row : rows)
      EXPECT_NE(text.find("| `" + std::string(row.name) + "` | "), std::string::npos) << row.name;
}

TEST(config, files_that_cannot_be_read_say_why) {
  const test::file_tree files;
  EXPECT_EQ(read_config("/nowhere/a.toml").error().what, "/nowhere/a.toml: cannot be read: No such file or directory");
  EXPECT_EQ(read_config("/tmp").error().what, "/tmp: a directory, not a configuration");
  const std::string path = files.path("/long.toml");
  std::ofstream(path) << std::string((1 << 20) + 1, '#');
  EXPECT_EQ(read_config(path).error().what, path + ": cannot be read: longer than 1 MiB");
  const std::string good = files.path("/good.toml");
  std::ofstream(good) << "srmp-port = 1\n";
  ASSERT_TRUE(read_config(good));
  EXPECT_EQ(read_config(good).value().config.srmp.port, 1);
}

TEST(config_spelling, prefixes_and_macs_are_read_strictly) {
  for (const char* bad : {"", "/", "10.0.0.1", "10.0.0.1/", "10.0.0.1/33", "10.0.0.1/-1", "10.0.0.1/+8", "10.0.0.1/8 ",
                          "::1/129", "1/8", "10.0.0.1/0x8", "10.0.0.1/8/8", "10.0.0.1/99999999999"})
    EXPECT_FALSE(parse_cidr(bad)) << bad;
  EXPECT_EQ(to_text(*parse_cidr("10.9.8.7/8")), "10.9.8.7/8");
  EXPECT_EQ(to_text(*parse_cidr("2001:DB8::1/128")), "2001:db8::1/128");
  for (const char* bad : {"", "02:00:00:00:00", "02-00-00-00-00-01", "02:00:00:00:00:0g", "02:00:00:00:00:011"})
    EXPECT_FALSE(parse_mac(bad)) << bad;
}

TEST(config_origins, answer_with_the_nearest_place_above) {
  config_origins o;
  EXPECT_EQ(o.of("a.b"), "the default configuration");
  o.set("", "f");
  o.set("a", "f:1:1");
  o.set("a.b.0", "f:2:2");
  EXPECT_EQ(o.of("a.b.0"), "f:2:2");
  EXPECT_EQ(o.of("a.b.1"), "f:1:1");
  EXPECT_EQ(o.of("ab"), "f");
  o.erase("a.b");
  EXPECT_EQ(o.of("a.b.0"), "f:1:1");
}

}  // namespace
}  // namespace millrace::app
