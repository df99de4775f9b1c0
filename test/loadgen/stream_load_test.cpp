// Streams of an rpc method, asked for by the client's loop and answered by the server's, on one thread: on a good wire,
// and on wires that lose, reorder and delay.
#include "loadgen/stream_load.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "loadgen/stream_method.hpp"
#include "pipeline/service_loop.hpp"
#include "pipeline/srmp_service.hpp"
#include "port/crossed_rings.hpp"
#include "port/port.hpp"
#include "rpc/service.hpp"
#include "support/packets.hpp"

namespace millrace::loadgen {
namespace {

using pipeline::count;

constexpr std::uint16_t srmp_port = 5500;
constexpr std::uint64_t us = 1000;

base::ip_address address(unsigned last) { return base::ip_address::parse("198.18.0." + std::to_string(last)).value(); }

net::host_config host_of(unsigned last) {
  net::host_config c;
  c.mac = {{2, 0, 0, 0, 0, static_cast<std::uint8_t>(last)}};
  c.addresses = {{address(last), 24}};
  c.announce = false;
  c.seed = 42;
  return c;
}

stream_settings at_server() {
  stream_settings s;
  s.target = {address(1), srmp_port};
  s.bytes = 100'000;
  s.item = 1000;
  return s;
}

class ends {
  static inline unsigned made_ = 0;

 public:
  test::checked_pool pool{8191};
  port::crossed_rings cable = std::move(port::crossed_rings::make("str" + std::to_string(made_++), 1, 4096).value());
  std::deque<port::port> ports;
  std::optional<pipeline::impairment> to_server;
  std::optional<pipeline::impairment> to_client;
  stream_pattern pattern;
  std::unique_ptr<rpc::method_table> methods = rpc::method_table::make();
  std::unique_ptr<rpc::service> calls;
  std::optional<pipeline::srmp_service<rpc::service>> service;
  std::unique_ptr<pipeline::service_loop> server;
  std::unique_ptr<pipeline::service_loop> client;
  std::unique_ptr<stream_load> load;
  mem::heap_tally heap;

