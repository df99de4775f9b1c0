// Two loops across a pair of crossed rings: a server with its host on one end, a client with its own on the other. All
// of it by turns on one thread, so that every packet of every test is accounted for.
#include "pipeline/service_loop.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "pipeline/srmp_service.hpp"
#include "pipeline/udp_echo_service.hpp"
#include "port/crossed_rings.hpp"
#include "port/port.hpp"
#include "rpc/builtin.hpp"
#include "rpc/service.hpp"
#include "support/eal_main.hpp"
#include "support/packets.hpp"

namespace millrace::pipeline {
namespace {

using bytes = std::vector<std::uint8_t>;
using stats::drop_reason;
using test::checked_pool;

constexpr std::uint16_t echo_port = 7;
constexpr std::uint16_t srmp_port = 5500;
constexpr std::uint16_t client_port = 40000;

base::ip_address address(std::string_view text) { return base::ip_address::parse(text).value(); }

net::host_config host_of(unsigned last, std::uint16_t instance = 0, std::uint16_t instances = 1) {
  net::host_config c;
  c.mac = {{2, 0, 0, 0, 0, static_cast<std::uint8_t>(last)}};
  c.addresses = {{address("198.18.0." + std::to_string(last)), 24},
                 {address("2001:db8:18::" + std::to_string(last)), 64}};
  c.dad_transmits = 0;
  c.announce = false;
  c.seed = 42;
  c.instance = instance;
  c.instances = instances;
  return c;
}

// Says what it is told to and keeps what it hears.
class talker final : public udp_service {
 public:
  struct heard_datagram {
    base::endpoint from;
    bytes payload;
  };
  std::deque<std::pair<base::endpoint, bytes>> to_say;
  std::vector<heard_datagram> heard;
  std::vector<std::size_t> groups;  // sizes of the groups that came
  bool stopped = false;
  bool finished = true;
  net::udp_flow from{.local = {address("198.18.0.2"), client_port}, .remote = {}};

  void on_datagrams(std::span<const udp_arrival> arrivals, service_turn&) noexcept override {
    groups.push_back(arrivals.size());
    for (const udp_arrival& one : arrivals)
      heard.push_back({one.udp.remote, bytes(one.udp.payload.begin(), one.udp.payload.end())});
  }
  [[nodiscard]] std::uint64_t due_ns() const noexcept override { return to_say.empty() ? never_ns : 0; }
  void on_time(service_turn& turn) noexcept override {
    while (!to_say.empty() && turn.outputs[0]->room() > 0) {
      net::udp_flow flow = from;
      flow.remote = to_say.front().first;
      if (flow.remote.address.family == base::ip_family::v6) flow.local.address = address("2001:db8:18::2");
      (void)turn.outputs[0]->send(flow, to_say.front().second);
      to_say.pop_front();
    }
  }
  void on_stop(service_turn&) noexcept override { stopped = true; }
  [[nodiscard]] bool is_finished() const noexcept override { return finished; }
};

class two_ends {
  static inline unsigned made_ = 0;

 public:
  checked_pool pool;
  port::crossed_rings cable;
  std::deque<port::port> ports;
  std::unique_ptr<service_loop> server;
  std::unique_ptr<service_loop> client;
  talker says;

