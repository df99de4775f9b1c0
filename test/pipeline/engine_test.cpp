#include "pipeline/engine.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <deque>
#include <set>
#include <thread>

#include "env/lcore.hpp"
#include "port/crossed_rings.hpp"
#include "port/vdev.hpp"
#include "support/eal_main.hpp"
#include "support/frames.hpp"
#include "support/packets.hpp"

namespace millrace::pipeline {
namespace {

using stats::drop_reason;
using test::byte_list;
using test::checked_pool;
using test::frame_of;
using test::packet_of;
using test::udp_frame;

// Ports of hot-plugged vdevs, a pool that must be whole at the end, and frames to send.
class rig {
  std::deque<port::vdev> devices_;

 public:
  checked_pool pool;
  std::deque<port::port> ports;
  frame_set frames;

  explicit rig(std::uint32_t packets = 8191) : pool(packets) {
    for (std::size_t i = 0; i < 10; ++i) EXPECT_TRUE(frames.add(udp_frame(20 + 10 * i)));
  }
  // A number goes behind the name: a net_ring's rings outlive it, and the next of its name would get them.
  void attach(const std::string& name, const std::string& arguments = "", std::uint16_t queues = 1) {
    static unsigned attached = 0;
    auto device = port::vdev::attach(name + std::to_string(attached++), arguments);
    ASSERT_TRUE(device) << device.error().what;
    devices_.push_back(std::move(device.value()));
    open(devices_.back().port_id(), queues);
  }
  void open(std::uint16_t id, std::uint16_t queues = 1) {
    auto facts = port::read_facts(id);
    ASSERT_TRUE(facts);
    auto plan = port::make_plan({&facts.value(), 1}, {.rxq = queues, .txq = queues});
    ASSERT_TRUE(plan) << plan.error().what;
    auto opened = port::port::open(plan.value().ports[0], *pool);
    ASSERT_TRUE(opened) << opened.error().what;
    ASSERT_TRUE(opened.value().start());
    ports.push_back(std::move(opened.value()));
  }
  [[nodiscard]] engine make(const engine_settings& settings) {
    std::vector<const port::port*> pointers;
    for (const port::port& p : ports) pointers.push_back(&p);
    auto made = engine::make(settings, pointers, *pool, frames);
    if (!made) ADD_FAILURE() << made.error().what;
    return std::move(made.value());
  }
};

engine_settings settings_of(forward_mode mode) {
  engine_settings settings;
  settings.work.mode = mode;
  settings.work.idle = idle_policy::poll;
  return settings;
}

void expect_balance(engine& e) {
  e.stop();
  e.drain();
  EXPECT_TRUE(e.total().is_conserved()) << "rx " << e.total()[count::rx_pkts] << " originated "
                                        << e.total()[count::originated_pkts] << " tx " << e.total()[count::tx_pkts]
                                        << " held " << e.total()[count::held_pkts] << " dropped "
                                        << e.total().dropped();
}

class every_mode : public testing::TestWithParam<std::tuple<forward_mode, bool>> {};

TEST_P(every_mode, accounts_for_every_packet_on_two_rings) {
  const auto [mode, exact] = GetParam();
  rig r;
  r.attach("net_ring_em");
  r.attach("net_ring_em");
  engine_settings settings = settings_of(mode);
  settings.work.exact_cycles = exact;
  engine e = r.make(settings);
  const seeded seeds = e.seed(3);
  EXPECT_EQ(seeds.made, 3u * 32 * 2);
  EXPECT_EQ(seeds.queued, seeds.made);
  for (int i = 0; i < 20; ++i) e.turn();
  const figures f = e.of_worker(0);
  if (forwards(mode)) {
    EXPECT_EQ(f[count::rx_pkts], f[count::tx_pkts]);
    EXPECT_EQ(f[count::rx_pkts], std::uint64_t{20} * worker::passes_per_slice * 2 * 32);  // full bursts, every pass
    EXPECT_EQ(f[count::rx_bursts], std::uint64_t{20} * worker::passes_per_slice * 2);
    EXPECT_EQ(f.dropped(), 0u);
  }
  if (counts_bytes(mode) && receives(mode)) {
    EXPECT_GT(f[count::rx_bytes], 0u);
  }
  if (mode == forward_mode::rxonly) {
    EXPECT_EQ(f.dropped(drop_reason::rx_only), seeds.made);
  }
  if (generates(mode)) {
    EXPECT_GT(f[count::originated_pkts], 1000u);
  }
  if (mode == forward_mode::txonly) {  // nobody receives
    EXPECT_GT(f.dropped(drop_reason::tx_ring_full), 0u);
  }
  if (mode == forward_mode::parse) {
    std::uint64_t classes = 0;
    for (const std::uint64_t n : f.classes) classes += n;
    EXPECT_EQ(classes, f[count::rx_pkts]);
    EXPECT_EQ(f.classes[static_cast<std::size_t>(traffic_class::udp)], f[count::rx_pkts]);
  }
  EXPECT_GT(f[count::measured_cycles], 0u);
  if (mem::heap_counter_present()) {
    EXPECT_EQ(f.heap_calls, 0u);
  }
  expect_balance(e);
  if (forwards(mode)) {
    EXPECT_EQ(e.total()[count::held_pkts], seeds.made);
  }
}

INSTANTIATE_TEST_SUITE_P(modes, every_mode,
                         testing::Combine(testing::Values(forward_mode::io, forward_mode::mac, forward_mode::macswap,
                                                          forward_mode::rxonly, forward_mode::txonly,
                                                          forward_mode::flowgen, forward_mode::parse),
                                          testing::Bool()),
                         [](const auto& instance) {
                           return std::string(to_string(std::get<0>(instance.param))) +
                                  (std::get<1>(instance.param) ? "_exact" : "_sampled");
                         });

TEST(forward_mode, is_written_as_it_is_read) {
  for (const auto& [mode, name] : forward_modes) EXPECT_EQ(parse_forward_mode(name), mode);
  EXPECT_EQ(parse_forward_mode("rx"), std::nullopt);
}

TEST(engine, forwards_on_null_devices_and_gives_every_packet_back) {
  for (const forward_mode mode :
       {forward_mode::io, forward_mode::macswap, forward_mode::rxonly, forward_mode::txonly, forward_mode::flowgen}) {
    rig r;
    r.attach("net_null_eng", "size=64");
    r.attach("net_null_eng", "size=64");
    engine e = r.make(settings_of(mode));
    for (int i = 0; i < 5; ++i) e.turn();
    EXPECT_GT(e.total()[count::rx_pkts] + e.total()[count::originated_pkts], 0u);
    EXPECT_EQ(e.drain(), 0u);
    expect_balance(e);
    r.ports.clear();
    EXPECT_TRUE(r.pool->is_whole()) << to_string(mode);
  }
}

// Engine on one end of crossed rings, the test at the other.
struct far_end {
  rig r;
  port::crossed_rings pair;
  explicit far_end(std::uint16_t queues = 1, unsigned slots = 1024)
      : pair([&] {
          auto made = port::crossed_rings::make("far", queues, slots);
          if (!made) ADD_FAILURE() << made.error().what;
          return std::move(made.value());
        }()) {
    r.open(pair.first(), queues);
    r.open(pair.second(), queues);
  }
  ~far_end() { r.ports.clear(); }
  [[nodiscard]] engine make(engine_settings settings) {
    settings.topology = port::topology::loop;
    const port::port* one = &r.ports[0];
    auto made = engine::make(settings, {&one, 1}, *r.pool, r.frames);
    if (!made) ADD_FAILURE() << made.error().what;
    return std::move(made.value());
  }
  void send(base::byte_view frame, std::uint16_t queue = 0) {
    buf::burst out;
    ASSERT_TRUE(out.push(packet_of(*r.pool, frame)));
    ASSERT_EQ(port::tx_burst(pair.second(), queue, out), 1u);
  }
  std::vector<byte_list> receive(std::uint16_t queue = 0) {
    std::vector<byte_list> all;
    buf::burst in;
    while (port::rx_burst(pair.second(), queue, in, 32) != 0) {
      for (unsigned i = 0; i < in.size(); ++i) all.emplace_back(in.first(i).begin(), in.first(i).end());
      in.free_all();
    }
    return all;
  }
};

TEST(engine, changes_addresses_as_the_mode_says) {
  const byte_list sent = udp_frame();
  for (const forward_mode mode : {forward_mode::io, forward_mode::macswap, forward_mode::mac}) {
    far_end far;
    engine e = far.make(settings_of(mode));
    far.send(sent);
    e.turn();
    byte_list expected = sent;
    if (mode == forward_mode::macswap) std::swap_ranges(expected.begin(), expected.begin() + 6, expected.begin() + 6);
    if (mode == forward_mode::mac) {
      const byte_list peer = {2, 0, 0, 0, 0, static_cast<std::uint8_t>(far.pair.first())};
      std::copy(peer.begin(), peer.end(), expected.begin());
      const port::mac_address own = far.r.ports[0].facts().mac;
      std::copy(own.begin(), own.end(), expected.begin() + 6);
    }
    EXPECT_EQ(far.receive(), std::vector<byte_list>{expected}) << to_string(mode);
    expect_balance(e);
  }
}

TEST(engine, drops_malformed_frames_in_parse_mode_and_forwards_the_rest_in_order) {
  far_end far;
  engine e = far.make(settings_of(forward_mode::parse));
  byte_list bad_ip = udp_frame();
  bad_ip[14] = 0x43;
  byte_list bad_sum = udp_frame();
  bad_sum.back() ^= 0xFF;
  byte_list short_udp = udp_frame();
  short_udp[14 + 20 + 5] = 3;
  const byte_list quic = frame_of({.dst_port = 443}, test::quic_initial());
  const byte_list srmp = frame_of({.dst_port = 5500}, test::srmp_payload());
  for (const byte_list& frame : {quic, bad_ip, byte_list(9, 0), srmp, bad_sum, short_udp, udp_frame()}) far.send(frame);
  e.turn();
  EXPECT_EQ(far.receive(), (std::vector<byte_list>{quic, srmp, udp_frame()}));
  const figures f = e.total();
  EXPECT_EQ(f.dropped(drop_reason::ip_bad_header_length), 1u);
  EXPECT_EQ(f.dropped(drop_reason::l2_truncated), 1u);
  EXPECT_EQ(f.dropped(drop_reason::udp_bad_checksum), 1u);
  EXPECT_EQ(f.dropped(drop_reason::udp_bad_length), 1u);
  EXPECT_EQ(f.dropped(), 4u);
  EXPECT_EQ(f.classes[static_cast<std::size_t>(traffic_class::quic_initial)], 1u);
  EXPECT_EQ(f.classes[static_cast<std::size_t>(traffic_class::srmp)], 1u);
  EXPECT_EQ(f[count::tx_bytes], quic.size() + srmp.size() + udp_frame().size());
  expect_balance(e);
}

TEST(engine, drops_what_a_full_ring_refuses_after_bounded_retries) {
  far_end far(1, 64);  // holds 63
  engine_settings settings = settings_of(forward_mode::io);
  settings.work.tx_retries = 3;
  engine e = far.make(settings);
  for (int i = 0; i < 63; ++i) far.send(udp_frame());
  e.turn();
  for (int i = 0; i < 20; ++i) far.send(udp_frame());  // the other direction has no room left for these
  e.turn();
  const figures f = e.total();
  EXPECT_EQ(f[count::rx_pkts], 83u);
  EXPECT_EQ(f[count::tx_pkts], 63u);
  EXPECT_EQ(f.dropped(drop_reason::tx_ring_full), 20u);
  EXPECT_EQ(f[count::tx_retries], 3u);
  EXPECT_EQ(far.receive().size(), 63u);
  far.send(udp_frame());
  e.turn();
  EXPECT_EQ(far.receive().size(), 1u);  // and it goes on
  expect_balance(e);
}

TEST(engine, counts_seeds_that_did_not_fit) {
  rig r;
  r.attach("net_ring_seed");
  engine e = r.make(settings_of(forward_mode::io));
  const seeded seeds = e.seed(40);  // 1280 into a ring of 1023
  EXPECT_EQ(seeds.made, 1280u);
  EXPECT_EQ(seeds.queued, 1023u);
  EXPECT_EQ(e.total().dropped(drop_reason::tx_ring_full), 257u);
  e.turn();
  expect_balance(e);
  EXPECT_EQ(e.total()[count::held_pkts], 1023u);
}

TEST(engine, goes_on_when_the_pool_is_empty) {
  rig r(64);
  r.attach("net_ring_empty");
  engine e = r.make(settings_of(forward_mode::txonly));
  e.turn();
  EXPECT_GT(e.total()[count::ungenerated_pkts], 0u);
  EXPECT_GT(r.pool->refused(), 0u);
  EXPECT_EQ(e.total()[count::tx_pkts], 64u);
  expect_balance(e);
}

TEST(engine, sends_many_flows_in_flowgen) {
  far_end far;
  far.r.frames = {};
  ASSERT_TRUE(far.r.frames.add(udp_frame()));
  engine_settings settings = settings_of(forward_mode::flowgen);
  settings.flows = 500;
  engine e = far.make(settings);
  e.turn();
  const std::vector<byte_list> got = far.receive();
  std::set<std::string> distinct;
  for (const byte_list& frame : got) distinct.emplace(frame.begin(), frame.end());
  EXPECT_GE(got.size(), 1000u);
  EXPECT_EQ(distinct.size(), 500u);
  expect_balance(e);
}

TEST(engine, refuses_what_cannot_run) {
  rig r;
  r.attach("net_ring_refuse");
  const port::port* one = &r.ports[0];
  const std::span<const port::port* const> ports(&one, 1);
  EXPECT_FALSE(engine::make(settings_of(forward_mode::io), {}, *r.pool, r.frames));
  engine_settings wide = settings_of(forward_mode::io);
  wide.work.burst_pkts = buf::burst::capacity + 1;
  EXPECT_FALSE(engine::make(wide, ports, *r.pool, r.frames));
  EXPECT_FALSE(engine::make(settings_of(forward_mode::txonly), ports, *r.pool, {}));
  frame_set jumbo;
  ASSERT_TRUE(jumbo.add(byte_list(3000, 1)));
  EXPECT_FALSE(engine::make(settings_of(forward_mode::io), ports, *r.pool, jumbo));
}

TEST(engine, serves_every_queue_of_every_port) {
  far_end far(4);
  engine e = far.make(settings_of(forward_mode::io));
  for (std::uint16_t q = 0; q < 4; ++q)
    for (std::uint16_t i = 0; i <= q; ++i) far.send(udp_frame(20 + q), q);
  e.turn();
  for (std::uint16_t q = 0; q < 4; ++q) {
    const std::vector<byte_list> got = far.receive(q);
    EXPECT_EQ(got.size(), q + 1u);
    for (const byte_list& frame : got) EXPECT_EQ(frame, udp_frame(20 + q));
  }
  expect_balance(e);
}

class on_lcores : public testing::TestWithParam<unsigned> {};

TEST_P(on_lcores, runs_until_stopped_and_balances) {
  const std::vector<unsigned> all = env::worker_lcores();
  const unsigned wanted = GetParam();
  if (all.size() < wanted) GTEST_SKIP() << all.size() << " worker lcores";
  rig r;
  for (int i = 0; i < 4; ++i) r.attach("net_ring_lc", "", 2);
  engine_settings settings = settings_of(forward_mode::macswap);
  settings.work.idle = idle_policy::adaptive;
  settings.lcores.assign(all.begin(), all.begin() + wanted);
  engine e = r.make(settings);
  ASSERT_EQ(e.workers(), wanted);
  const seeded seeds = e.seed(4);
  ASSERT_TRUE(e.start());
  // On a busy machine one worker may see all of these before the next one runs at all: each is waited for.
  const auto idle_worker = [&] {
    for (std::size_t i = 0; i < wanted; ++i)
      if (e.of_worker(i)[count::rx_pkts] == 0) return true;
    return false;
  };
  while (e.total()[count::rx_pkts] < 20'000 || idle_worker()) std::this_thread::yield();
  e.stop();
  for (std::size_t i = 0; i < wanted; ++i) {
    if (mem::heap_counter_present()) {
      EXPECT_EQ(e.of_worker(i).heap_calls, 0u);
    }
  }
  expect_balance(e);
  EXPECT_EQ(e.total()[count::held_pkts] + e.total().dropped(), seeds.made);
}

INSTANTIATE_TEST_SUITE_P(counts, on_lcores, testing::Values(1u, 2u, 3u));

TEST(engine, leaves_lcores_without_a_stream_alone) {
  const std::vector<unsigned> all = env::worker_lcores();
  ASSERT_GE(all.size(), 2u);
  rig r;
  r.attach("net_ring_single");
  engine_settings settings = settings_of(forward_mode::io);
  settings.lcores = all;
  engine e = r.make(settings);
  e.seed(1);
  ASSERT_TRUE(e.start());
  while (e.total()[count::rx_pkts] < 1000) std::this_thread::yield();
  EXPECT_NE(e.describe().find("nothing to do"), std::string::npos);
  expect_balance(e);
}

TEST(engine, a_signal_during_the_run_loses_nothing) {
  static std::atomic<bool> signalled{false};
  signalled = false;
  std::signal(SIGTERM, [](int) { signalled = true; });
  rig r;
  r.attach("net_ring_sig");
  engine_settings settings = settings_of(forward_mode::parse);
  settings.lcores = {env::worker_lcores().at(0)};
  engine e = r.make(settings);
  e.seed(2);
  ASSERT_TRUE(e.start());
  std::thread sender([&] {
    while (e.total()[count::rx_pkts] < 1000) std::this_thread::yield();
    ::kill(::getpid(), SIGTERM);
  });
  while (!signalled.load()) std::this_thread::yield();
  sender.join();
  std::signal(SIGTERM, SIG_DFL);
  expect_balance(e);
  EXPECT_EQ(e.total()[count::held_pkts], 64u);
}

}  // namespace
}  // namespace millrace::pipeline

// Four lcores on whatever CPUs there are: the test is about who does what, not about speed.
MILLRACE_EAL_TEST_MAIN("-m", "128", "--lcores", "(0-3)@(0-1)")