  explicit ends(const stream_settings& settings, const rpc::service_limits& limits = {}) {
    for (const std::uint16_t id : {cable.first(), cable.second()}) {
      auto plan = port::make_plan({&port::read_facts(id).value(), 1}, {});
      auto opened = port::port::open(plan.value().ports[0], *pool);
      EXPECT_TRUE(opened && opened.value().start());
      ports.push_back(std::move(opened.value()));
    }
    EXPECT_EQ(methods->add("Bench/Stream", answer_stream, &pattern), rpc::add_errc::ok);
    calls = rpc::service::make(*methods, limits);
    service.emplace(*calls, srmp::service_settings{.batch_bytes = 1472},
                    pipeline::amplification_limits{.bytes = {0, 0}});
    const pipeline::loop_interface at_server{.port = cable.first(), .host = host_of(1)};
    const pipeline::loop_interface at_client{.port = cable.second(), .host = host_of(2)};
    const pipeline::loop_settings how{.idle = pipeline::idle_policy::poll};
    server = std::move(pipeline::service_loop::make(how, {&at_server, 1}, *pool).value());
    client = std::move(pipeline::service_loop::make(how, {&at_client, 1}, *pool).value());
    EXPECT_TRUE(server->open(srmp_port, *service));
    auto made = stream_load::make(settings);
    EXPECT_TRUE(made) << (made ? "" : made.error().what);
    load = std::move(made.value());
    EXPECT_TRUE(load->open_on(*client));
  }
  ~ends() {
    server.reset();
    client.reset();
    buf::burst left;
    for (const port::port& p : ports)
      while (port::rx_burst(p.id(), 0, left, 32) != 0) left.free_all();
    ports.clear();
  }
  void impair(const pipeline::impairment_settings& there, const pipeline::impairment_settings& back) {
    server->receive_through(0, &to_server.emplace(there));
    client->receive_through(0, &to_client.emplace(back));
  }
  // Both ends by turns, until the client is done or 20 seconds are over: a client that hangs is a failure, not a wait.
  bool run() {
    const mem::heap_watch watched(heap);
    const env::tsc_clock clock;
    const std::uint64_t until = clock.now_ns() + 20'000'000 * us;
    while (!load->is_done() && clock.now_ns() < until) {
      client->turn();
      server->turn();
    }
    return load->is_done();
  }
  void expect_balance() {
    client->finish();
    server->finish();
    client->finish();
    EXPECT_TRUE(client->total().is_conserved());
    EXPECT_TRUE(server->total().is_conserved());
    EXPECT_EQ(heap.calls.get(), 0u);
  }
  // Every stream ended somehow, and every byte either came or is known to be missing.
  void expect_sums(const stream_figures& f) {
    EXPECT_EQ(f.begun, f.whole + f.holed + f.cut + f.failed);
    EXPECT_EQ(f.bytes + f.missing, f.begun * load->settings().bytes);
    EXPECT_EQ(f.in_flight, 0u);
  }
};

TEST(stream_load, on_a_good_wire_every_stream_comes_whole_and_in_order) {
  stream_settings s = at_server();
  s.connections = 3;
  s.window = 4;
  s.requests = 500;
  s.bytes = 100'001;  // a last item of one byte
  ends w(s);
  ASSERT_TRUE(w.run());
  const stream_figures f = w.load->figures();
  EXPECT_EQ(f.begun, 500u);
  EXPECT_EQ(f.whole, 500u);
  EXPECT_EQ(f.bytes, 500 * s.bytes);
  EXPECT_EQ(f.items, 500 * 101u);
  EXPECT_EQ(f.reordered + f.wrong + f.unmatched + f.malformed + f.refused, 0u);
  EXPECT_EQ(w.load->latency().count(), 500u);
  EXPECT_GT(f.seconds(), 0);
  w.expect_sums(f);
  w.expect_balance();
}

TEST(stream_load, an_item_may_be_the_whole_stream) {
  stream_settings s = at_server();
  s.bytes = 1;
  s.item = 1000;
  s.window = 8;
  s.requests = 3000;  // more than there are sequence numbers
  ends w(s);
  ASSERT_TRUE(w.run());
  EXPECT_EQ(w.load->figures().whole, 3000u);
  w.expect_sums(w.load->figures());
  w.expect_balance();
}

TEST(stream_load, counts_what_a_lossy_wire_took_and_does_not_wait_for_it) {
  stream_settings s = at_server();
  s.window = 4;
  s.requests = 300;
  s.stall_ns = 100'000 * us;
  ends w(s);
  w.impair({}, {.loss_percent = 1, .seed = 5});
  ASSERT_TRUE(w.run());
  const stream_figures f = w.load->figures();
  EXPECT_EQ(f.begun, 300u);
  EXPECT_GT(f.whole, 50u);
  EXPECT_GT(f.holed, 50u);
  EXPECT_GT(f.cut, 0u) << "some lose their end";
  EXPECT_EQ(f.reordered + f.wrong + f.unmatched, 0u);
  w.expect_sums(f);
  // One item a datagram: nearly every lost one is a thousand bytes.
  const std::uint64_t lost = w.client->total().dropped(stats::drop_reason::impaired);
  EXPECT_LE(f.missing, lost * s.item);
  EXPECT_GE(f.missing + (f.cut + 1) * s.item, lost * s.item);
  w.expect_balance();
}

TEST(stream_load, a_lost_call_is_a_stream_of_which_nothing_came) {
  stream_settings s = at_server();
  s.requests = 40;
  s.stall_ns = 20'000 * us;
  ends w(s);
  w.impair({.loss_percent = 30, .seed = 2}, {});
  ASSERT_TRUE(w.run());
  const stream_figures f = w.load->figures();
  EXPECT_EQ(f.whole + f.cut, 40u);
  EXPECT_GT(f.cut, 4u);
  EXPECT_LE(f.missing, f.cut * s.bytes);
  EXPECT_GT(f.missing, 0u);
  w.expect_sums(f);
}

TEST(stream_load, items_that_were_overtaken_are_waited_for) {
  stream_settings s = at_server();
  s.requests = 200;
  s.linger_ns = 50'000 * us;
  ends w(s);
  w.impair({}, {.reorder_percent = 5, .delay_ns = 20 * us, .hold_back_ns = 100 * us, .seed = 9});
  ASSERT_TRUE(w.run());
  const stream_figures f = w.load->figures();
  EXPECT_EQ(f.whole, 200u) << "also those whose end overtook their items";
  EXPECT_GT(f.reordered, 200u);
  EXPECT_EQ(f.missing + f.wrong + f.unmatched, 0u);
  w.expect_sums(f);
  w.expect_balance();
}

TEST(stream_load, a_server_that_is_not_there_ends_it_after_its_patience) {
  stream_settings s = at_server();
  s.patience_ns = 3000 * us;
  ends w(s);
  const env::tsc_clock clock;
  const std::uint64_t until = clock.now_ns() + 20'000'000 * us;
  while (!w.load->is_done() && clock.now_ns() < until) w.client->turn();
  EXPECT_TRUE(w.load->is_done());
  EXPECT_FALSE(w.load->figures().answered);
  EXPECT_EQ(w.load->figures().begun, 0u);
}

TEST(stream_load, a_stream_beyond_the_servers_limit_fails_and_says_so) {
  stream_settings s = at_server();
  s.requests = 10;
  ends w(s, {.max_items = 50});
  ASSERT_TRUE(w.run());
  const stream_figures f = w.load->figures();
  EXPECT_EQ(f.failed, 10u);
  EXPECT_EQ(f.items, 10 * 50u);
  EXPECT_EQ(f.missing, 10 * 50u * s.item);
  w.expect_sums(f);
}

TEST(stream_load, told_to_stop_it_lets_streams_in_flight_end) {
  stream_settings s = at_server();
  s.window = 2;
  ends w(s);
  for (unsigned i = 0; i < 2000; ++i) {
    w.client->turn();
    w.server->turn();
  }
  EXPECT_FALSE(w.load->is_done());
  w.client->tell_services_to_stop();
  ASSERT_TRUE(w.run());
  const stream_figures f = w.load->figures();
  EXPECT_GT(f.whole, 0u);
  EXPECT_EQ(f.whole, f.begun);
  w.expect_sums(f);
}

TEST(stream_load, refuses_settings_that_cannot_be) {
  const auto refused = [](auto change) {
    stream_settings s = at_server();
    change(s);
    return !check(s);
  };
  EXPECT_TRUE(check(at_server()));
  EXPECT_TRUE(refused([](stream_settings& s) { s.target.port = 0; }));
  EXPECT_TRUE(refused([](stream_settings& s) { s.connections = 0; }));
  EXPECT_TRUE(refused([](stream_settings& s) { s.connections = 20'000; }));
  EXPECT_TRUE(refused([](stream_settings& s) { s.window = max_stream_window + 1; }));
  EXPECT_TRUE(refused([](stream_settings& s) { s.item = 0; }));
  EXPECT_TRUE(refused([](stream_settings& s) { s.item = stream_pattern::max_item + 1; }));
  EXPECT_TRUE(refused([](stream_settings& s) { s.bytes = 0; }));
  EXPECT_TRUE(refused([](stream_settings& s) { s.bytes = (max_stream_items + 1) * s.item; }));
  EXPECT_TRUE(refused([](stream_settings& s) { s.method = ""; }));
  EXPECT_TRUE(refused([](stream_settings& s) { s.stall_ns = 0; }));
}

TEST(stream_pattern, reads_back_what_it_put_and_nothing_else) {
  const stream_pattern pattern;
  std::vector<std::uint8_t> room(stream_pattern::front_size + 100);
  ASSERT_EQ(pattern.put_item(room, 5000, 100), room.size());
  const auto place = pattern.read_item(room);
  EXPECT_TRUE(place.sound);
  EXPECT_EQ(place.offset, 5000u);
  EXPECT_EQ(place.count, 100u);
  for (std::size_t i = 0; i < room.size(); ++i) {
    room[i] ^= 1;
    EXPECT_FALSE(pattern.read_item(room).sound) << i;
    room[i] ^= 1;
  }
  EXPECT_FALSE(pattern.read_item(base::byte_view(room).first(8)).sound);
  EXPECT_FALSE(pattern.read_item({}).sound);
  EXPECT_EQ(pattern.put_item(base::byte_span(room).first(50), 0, 100), 0u);
  EXPECT_EQ(pattern.put_item(room, 0, stream_pattern::max_item + 1), 0u);
}

}  // namespace
}  // namespace millrace::loadgen
