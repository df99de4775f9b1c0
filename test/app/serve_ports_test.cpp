// Which ports and lcores a configuration means: by number or name, as many loops as queues allow.
#include "app/serve_ports.hpp"

#include <gtest/gtest.h>

namespace millrace::app {
namespace {

port::port_facts a_port(std::uint16_t id, std::string name, std::uint16_t queues = 4) {
  port::port_facts p;
  p.id = id;
  p.name = std::move(name);
  p.driver = "net_x";
  p.max_rxq = p.max_txq = queues;
  p.max_mtu = 9000;
  return p;
}

struct machine {
  std::vector<port::port_facts> ports = {a_port(0, "net_tap0"), a_port(1, "0000:03:00.0")};
  std::vector<port::worker_place> workers = {{1, -1}, {2, -1}, {3, -1}};
  port::worker_place main{0, -1};

  [[nodiscard]] base::result<serve_plan> plan(std::string_view text) const {
    auto read = parse_config(text, "a.toml");
    EXPECT_TRUE(read) << (read ? "" : read.error().what);
    return plan_serve(read.value().config, read.value().origins, ports, workers, main);
  }
  [[nodiscard]] serve_plan must(std::string_view text) const {
    auto made = plan(text);
    EXPECT_TRUE(made) << (made ? "" : made.error().what);
    return made ? std::move(made.value()) : serve_plan{};
  }
  [[nodiscard]] std::string refusal(std::string_view text) const {
    const auto made = plan(text);
    if (made) return "taken";
    EXPECT_TRUE(made.error().unusable);
    return made.error().what + " [" + made.error().hint + "]";
  }
};

TEST(serve_ports, without_a_word_the_first_port_and_every_worker_serve) {
  const serve_plan p = machine{}.must("");
  ASSERT_EQ(p.ports.ports.size(), 1u);
  EXPECT_EQ(p.ports.ports[0].facts.name, "net_tap0");
  EXPECT_EQ(p.ports.ports[0].rxq, 3);
  EXPECT_EQ(p.ports.ports[0].txq, 3);
  EXPECT_EQ(p.lcores, (std::vector<unsigned>{1, 2, 3}));
  EXPECT_EQ(p.unused, std::vector<std::string>{"0000:03:00.0"});
}

TEST(serve_ports, ports_are_named_or_numbered_in_any_order_and_keep_their_own_mtu) {
  const serve_plan p = machine{}.must(
      "[[interface]]\nport = \"0000:03:00.0\"\nmtu = 9000\n[[interface]]\nport = 0\naddress = \"10.0.0.1/8\"\n");
  ASSERT_EQ(p.ports.ports.size(), 2u);
  EXPECT_EQ(p.ports.ports[0].facts.id, 1);
  EXPECT_EQ(p.ports.ports[0].mtu, 9000);
  EXPECT_EQ(p.ports.ports[1].facts.id, 0);
  EXPECT_EQ(p.ports.ports[1].mtu, 0);
  EXPECT_GE(p.ports.pool.data_room, 9000 + 14);
  EXPECT_TRUE(p.unused.empty());
}

TEST(serve_ports, what_is_not_there_is_refused_with_what_is) {
  const machine m;
  EXPECT_EQ(m.refusal("[[interface]]\nport = 7\n"),
            "a.toml:2:8: there is no port 7 [ports are: 0 net_tap0, 1 0000:03:00.0]");
  EXPECT_EQ(m.refusal("[[interface]]\nport = \"net_tap1\"\n"),
            "a.toml:2:8: there is no port net_tap1 [ports are: 0 net_tap0, 1 0000:03:00.0]");
  EXPECT_EQ(m.refusal("[[interface]]\nport = 0\n[[interface]]\nport = \"net_tap0\"\naddress = \"10.0.0.1/8\"\n"),
            "a.toml:4:8: port net_tap0 is port 0 net_tap0, which another interface has []");
  EXPECT_EQ(m.refusal("lcores = [1, 9]"), "a.toml:1:14: lcore 9 is none of EAL's [worker lcores are: 1, 2, 3]");
  EXPECT_EQ(m.refusal("lcores = [0]"),
            "a.toml:1:11: lcore 0 is the main lcore, which is control plane [worker lcores are: 1, 2, 3]");
  EXPECT_EQ(m.refusal("[[interface]]\nmtu = 20000\n"), "net_tap0 takes an MTU from 0 to 9000, not 20000 []");
}

TEST(serve_ports, the_configuration_chooses_among_the_lcores) {
  const serve_plan p = machine{}.must("lcores = [3, 1]");
  EXPECT_EQ(p.lcores, (std::vector<unsigned>{3, 1}));
  EXPECT_EQ(p.ports.ports[0].rxq, 2);
}

TEST(serve_ports, a_lone_lcore_does_everything_itself) {
  machine m;
  m.workers.clear();
  const serve_plan p = m.must("");
  EXPECT_TRUE(p.lcores.empty());
  EXPECT_EQ(p.ports.ports[0].rxq, 1);
  EXPECT_TRUE(m.must("lcores = [0]").lcores.empty());
  EXPECT_EQ(m.refusal("lcores = [1]"),
            "a.toml:1:10: lcore 0 alone was given to EAL [give EAL more, for example -l 0-3]");
}

TEST(serve_ports, the_port_with_the_fewest_queues_decides_how_many_loops_there_are) {
  machine m;
  m.ports[1].max_rxq = 1;
  const serve_plan p = m.must("[[interface]]\nport = 0\n[[interface]]\nport = 1\naddress = \"10.0.0.1/8\"\n");
  EXPECT_EQ(p.lcores, std::vector<unsigned>{1});
  EXPECT_EQ(p.ports.ports[0].rxq, 1);
  ASSERT_FALSE(p.ports.warnings.empty());
  EXPECT_EQ(p.ports.warnings.back(), "0000:03:00.0 has 1 queue: of 3 worker lcores 2 will be idle");
}

TEST(serve_ports, checksums_are_left_to_ports_that_can_unless_it_is_forbidden) {
  machine m;
  m.ports[0].can.tx_udp_checksum = m.ports[0].can.tx_ipv4_checksum = m.ports[0].can.rx_udp_checksum = true;
  EXPECT_TRUE(m.must("").ports.ports[0].use.tx_udp_checksum);
  EXPECT_TRUE(m.must("").ports.ports[0].use.rx_udp_checksum);
  EXPECT_FALSE(m.must("[pool]\nchecksum-offload = false").ports.ports[0].use.tx_udp_checksum);
  EXPECT_FALSE(m.must("[pool]\nchecksum-offload = false").ports.ports[0].use.rx_udp_checksum);
}

TEST(serve_ports, expected_memory_covers_the_pool_and_grows_with_lcores_and_limits) {
  const serve_config plain = default_config();
  const std::size_t one = expected_memory(plain, {"-l", "0,1"});
  EXPECT_GE(one, mem::estimated_bytes({.packets = 2048}) + plain.limits.reassembly_bytes);
  EXPECT_GT(expected_memory(plain, {"-l", "0-4"}), one + 3 * plain.limits.reassembly_bytes);
  serve_config large = plain;
  large.limits.reassembly_bytes = 128u << 20;
  EXPECT_GE(expected_memory(large, {"-l", "0,1"}), one + (127u << 20));
}

}  // namespace
}  // namespace millrace::app