  explicit two_ends(std::uint32_t packets = 4095, loop_settings settings = {.idle = idle_policy::poll},
                    unsigned slots = 1024, net::checksum_offload of_client = {})
      : pool(packets), cable(std::move(port::crossed_rings::make("tl" + std::to_string(made_++), 1, slots).value())) {
    for (const std::uint16_t id : {cable.first(), cable.second()}) {
      auto plan = port::make_plan({&port::read_facts(id).value(), 1}, {});
      auto opened = port::port::open(plan.value().ports[0], *pool);
      EXPECT_TRUE(opened && opened.value().start());
      ports.push_back(std::move(opened.value()));
    }
    const loop_interface at_server{.port = cable.first(), .host = host_of(1)};
    loop_interface at_client{.port = cable.second(), .host = host_of(2)};
    at_client.host.offload = of_client;
    server = std::move(service_loop::make(settings, {&at_server, 1}, *pool).value());
    client = std::move(service_loop::make({.idle = idle_policy::poll}, {&at_client, 1}, *pool).value());
    EXPECT_TRUE(client->open(client_port, says));
  }
  ~two_ends() {
    server.reset();
    client.reset();
    buf::burst left;
    for (const port::port& p : ports)
      while (port::rx_burst(p.id(), 0, left, 32) != 0) left.free_all();
    ports.clear();
  }
  void turns(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      client->turn();
      server->turn();
    }
  }
  void say(std::string_view to, std::uint16_t port, bytes payload) {
    says.to_say.push_back({{address(to), port}, std::move(payload)});
  }
  // What is in the rings was sent by one and not received by the other.
  void expect_balance() {
    server->finish();
    client->finish();
    server->finish();
    for (const service_loop* loop : {server.get(), client.get()}) EXPECT_TRUE(loop->total().is_conserved());
  }
};

bytes pattern(std::size_t size) {
  bytes out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(i * 7 + size);
  return out;
}

bytes request(std::uint8_t seq, const bytes& payload) {
  bytes out(4 + payload.size());
  out[0] = srmp::wire::make_flags(srmp::wire::frame_kind::request, 1);
  out[1] = seq;
  base::store_le16(out.data() + 2, static_cast<std::uint16_t>(payload.size()));
  std::copy(payload.begin(), payload.end(), out.begin() + 4);
  return out;
}

TEST(service_loop, answers_over_both_families_and_of_every_size) {
  two_ends ends;
  udp_echo_service echo;
  ASSERT_TRUE(ends.server->open(echo_port, echo));
  std::vector<bytes> said;
  for (const std::string_view to : {"198.18.0.1", "2001:db8:18::1"})
    for (const std::size_t size : {0u, 1u, 28u, 1452u, 1473u, 2048u, 2049u, 8000u, 30000u, 65000u}) {
      said.push_back(pattern(size));
      ends.say(to, echo_port, said.back());
      ends.turns(64);  // the first of each family waits for a neighbour
    }
  ASSERT_EQ(ends.says.heard.size(), said.size());
  for (std::size_t i = 0; i < said.size(); ++i) EXPECT_EQ(ends.says.heard[i].payload, said[i]) << i;
  EXPECT_EQ(echo.echoed(), said.size());
  ends.expect_balance();
}

// What lies in memory cannot be damaged there; what only claims to have a checksum is.
TEST(service_loop, packets_that_never_leave_memory_need_no_checksum_but_must_say_so) {
  for (const bool marked : {true, false}) {
    two_ends ends(4095, {.idle = idle_policy::poll}, 1024, {.tx_udp = true, .in_memory = marked});
    udp_echo_service echo;
    ASSERT_TRUE(ends.server->open(echo_port, echo));
    for (const std::string_view to : {"198.18.0.1", "2001:db8:18::1"}) {
      ends.say(to, echo_port, pattern(1));  // waits for a neighbour, and is summed
      ends.turns(64);
      for (const std::size_t size : {1u, 28u, 1452u, 2048u, 8000u}) {
        ends.say(to, echo_port, pattern(size));
        ends.turns(8);
      }
    }
    // Fragments are summed as well, and the first of each family.
    EXPECT_EQ(echo.echoed(), marked ? 12u : 6u);
    EXPECT_EQ(ends.server->total().drops[static_cast<std::size_t>(drop_reason::udp_bad_checksum)], marked ? 0u : 6u);
    ends.expect_balance();
  }
}

// Drivers hand over what is longer than a buffer in pieces; each datagram of such a burst is its sender's.
TEST(service_loop, chains_of_one_burst_are_not_mixed_up) {
  two_ends ends;
  udp_echo_service echo;
  ASSERT_TRUE(ends.server->open(echo_port, echo));
  ends.say("198.18.0.1", echo_port, {0});
  ends.turns(8);
  ends.says.heard.clear();
  for (std::uint8_t i = 0; i < 4; ++i) ends.say("198.18.0.1", echo_port, bytes(1000, i));
  std::array<udp_output*, 1> outputs{&ends.client->output(0)};
  service_turn sends{1, outputs, ends.client->counters().drops};
  ends.says.on_time(sends);
  (void)ends.client->output(0).transmit();
  buf::burst whole;  // out of the wire, cut in two, and in again
  ASSERT_EQ(port::rx_burst(ends.cable.first(), 0, whole, 32), 4u);
  buf::burst chains;
  for (unsigned i = 0; i < 4; ++i) {
    const base::byte_view frame = whole.first(i);
    buf::packet head = test::packet_of(*ends.pool, frame.first(500));
    buf::packet tail = test::packet_of(*ends.pool, frame.subspan(500));
    ASSERT_TRUE(head.append_chain(tail));
    ASSERT_TRUE(chains.push(std::move(head)));
  }
  whole.free_all();
  ASSERT_EQ(port::tx_burst(ends.cable.second(), 0, chains), 4u);
  ends.turns(8);
  ASSERT_EQ(ends.says.heard.size(), 4u);
  for (std::uint8_t i = 0; i < 4; ++i) EXPECT_EQ(ends.says.heard[i].payload, bytes(1000, i));
}

TEST(service_loop, a_burst_for_several_services_is_handed_over_by_service) {
  two_ends ends;
  udp_echo_service echo;
  talker other;
  ASSERT_TRUE(ends.server->open(echo_port, echo));
  ASSERT_TRUE(ends.server->open(9, other));
  ends.say("198.18.0.1", echo_port, {0});
  ends.turns(8);
  ends.says.heard.clear();
  for (std::uint8_t i = 0; i < 30; ++i) ends.say("198.18.0.1", i % 3 == 0 ? 9 : echo_port, {i});
  ends.turns(8);
  ASSERT_EQ(other.heard.size(), 10u);
  EXPECT_EQ(other.groups, std::vector<std::size_t>{10});
  for (std::uint8_t i = 0; i < 10; ++i) EXPECT_EQ(other.heard[i].payload, bytes{static_cast<std::uint8_t>(3 * i)});
  ASSERT_EQ(ends.says.heard.size(), 20u);
  EXPECT_EQ(ends.says.heard[0].payload, bytes{1});
  EXPECT_EQ(ends.says.heard[19].payload, bytes{29});
  ends.expect_balance();
}

TEST(service_loop, srmp_requests_are_answered_in_shared_datagrams_and_bad_ones_are_drops) {
  two_ends ends;
  srmp::echo_handler handler;
  srmp_service<srmp::echo_handler> service(handler, {.batch_bytes = 1452}, {});
  ASSERT_TRUE(ends.server->open(srmp_port, service));
  ends.say("198.18.0.1", srmp_port, request(1, pattern(28)));
  ends.turns(8);
  ASSERT_EQ(ends.says.heard.size(), 1u);
  EXPECT_EQ(ends.says.heard[0].from.port, srmp_port);
  ends.says.heard.clear();
  for (std::uint8_t i = 0; i < 20; ++i) ends.say("198.18.0.1", srmp_port, request(i, pattern(28)));
  bytes cut = request(99, pattern(28));
  cut.pop_back();
  bytes two = request(50, pattern(5));
  two.insert(two.end(), cut.begin(), cut.end());
  ends.say("198.18.0.1", srmp_port, two);
  ends.turns(8);
  ASSERT_EQ(ends.says.heard.size(), 1u) << "21 replies of 32 bytes fit one datagram";
  EXPECT_EQ(ends.says.heard[0].payload.size(), 20 * 32u + 9u);
  EXPECT_EQ(service.counters().requests.get(), 22u);
  const figures at_server = ends.server->total();
  EXPECT_EQ(at_server.dropped(drop_reason::srmp_truncated), 1u);
  ends.expect_balance();
}

TEST(service_loop, a_reply_larger_than_a_buffer_goes_in_fragments) {
  two_ends ends;
  srmp::echo_handler handler;
  srmp_service<srmp::echo_handler> service(handler, {.batch_bytes = 1452}, {});
  ASSERT_TRUE(ends.server->open(srmp_port, service));
  for (const std::string_view to : {"198.18.0.1", "2001:db8:18::1"}) ends.say(to, srmp_port, request(6, {}));
  ends.turns(64);  // fragments that wait for a neighbour are more than may
  ends.says.heard.clear();
  ends.say("198.18.0.1", srmp_port, request(7, pattern(9000)));
  ends.say("2001:db8:18::1", srmp_port, request(8, pattern(60000)));
  ends.turns(64);
  ASSERT_EQ(ends.says.heard.size(), 2u);
  EXPECT_EQ(ends.says.heard[0].payload.size(), 9004u);
  EXPECT_EQ(ends.says.heard[1].payload.size(), 60004u);
  ends.expect_balance();
}

// RFC 9000 8 has the reasoning: who can be made to send ten times what it got will be aimed at somebody.
TEST(service_loop, what_amplifies_is_limited_for_all_callers_together) {
  two_ends ends;
  auto table = rpc::method_table::make();
  ASSERT_EQ(rpc::add_builtins(*table, {.version = "1"}), rpc::add_errc::ok);
  auto calls = rpc::service::make(*table, {});
  srmp_service<rpc::service> service(*calls, {.batch_bytes = 1452}, {.factor = 1, .bytes = {1, 300}});
  ASSERT_TRUE(ends.server->open(srmp_port, service));
  bytes all{7, 'A', 'p', 'i', '/', 'A', 'l', 'l'};
  ends.say("198.18.0.1", srmp_port, request(1, all));
  ends.turns(8);
  ASSERT_EQ(ends.says.heard.size(), 1u);
  const std::size_t size = ends.says.heard[0].payload.size();
  ASSERT_GT(size, 12u);
  for (std::uint8_t i = 2; i < 100; ++i) {
    ends.say("198.18.0.1", srmp_port, request(i, all));
    ends.turns(2);
  }
  ends.turns(8);
  const std::uint64_t paid = 300 / (size - 12);
  EXPECT_EQ(ends.says.heard.size(), paid);
  EXPECT_EQ(service.sent().withheld.get(), 99 - paid);
  ends.expect_balance();
}

TEST(service_loop, nobody_who_cannot_be_answered_is) {
  two_ends ends;
  udp_echo_service echo;
  ASSERT_TRUE(ends.server->open(echo_port, echo));
  ends.says.from.local.port = 19;  // a well-known port: another server may be there
  ends.say("198.18.0.1", echo_port, {1});
  ends.turns(8);
  EXPECT_EQ(echo.echoed(), 0u);
  EXPECT_EQ(ends.server->total().dropped(drop_reason::no_service), 1u);
  ASSERT_TRUE(ends.server->open(7777, echo));
  ends.says.from.local.port = 7777;  // the same service of somebody else
  ends.say("198.18.0.1", 7777, {1});
  ends.turns(8);
  EXPECT_EQ(echo.echoed(), 0u);
  ends.expect_balance();
}

TEST(service_loop, takes_nothing_in_while_the_wire_refuses_and_drops_after_its_patience) {
  two_ends ends(4095, {.idle = idle_policy::poll, .tx_patience_ns = 3'000'000'000}, 64);
  udp_echo_service echo;
  ASSERT_TRUE(ends.server->open(echo_port, echo));
  ends.say("198.18.0.1", echo_port, {0});
  ends.turns(8);
  // The client sends and does not receive: 63 replies fill the ring, some 450 the queue.
  for (unsigned i = 0; i < 800; ++i) ends.say("198.18.0.1", echo_port, {static_cast<std::uint8_t>(i)});
  for (unsigned i = 0; i < 200; ++i) {
    service_turn sends{1, std::span<udp_output* const>{}, ends.client->counters().drops};
    std::array<udp_output*, 1> outputs{&ends.client->output(0)};
    sends.outputs = outputs;
    if (!ends.says.to_say.empty()) ends.says.on_time(sends);
    (void)ends.client->output(0).transmit();
    ends.server->turn();
  }
  EXPECT_TRUE(ends.server->output(0).is_blocked());
  const figures blocked = ends.server->total();
  EXPECT_LT(blocked[count::rx_pkts], 63u + 512u) << "nothing more is taken in";
  EXPECT_EQ(blocked.dropped(drop_reason::tx_ring_full), 0u);
  ends.turns(64);  // now the client receives
  EXPECT_FALSE(ends.server->output(0).is_blocked());
  EXPECT_EQ(ends.says.heard.size(), 801u);
  EXPECT_EQ(ends.server->total().dropped(), 0u);
  ends.expect_balance();
}

TEST(service_loop, a_wire_that_never_takes_costs_its_packets_and_nothing_else) {
  two_ends ends(4095, {.idle = idle_policy::poll, .tx_patience_ns = 1, .stop_patience_ns = 1'000'000}, 64);
  udp_echo_service echo;
  ASSERT_TRUE(ends.server->open(echo_port, echo));
  ends.say("198.18.0.1", echo_port, {0});
  ends.turns(8);
  for (unsigned round = 0; round < 10; ++round) {
    std::array<udp_output*, 1> outputs{&ends.client->output(0)};
    service_turn sends{1, outputs, ends.client->counters().drops};
    for (std::uint8_t i = 0; i < 30; ++i) ends.say("198.18.0.1", echo_port, {i});
    ends.says.on_time(sends);
    (void)ends.client->output(0).transmit();
    for (unsigned i = 0; i < 10; ++i) ends.server->turn();
  }
  EXPECT_EQ(ends.server->total()[count::rx_pkts] - ends.server->total()[count::tx_pkts],
            ends.server->total().dropped(drop_reason::tx_ring_full));
  EXPECT_GT(ends.server->total().dropped(drop_reason::tx_ring_full), 100u);
  ends.expect_balance();
}

TEST(service_loop, an_empty_pool_costs_answers_and_comes_back) {
  two_ends ends(127);
  srmp::echo_handler handler;
  srmp_service<srmp::echo_handler> service(handler, {.batch_bytes = 0}, {});
  ASSERT_TRUE(ends.server->open(srmp_port, service));
  ends.say("198.18.0.1", srmp_port, request(1, pattern(28)));
  ends.turns(8);
  ASSERT_EQ(ends.says.heard.size(), 1u);
  {
    std::vector<buf::packet> all;
    for (buf::packet one; (one = buf::packet::alloc(*ends.pool));) all.push_back(std::move(one));
    ASSERT_GT(all.size(), 40u);
    all.resize(all.size() - 8);
    bytes many;
    for (std::uint8_t i = 0; i < 40; ++i) {
      const bytes one = request(i, pattern(3));
      many.insert(many.end(), one.begin(), one.end());
    }
    ends.say("198.18.0.1", srmp_port, many);
    ends.turns(4);
    EXPECT_GT(service.counters().reply_no_buffer.get(), 0u);
  }
  ends.says.heard.clear();
  ends.say("198.18.0.1", srmp_port, request(2, pattern(28)));
  ends.turns(8);
  EXPECT_EQ(ends.says.heard.back().payload, [] {
    bytes reply = request(2, pattern(28));
    reply.front() = srmp::wire::make_flags(srmp::wire::frame_kind::reply, 1);
    return reply;
  }());
  ends.expect_balance();
}

TEST(service_loop, finish_tells_services_and_waits_for_what_they_wait_for) {
  two_ends ends;
  udp_echo_service echo;
  ASSERT_TRUE(ends.server->open(echo_port, echo));
  for (std::uint8_t i = 0; i < 100; ++i) ends.say("198.18.0.1", echo_port, {i});
  ends.turns(2);
  ends.client->turn();
  EXPECT_FALSE(ends.says.stopped);
  ends.server->finish();  // answers what is queued
  ends.client->finish();
  EXPECT_TRUE(ends.says.stopped);
  EXPECT_EQ(ends.says.heard.size(), echo.echoed());
  EXPECT_GT(echo.echoed(), 0u);
  ends.expect_balance();
}

TEST(service_loop, patience_ends_with_a_service_that_never_does) {
  two_ends ends(4095, {.idle = idle_policy::poll, .stop_patience_ns = 2'000'000});
  talker never;
  never.finished = false;
  ASSERT_TRUE(ends.server->open(9, never));
  ends.server->finish();
  EXPECT_TRUE(never.stopped);
}

TEST(service_loop, refuses_what_cannot_be) {
  two_ends ends;
  udp_echo_service echo;
  EXPECT_FALSE(ends.server->open(0, echo));
  ASSERT_TRUE(ends.server->open(7, echo));
  EXPECT_FALSE(ends.server->open(7, echo));
  EXPECT_TRUE(ends.server->open(8, echo));
  EXPECT_FALSE(service_loop::make({}, {}, *ends.pool));
  loop_interface none{.port = 0, .host = {}};
  EXPECT_FALSE(service_loop::make({.burst_pkts = 0}, {&none, 1}, *ends.pool));
}

TEST(service_loop, counts_the_cycles_of_each_stage_and_no_heap_call) {
  two_ends ends;
  udp_echo_service echo;
  ASSERT_TRUE(ends.server->open(echo_port, echo));
  ends.turns(4);
  for (unsigned round = 0; round < 40; ++round) {
    for (std::uint8_t i = 0; i < 30; ++i) ends.say("198.18.0.1", echo_port, {i});
    ends.client->turn();
    {
      const mem::heap_watch watch(ends.server->counters().heap);
      ends.server->slice();
    }
  }
  const figures seen = ends.server->total();
  EXPECT_GT(seen[count::measured_cycles], 0u);
  if (mem::heap_counter_present()) {
    EXPECT_EQ(seen.heap_calls, 0u);
  }
  ends.expect_balance();
}

// Two loops, two queues, one address: the answer to what one asks comes in by the other's queue.
TEST(service_loop, what_one_instance_hears_the_others_know) {
  checked_pool pool;
  auto cable = std::move(port::crossed_rings::make("tlnews", 2).value());
  std::deque<port::port> ports;
  for (const std::uint16_t id : {cable.first(), cable.second()}) {
    auto plan = port::make_plan({&port::read_facts(id).value(), 1}, {.rxq = 2, .txq = 2});
    ports.push_back(std::move(port::port::open(plan.value().ports[0], *pool).value()));
    ASSERT_TRUE(ports.back().start());
  }
  std::vector<std::unique_ptr<service_loop>> loops;
  std::vector<service_loop*> pointers;
  for (std::uint16_t i = 0; i < 2; ++i) {
    const loop_interface at{.port = cable.first(), .rx_queue = i, .tx_queue = i, .host = host_of(1, i, 2)};
    loops.push_back(std::move(service_loop::make({.idle = idle_policy::poll}, {&at, 1}, *pool).value()));
    pointers.push_back(loops.back().get());
  }
  ASSERT_TRUE(service_loop::join(pointers, "tlnewsbox"));
  // The peer hears both of our queues by its queue 0 and 1, and always answers by its queue 0.
  const loop_interface peer_ends[] = {{.port = cable.second(), .rx_queue = 0, .tx_queue = 0, .host = host_of(2)},
                                      {.port = cable.second(), .rx_queue = 1, .tx_queue = 0, .host = host_of(2)}};
  auto peer = std::move(service_loop::make({.idle = idle_policy::poll}, peer_ends, *pool).value());
  talker hears;
  ASSERT_TRUE(peer->open(client_port, hears));
  talker says;
  says.from.local = {address("198.18.0.1"), 5000};
  ASSERT_TRUE(loops[1]->open(5000, says));
  says.to_say.push_back({{address("198.18.0.2"), client_port}, {1, 2, 3}});
  for (int i = 0; i < 16; ++i) {
    for (auto& loop : loops) loop->turn();
    peer->turn();
  }
  EXPECT_EQ(hears.heard.size(), 1u) << "instance 1 waited for an address that instance 0 heard";
  for (auto& loop : loops) loop->finish();
  peer->finish();
  loops.clear();
  peer.reset();
  buf::burst left;
  for (const port::port& p : ports)
    for (std::uint16_t q = 0; q < 2; ++q)
      while (port::rx_burst(p.id(), q, left, 32) != 0) left.free_all();
  ports.clear();
}

TEST(service_loop, what_passes_a_bad_wire_is_late_or_lost_and_the_balance_holds) {
  constexpr unsigned requests = 400;
  impairment to_server({.loss_percent = 20, .reorder_percent = 10, .delay_ns = 20'000, .hold_back_ns = 50'000});
  impairment to_client({.delay_ns = 30'000});
  two_ends ends;
  udp_echo_service echo;
  ASSERT_TRUE(ends.server->open(echo_port, echo));
  ends.say("198.18.0.1", echo_port, {0});
  ends.turns(8);  // the neighbour is found on a good wire
  ends.says.heard.clear();
  ends.server->receive_through(0, &to_server);
  ends.client->receive_through(0, &to_client);
  for (unsigned i = 0; i < requests; ++i) ends.say("198.18.0.1", echo_port, pattern(10 + i));
  ends.turns(64);
  while (to_server.waiting_pkts() + to_client.waiting_pkts() != 0) ends.turns(1);
  const std::uint64_t lost = ends.server->total().dropped(drop_reason::impaired);
  EXPECT_GT(lost, requests / 10);
  EXPECT_LT(lost, requests * 3 / 10);
  EXPECT_EQ(ends.says.heard.size(), requests - lost);
  EXPECT_GT(to_server.figures().overtaken.get(), 0u);
  EXPECT_EQ(to_client.figures().passed.get(), requests - lost);
  // What the wire still holds when a loop stops is waited for.
  ends.say("198.18.0.1", echo_port, pattern(5));
  ends.client->turn();
  ends.client->finish();
  ends.server->finish();
  ends.client->finish();
  EXPECT_EQ(to_server.waiting_pkts() + to_client.waiting_pkts(), 0u);
  for (const service_loop* loop : {ends.server.get(), ends.client.get()}) EXPECT_TRUE(loop->total().is_conserved());
}

TEST(service_loop, tells_its_services_to_stop_once_and_goes_on) {
  two_ends ends;
  udp_echo_service echo;
  ASSERT_TRUE(ends.server->open(echo_port, echo));
  ends.client->tell_services_to_stop();
  EXPECT_TRUE(ends.says.stopped);
  ends.says.stopped = false;
  ends.say("198.18.0.1", echo_port, {1});
  ends.turns(8);
  EXPECT_EQ(ends.says.heard.size(), 1u) << "an exchange that was begun goes on";
  ends.client->finish();
  EXPECT_FALSE(ends.says.stopped) << "told a second time";
  ends.expect_balance();
}

}  // namespace
}  // namespace millrace::pipeline
MILLRACE_EAL_TEST_MAIN("-m", "128", "-l", "0")
