#include "port/port.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "env/lcore.hpp"
#include "port/crossed_rings.hpp"
#include "port/vdev.hpp"
#include "support/eal_main.hpp"
#include "support/packets.hpp"

namespace millrace::port {
namespace {

using test::checked_pool;
using test::counting_bytes;
using test::packet_of;

port must_open(std::uint16_t id, mem::packet_pool& pool, const plan_request& wish = {}) {
  auto facts = read_facts(id);
  EXPECT_TRUE(facts);
  auto planned = make_plan({&facts.value(), 1}, wish);
  EXPECT_TRUE(planned);
  auto opened = port::open(planned.value().ports[0], pool);
  if (!opened) ADD_FAILURE() << opened.error().what;
  EXPECT_TRUE(opened.value().start());
  return std::move(opened.value());
}

TEST(port, tells_its_driver_and_limits) {
  const auto ring = vdev::attach("net_ring_facts", "");
  ASSERT_TRUE(ring) << ring.error().what;
  const auto facts = read_facts(ring.value().port_id());
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts.value().driver, "net_ring");
  EXPECT_EQ(facts.value().name, "net_ring_facts");
  EXPECT_EQ(facts.value().max_rxq, 16);
  EXPECT_TRUE(facts.value().is_software_ring());
  EXPECT_FALSE(facts.value().counts_bytes());
  const auto all = discover();
  ASSERT_TRUE(all);
  EXPECT_FALSE(all.value().empty());
  EXPECT_FALSE(read_facts(200));
}

TEST(port, a_single_ring_hands_back_the_very_packet) {
  auto ring = vdev::attach("net_ring_loop", "");
  ASSERT_TRUE(ring);
  checked_pool pool;
  port looped = must_open(ring.value().port_id(), *pool);
  EXPECT_TRUE(looped.link().up);
  buf::burst out;
  ASSERT_TRUE(out.push(packet_of(*pool, counting_bytes(60))));
  const void* bytes = out.first(0).data();
  EXPECT_EQ(tx_burst(looped.id(), 0, out), 1u);
  EXPECT_TRUE(out.empty());
  buf::burst in;
  ASSERT_EQ(rx_burst(looped.id(), 0, in, 32), 1u);
  EXPECT_EQ(in.first(0).data(), bytes);
  EXPECT_EQ(rx_burst(looped.id(), 0, in, 32), 0u);
  EXPECT_EQ(looped.stats().rx_packets, 1u);
  EXPECT_EQ(looped.stats().tx_packets, 1u);
}

TEST(port, a_full_ring_leaves_the_rest_to_the_caller) {
  auto ring = vdev::attach("net_ring_full", "");
  ASSERT_TRUE(ring);
  checked_pool pool(2047);
  port looped = must_open(ring.value().port_id(), *pool);
  buf::burst out;
  ASSERT_TRUE(out.fill(*pool, 512));
  EXPECT_EQ(tx_burst(looped.id(), 0, out), 512u);
  ASSERT_TRUE(out.fill(*pool, 512));
  ASSERT_TRUE(out.set_length(511, 99));
  EXPECT_EQ(tx_burst(looped.id(), 0, out), 511u);  // a ring of 1024 holds 1023
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out.length(0), 99u);
  out.free_all();
  while (rx_burst(looped.id(), 0, out, 256) != 0) out.free_all();
  EXPECT_TRUE(pool->is_whole());
}

TEST(crossed_rings, deliver_at_the_other_end_only) {
  checked_pool pool;
  auto pair = crossed_rings::make("xr", 2);
  ASSERT_TRUE(pair) << pair.error().what;
  port a = must_open(pair.value().first(), *pool, {.rxq = 2, .txq = 2});
  port b = must_open(pair.value().second(), *pool, {.rxq = 2, .txq = 2});
  buf::burst out;
  buf::burst in;
  for (std::uint16_t queue = 0; queue < 2; ++queue)
    for (const auto& [from, to] : {std::pair{a.id(), b.id()}, std::pair{b.id(), a.id()}}) {
      ASSERT_TRUE(out.push(packet_of(*pool, counting_bytes(64, static_cast<std::uint8_t>(queue)))));
      ASSERT_EQ(tx_burst(from, queue, out), 1u);
      EXPECT_EQ(rx_burst(from, queue, in, 32), 0u);
      EXPECT_EQ(rx_burst(to, static_cast<std::uint16_t>(1 - queue), in, 32), 0u);
      ASSERT_EQ(rx_burst(to, queue, in, 32), 1u);
      EXPECT_EQ(in.first(0)[0], queue);
      in.free_all();
    }
}

TEST(crossed_rings, free_what_nobody_received_and_can_be_made_again) {
  checked_pool pool;
  for (int round = 0; round < 3; ++round) {
    auto pair = crossed_rings::make("again");
    ASSERT_TRUE(pair) << pair.error().what;
    port a = must_open(pair.value().first(), *pool);
    buf::burst out;
    ASSERT_TRUE(out.fill(*pool, 10));
    ASSERT_EQ(tx_burst(a.id(), 0, out), 10u);
  }
  EXPECT_FALSE(crossed_rings::make("odd", 1, 1000));
}

TEST(port, a_null_device_gives_and_takes_without_end) {
  auto null = vdev::attach("net_null_port", "size=128");
  ASSERT_TRUE(null) << null.error().what;
  checked_pool pool;
  {
    port endless = must_open(null.value().port_id(), *pool);
    buf::burst some;
    ASSERT_EQ(rx_burst(endless.id(), 0, some, 32), 32u);
    EXPECT_EQ(some.length(31), 128u);
    EXPECT_EQ(tx_burst(endless.id(), 0, some), 32u);
  }
  EXPECT_TRUE(pool->is_whole());
}

TEST(vdev, says_what_could_not_be_attached) {
  const auto none = vdev::attach("net_nosuchdriver0", "a=b");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().what.find("net_nosuchdriver0,a=b"), std::string::npos);
}

TEST(lcore, runs_work_on_a_worker_and_joins_it) {
  const std::vector<unsigned> workers = env::worker_lcores();
  if (workers.empty()) GTEST_SKIP() << "one lcore only";
  unsigned where = env::no_lcore;
  ASSERT_TRUE(env::launch(
      workers[0],
      [](void* out) {
        *static_cast<unsigned*>(out) = env::current_lcore();
        return 7;
      },
      &where));
  EXPECT_EQ(env::wait(workers[0]), 7);
  EXPECT_EQ(where, workers[0]);
  EXPECT_FALSE(env::launch(env::main_lcore(), [](void*) { return 0; }, nullptr));
  EXPECT_EQ(env::current_lcore(), env::main_lcore());
}

}  // namespace
}  // namespace millrace::port

// Two lcores that may share a CPU, so that the test runs on a machine of one.
MILLRACE_EAL_TEST_MAIN("-m", "64", "--lcores", "0@0,1@0")
