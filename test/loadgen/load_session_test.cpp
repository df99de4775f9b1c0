#include "loadgen/load_session.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "loadgen/fake_server.hpp"
#include "support/seeded.hpp"

namespace millrace::loadgen {
namespace {

using test_support::basic;
using test_support::expect_balance;
using test_support::sent_datagram;
using test_support::server_endpoint;
using test_support::wire;
using test_support::world;

constexpr std::uint64_t ms = 1'000'000;

TEST(load_settings, are_refused_where_they_cannot_work) {
  const auto refused = [](auto change) {
    load_settings s = basic();
    change(s);
    const auto checked = check(s);
    return !checked && checked.error().unusable;
  };
  EXPECT_TRUE(check(basic()));
  EXPECT_TRUE(refused([](load_settings& s) { s.target.port = 0; }));
  EXPECT_TRUE(refused([](load_settings& s) { s.target.address = {}; }));
  EXPECT_TRUE(refused([](load_settings& s) { s.source = base::ip_address::parse("::1").value(); }));
  EXPECT_TRUE(refused([](load_settings& s) { s.connections = 0; }));
  EXPECT_TRUE(refused([](load_settings& s) { s.connections = max_load_connections + 1; }));
  EXPECT_TRUE(refused([](load_settings& s) { s.first_port = 65'535, s.connections = 2; }));
  EXPECT_TRUE(refused([](load_settings& s) { s.port_tries = 0; }));
  EXPECT_TRUE(refused([](load_settings& s) { s.port_tries = 2, s.port_step = 3, s.connections = 4; }));
  EXPECT_TRUE(refused([](load_settings& s) { s.port_tries = 9, s.port_step = 3000; }));
  EXPECT_TRUE(refused([](load_settings& s) { s.window = 0; }));
  EXPECT_TRUE(refused([](load_settings& s) { s.window = 256; }));
  EXPECT_TRUE(refused([](load_settings& s) { s.rate = max_rate + 1; }));
  EXPECT_TRUE(refused([](load_settings& s) { s.share = 1; }));
  EXPECT_TRUE(refused([](load_settings& s) { s.size = max_load_size + 1; }));
  EXPECT_TRUE(refused([](load_settings& s) { s.timeout_ns = 0; }));
  EXPECT_TRUE(refused([](load_settings& s) { s.ask = load_ask::rpc_call, s.method = ""; }));
  EXPECT_TRUE(refused([](load_settings& s) { s.ask = load_ask::rpc_call, s.method = std::string(128, 'a'); }));
  EXPECT_TRUE(refused([](load_settings& s) { s.ask = load_ask::rpc_echo, s.size = 23; }));
}

TEST(load_session, gets_every_request_of_a_closed_loop_answered) {
  load_settings s = basic();
  s.connections = 4;
  s.window = 8;
  s.requests = 10'000;
  world w(s);
  ASSERT_TRUE(w.run(10'000 * ms));
  const load_figures f = w.load->figures();
  EXPECT_EQ(f.sent, 10'000u);
  EXPECT_EQ(f.replies, 10'000u);
  EXPECT_EQ(f.in_flight, 0u);
  EXPECT_EQ(f.knocks, 1u);
  EXPECT_TRUE(f.answered);
  EXPECT_EQ(f.sent_bytes, 280'000u);
  EXPECT_EQ(f.reply_bytes, 280'000u);
  EXPECT_EQ(f.errors, decltype(f.errors){});
  EXPECT_EQ(w.most_in_flight, 32u);
  EXPECT_EQ(f.datagrams_sent, 10'000u);
  EXPECT_EQ(w.load->latency().count(), 10'000u);
  EXPECT_EQ(w.load->latency().max(), 20'000u) << "twice the delay, in steps of one microsecond";
  EXPECT_NEAR(f.seconds(), 10'000.0 / 32 * 20e-6, 1e-4);
  EXPECT_EQ(w.far.counters().requests.get(), 10'001u);
}

TEST(load_session, sends_from_all_its_ports) {
  load_settings s = basic();
  s.connections = 5;
  s.first_port = 60'000;
  s.requests = 500;
  world w(s);
  std::vector<std::uint16_t> ports;
  w.far.sink.copies = [&](const sent_datagram& one) {
    ports.push_back(one.client_port);
    return 1u;
  };
  ASSERT_TRUE(w.run(1000 * ms));
  for (std::uint16_t i = 0; i < 5; ++i)
    EXPECT_GE(std::count(ports.begin(), ports.end(), 60'000 + i), 80) << "connection " << i;
}

TEST(load_session, fills_datagrams_while_anything_is_in_flight) {
  load_settings s = basic();
  s.connections = 2;
  s.window = 255;
  s.fill = true;
  s.requests = 100'000;
  world w(s);
  ASSERT_TRUE(w.run(10'000 * ms));
  const load_figures f = w.load->figures();
  EXPECT_EQ(f.replies, 100'000u);
  const std::size_t whole = 1472 / 32 * 32;
  const auto partial = std::count_if(w.way.sizes.begin(), w.way.sizes.end(), [&](std::size_t n) { return n != whole; });
  EXPECT_LE(partial, 1 + 2) << "the knock, and the end";
  EXPECT_EQ(*std::max_element(w.way.sizes.begin(), w.way.sizes.end()), whole);
}

TEST(load_session, goes_on_in_small_windows_that_fill_no_datagram) {
  load_settings s = basic();
  s.window = 3;
  s.fill = true;
  s.requests = 1000;
  world w(s);
  ASSERT_TRUE(w.run(1000 * ms));
  EXPECT_EQ(w.load->figures().replies, 1000u);
  EXPECT_EQ(w.most_in_flight, 3u);
}

TEST(load_session, sends_messages_that_no_datagram_holds_uncut) {
  load_settings s = basic();
  s.size = 1900;
  s.requests = 100;
  s.fill = true;
  world w(s);
  ASSERT_TRUE(w.run(1000 * ms));
  EXPECT_EQ(w.load->figures().replies, 100u);
  EXPECT_EQ(w.load->figures().datagrams_sent, 100u);
}

TEST(load_session, keeps_the_rate_of_an_open_loop) {
  load_settings s = basic();
  s.connections = 8;
  s.window = 32;
  s.rate = 300'000;
  s.duration_ns = 100 * ms;
  world w(s);
  ASSERT_TRUE(w.run(1000 * ms));
  const load_figures f = w.load->figures();
  EXPECT_NEAR(static_cast<double>(f.sent), 30'000, 2);
  EXPECT_EQ(f.replies, f.sent);
  EXPECT_LT(f.behind_ns, 4'000u);
  EXPECT_LE(w.load->latency().percentile(99.9), 22'000u);
  EXPECT_NEAR(f.seconds(), 0.1, 0.001);
}

TEST(load_session, measures_from_the_time_a_message_was_meant_for) {
  load_settings s = basic();
  s.connections = 4;
  s.window = 255;
  s.rate = 100'000;
  s.duration_ns = 100 * ms;
  world w(s);
  ASSERT_FALSE(w.run(40 * ms));
  w.way.room_pkts = 0;  // nothing can be sent for 10 ms
  ASSERT_FALSE(w.run(10 * ms));
  w.way.room_pkts = 512;
  ASSERT_TRUE(w.run(1000 * ms));
  const load_figures f = w.load->figures();
  EXPECT_NEAR(static_cast<double>(f.sent), 10'000, 2) << "nothing is forgotten";
  EXPECT_EQ(f.replies, f.sent);
  EXPECT_NEAR(static_cast<double>(w.load->latency().max()), 10.02e6, 0.05e6);
  EXPECT_NEAR(static_cast<double>(w.load->latency().percentile(95)), 5e6, 0.3e6)
      << "a tenth was meant for the pause, evenly";
  EXPECT_NEAR(static_cast<double>(f.behind_ns), 10e6, 0.1e6);
}

TEST(load_session, tells_what_the_end_left_unsent) {
  load_settings s = basic();
  s.connections = 4;
  s.window = 255;
  s.rate = 100'000;
  s.duration_ns = 100 * ms;
  world w(s);
  ASSERT_FALSE(w.run(80 * ms));
  w.way.now_ns += 50 * ms;  // nobody turned the loop, over the end
  ASSERT_TRUE(w.run(1000 * ms));
  const load_figures f = w.load->figures();
  EXPECT_NEAR(static_cast<double>(f.sent), 8000, 10);
  EXPECT_NEAR(static_cast<double>(f.behind_ns), 20e6, 0.1e6);
}

TEST(load_session, waits_for_its_window_in_open_loop_and_counts_the_wait) {
  load_settings s = basic();
  s.connections = 1;
  s.window = 1;  // 20 us a round trip: 50 000 a second at most
  s.rate = 100'000;
  s.duration_ns = 20 * ms;
  world w(s);
  ASSERT_TRUE(w.run(1000 * ms));
  const load_figures f = w.load->figures();
  EXPECT_NEAR(static_cast<double>(f.sent), 1000, 60);
  EXPECT_EQ(f.replies, f.sent);
  EXPECT_GT(f.behind_ns, 8 * ms);
  EXPECT_GT(w.load->latency().max(), 8 * ms);
}

TEST(load_session, sends_what_is_due_together_when_it_fills) {
  load_settings s = basic();
  s.connections = 4;
  s.window = 200;
  s.rate = 10'000'000;
  s.duration_ns = 10 * ms;
  s.fill = true;
  world w(s);
  ASSERT_TRUE(w.run(1000 * ms));
  const load_figures f = w.load->figures();
  EXPECT_NEAR(static_cast<double>(f.sent), 100'000, 20);
  EXPECT_EQ(f.replies, f.sent);
  EXPECT_LT(f.datagrams_sent, f.sent / 5) << "ten are due in a step";
}

TEST(load_session, gives_up_when_nobody_ever_answers) {
  load_settings s = basic();
  s.requests = 10;
  world w(s);
  w.far.silent = true;
  ASSERT_TRUE(w.run(600 * ms));
  const load_figures f = w.load->figures();
  EXPECT_FALSE(f.answered);
  EXPECT_EQ(f.sent, 0u);
  EXPECT_GE(f.knocks, 4u);
  EXPECT_EQ(f.first_ns, 0u);
  EXPECT_EQ(f.seconds(), 0);
}

TEST(load_session, begins_with_the_first_answer_and_ignores_the_other_knocks) {
  load_settings s = basic();
  s.requests = 100;
  s.timeout_ns = 1000 * ms;
  world w(s);
  w.way.delay_ns = 150 * ms;  // three knocks are on their way before the first answer
  ASSERT_TRUE(w.run(20'000 * ms, 100'000));
  const load_figures f = w.load->figures();
  EXPECT_EQ(f.knocks, 3u);
  EXPECT_EQ(f.replies, 100u);
  EXPECT_EQ(w.load->latency().count(), 100u);
  EXPECT_EQ(f.errors, decltype(f.errors){});
  expect_balance(f);
}

// Replies come to one of four queues, by the port they go to.
TEST(load_session, looks_for_ports_whose_replies_come_to_it) {
  load_settings s = basic();
  s.connections = 20;
  s.port_offset = 20;  // the second of four shares
  s.port_step = 80;
  s.port_tries = 32;
  s.duration_ns = 400 * ms;
  s.window = 4;
  world w(s);
  const auto is_ours = [](std::uint16_t port) { return (port * 2654435761u >> 20) % 4 == 1; };
  std::vector<std::uint16_t> ports;
  w.far.sink.copies = [&](const sent_datagram& one) {
    if (!is_ours(one.client_port)) return 0u;
    ports.push_back(one.client_port);
    return 1u;
  };
  ASSERT_TRUE(w.run(5000 * ms, 2000));
  const load_figures f = w.load->figures();
  EXPECT_EQ(f.unheard, 0u);
  EXPECT_EQ(f.errors, decltype(f.errors){}) << "what came to others' queues was not counted on";
  EXPECT_EQ(f.replies, f.sent);
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  EXPECT_EQ(ports.size(), 20u);
  for (const std::uint16_t port : ports) EXPECT_TRUE((port - s.first_port) % 80 / 20 == 1) << "another share's port";
}

TEST(load_session, tells_how_many_connections_nobody_answers) {
  load_settings s = basic();
  s.connections = 4;
  s.port_step = 4;
  s.port_tries = 2;
  s.duration_ns = 50 * ms;
  world w(s);
  w.far.sink.copies = [&](const sent_datagram& one) { return (one.client_port - s.first_port) % 4 == 3 ? 0u : 1u; };
  ASSERT_TRUE(w.run(1000 * ms));
  EXPECT_EQ(w.load->figures().unheard, 1u);
  EXPECT_EQ(w.load->figures().replies, w.load->figures().sent);
  EXPECT_GT(w.load->figures().replies, 1000u);
}

TEST(load_session, waits_until_its_address_is_its_own) {
  load_settings s = basic();
  s.requests = 10;
  world w(s);
  w.way.source = false;
  ASSERT_FALSE(w.run(50 * ms));
  EXPECT_EQ(w.load->figures().phase, load_phase::waiting);
  EXPECT_TRUE(w.way.sizes.empty());
  w.way.source = true;
  ASSERT_TRUE(w.run(50 * ms));
  EXPECT_EQ(w.load->figures().replies, 10u);
}

TEST(load_session, counts_neighbours_that_are_not_there) {
  world w(basic());
  w.way.neighbour = false;
  ASSERT_TRUE(w.run(600 * ms));
  EXPECT_FALSE(w.load->figures().answered);
  EXPECT_EQ(w.load->figures()[load_error::unreachable], w.way.vain + w.way.waiting());
}

TEST(load_session, counts_time_outs_when_the_server_falls_silent) {
  load_settings s = basic();
  s.connections = 3;
  s.window = 10;
  s.duration_ns = 100 * ms;
  world w(s);
  ASSERT_FALSE(w.run(10 * ms));
  EXPECT_EQ(w.load->figures()[load_error::timeout], 0u);
  w.far.silent = true;
  ASSERT_TRUE(w.run(1000 * ms));
  const load_figures f = w.load->figures();
  EXPECT_EQ(f.in_flight, 0u);
  EXPECT_NEAR(static_cast<double>(f[load_error::timeout]), 30 * 5, 30.0) << "windows free themselves every 20 ms";
  expect_balance(f);
}

TEST(load_session, counts_doubled_replies_and_is_not_confused_by_them) {
  load_settings s = basic();
  s.connections = 2;
  s.window = 255;
  s.requests = 20'000;
  world w(s);
  std::uint64_t n = 0;
  w.far.sink.copies = [&](const sent_datagram&) { return ++n % 10 == 0 ? 2u : 1u; };
  ASSERT_TRUE(w.run(1000 * ms));
  const load_figures f = w.load->figures();
  EXPECT_EQ(f.replies, 20'000u);
  EXPECT_NEAR(static_cast<double>(f[load_error::unmatched]), 2000, 1);
  EXPECT_EQ(f[load_error::mismatch], 0u);
}

TEST(load_session, counts_wrong_replies) {
  for (const std::size_t byte : {std::size_t{4}, std::size_t{20}}) {  // of the stamp's number, of the content
    load_settings s = basic();
    s.requests = 1000;
    world w(s);
    std::uint64_t n = 0;
    w.far.sink.spoil = [&](sent_datagram& one) {
      if (++n % 100 == 0) one.bytes[byte] ^= 0x80;
    };
    ASSERT_TRUE(w.run(1000 * ms));
    const load_figures f = w.load->figures();
    EXPECT_EQ(f[load_error::mismatch] + f[load_error::unmatched], 10u);
    EXPECT_TRUE(byte != 20 || f[load_error::mismatch] == 10u);
    expect_balance(f);
  }
}

TEST(load_session, counts_replies_cut_short_and_noise) {
  load_settings s = basic();
  s.requests = 1000;
  world w(s);
  std::uint64_t n = 0;
  w.far.sink.spoil = [&](sent_datagram& one) {
    ++n;
    if (n % 100 == 0) one.bytes.pop_back();
    if (n % 100 == 50) one.bytes = {0x81, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
  };
  ASSERT_TRUE(w.run(10'000 * ms));
  const load_figures f = w.load->figures();
  EXPECT_EQ(f[load_error::malformed], 20u);
  EXPECT_EQ(f[load_error::timeout], 20u);
  expect_balance(f);
}

TEST(load_session, takes_late_replies_for_late_not_for_wrong) {
  load_settings s = basic();
  s.window = 200;
  s.duration_ns = 400 * ms;
  world w(s);
  ASSERT_FALSE(w.run(5 * ms));
  w.way.delay_ns = 15 * ms;  // beyond the time-out, while numbers are taken again
  ASSERT_TRUE(w.run(2000 * ms));
  const load_figures f = w.load->figures();
  EXPECT_GT(f[load_error::timeout], 1000u);
  EXPECT_GT(f[load_error::unmatched], 1000u);
  EXPECT_EQ(f[load_error::mismatch], 0u);
  expect_balance(f);
}

TEST(load_session, accounts_for_every_message_under_loss) {
  const std::uint64_t seed = 42;
  test::seeded random(seed);
  load_settings s = basic();
  s.connections = 7;
  s.window = 16;
  s.requests = 20'000;
  world w(s);
  w.far.sink.copies = [&](const sent_datagram&) { return static_cast<unsigned>(random.below(20) != 0); };
  ASSERT_TRUE(w.run(60'000 * ms)) << "seed " << seed;
  const load_figures f = w.load->figures();
  EXPECT_EQ(f.sent, 20'000u);
  EXPECT_NEAR(static_cast<double>(f[load_error::timeout]), 1000, 200) << "seed " << seed;
  EXPECT_EQ(f[load_error::mismatch], 0u);
  expect_balance(f);
}

TEST(load_session, counts_datagrams_of_strangers) {
  load_settings s = basic();
  s.requests = 10;
  world w(s);
  base::endpoint other = server_endpoint();
  ++other.port;
  const std::uint8_t reply[] = {0x81, 1, 0, 0};
  w.load->on_datagram(s.first_port, other, reply, w.way.now_ns);
  w.load->on_datagram(static_cast<std::uint16_t>(s.first_port + 1), server_endpoint(), reply, w.way.now_ns);
  ASSERT_TRUE(w.run(100 * ms));
  EXPECT_EQ(w.load->figures()[load_error::stranger], 1u);
  EXPECT_EQ(w.load->figures().replies, 10u);
}

TEST(load_session, holds_back_when_there_is_no_room) {
  load_settings s = basic();
  s.requests = 1000;
  world w(s);
  ASSERT_FALSE(w.run(1 * ms));
  w.way.room_pkts = load_session<wire>::spare_room;
  ASSERT_FALSE(w.run(5 * ms));
  const std::size_t sent = w.way.sizes.size();
  ASSERT_FALSE(w.run(5 * ms));
  EXPECT_EQ(w.way.sizes.size(), sent);
  w.way.room_pkts = load_session<wire>::spare_room + 1;
  ASSERT_TRUE(w.run(1000 * ms));
  EXPECT_EQ(w.load->figures().replies, 1000u);
}

TEST(load_session, sends_no_more_than_its_bound_in_one_turn) {
  load_settings s = basic();
  s.connections = 64;
  s.window = 255;
  world w(s);
  ASSERT_FALSE(w.run(21'000, 1000));  // the knock and its answer
  const std::size_t before = w.way.sizes.size();
  w.load->pump(w.way, w.way.now_ns);
  EXPECT_LE(w.way.sizes.size() - before, load_session<wire>::datagrams_a_pump);
}

TEST(load_session, stops_when_told_and_waits_for_what_is_in_flight) {
  load_settings s = basic();
  s.window = 50;
  world w(s);
  ASSERT_FALSE(w.run(5 * ms));
  w.load->stop(w.way.now_ns);
  EXPECT_EQ(w.load->phase(), load_phase::draining);
  const std::uint64_t sent = w.load->figures().sent;
  ASSERT_TRUE(w.run(100 * ms));
  const load_figures f = w.load->figures();
  EXPECT_EQ(f.sent, sent);
  EXPECT_EQ(f.replies, sent);
  EXPECT_EQ(f.in_flight, 0u);
}

TEST(load_session, stops_at_once_before_the_first_answer) {
  world w(basic());
  w.far.silent = true;
  ASSERT_FALSE(w.run(5 * ms));
  w.load->stop(w.way.now_ns);
  EXPECT_EQ(w.load->phase(), load_phase::finished);
}

TEST(load_session, sends_one_way_messages_once_the_neighbour_is_known) {
  load_settings s = basic();
  s.ask = load_ask::one_way;
  s.requests = 5000;
  world w(s);
  w.way.neighbour = false;
  ASSERT_FALSE(w.run(150 * ms));
  EXPECT_EQ(w.load->figures().sent, 0u);
  w.way.neighbour = true;
  ASSERT_TRUE(w.run(500 * ms));
  w.run(1 * ms);
  const load_figures f = w.load->figures();
  EXPECT_EQ(f.sent, 5000u);
  EXPECT_EQ(f.replies, 0u);
  EXPECT_EQ(f.in_flight, 0u);
  EXPECT_EQ(w.load->latency().count(), 0u);
  w.way.now_ns += w.way.delay_ns;
  w.far.poll(w.way);
  EXPECT_EQ(w.far.counters().one_ways.get(), 5001u) << "with the knock";
}

// An rpc::service behind the handler's interface, with a stream of five.
struct rpc_handler {
  std::unique_ptr<rpc::method_table> table = rpc::method_table::make();
  std::unique_ptr<rpc::service> service;

  rpc_handler() {
    static constexpr rpc::server_facts facts{};
    EXPECT_EQ(rpc::add_builtins(*table, facts), rpc::add_errc::ok);
    const auto five = [](void*, rpc::call& c) noexcept {
      for (int i = 0; i < 5 && c.item(base::as_bytes("item")); ++i) {
      }
    };
    EXPECT_EQ(table->add("Five", five, nullptr), rpc::add_errc::ok);
    service = rpc::service::make(*table);
  }
  void begin(const srmp::conversation& from) noexcept { service->begin(from); }
  template <class Batch>
  void on_request(const srmp::wire::frame& f, srmp::responder<Batch>& answer) noexcept {
    service->on_request(f, answer);
  }
  void on_one_way(const srmp::wire::frame& f) noexcept { service->on_one_way(f); }
};

TEST(load_session, calls_echo_with_json) {
  load_settings s = basic();
  s.ask = load_ask::rpc_echo;
  s.requests = 2000;
  s.window = 100;
  s.fill = true;
  world<rpc_handler> w(s);
  ASSERT_TRUE(w.run(1000 * ms));
  const load_figures f = w.load->figures();
  EXPECT_EQ(f.replies, 2000u);
  EXPECT_EQ(f.errors, decltype(f.errors){});
  EXPECT_EQ(w.own_handler.service->counters().calls.get(), 2001u);
}

TEST(load_session, calls_methods_by_name) {
  load_settings s = basic();
  s.ask = load_ask::rpc_call;
  s.method = "Api/All";
  s.requests = 100;
  world<rpc_handler> w(s);
  ASSERT_TRUE(w.run(1000 * ms));
  EXPECT_EQ(w.load->figures().replies, 100u);
}

TEST(load_session, counts_error_replies) {
  load_settings s = basic();
  s.ask = load_ask::rpc_call;
  s.method = "No/Such";
  s.requests = 100;
  world<rpc_handler> w(s);
  ASSERT_TRUE(w.run(1000 * ms));
  const load_figures f = w.load->figures();
  EXPECT_TRUE(f.answered);
  EXPECT_EQ(f.replies, 0u);
  EXPECT_EQ(f[load_error::error_reply], 100u);
  EXPECT_EQ(w.load->latency().count(), 0u);
}

TEST(load_session, takes_the_items_of_streams) {
  load_settings s = basic();
  s.ask = load_ask::rpc_stream;
  s.method = "Five";
  s.requests = 300;
  s.window = 30;
  world<rpc_handler> w(s);
  ASSERT_TRUE(w.run(1000 * ms));
  const load_figures f = w.load->figures();
  EXPECT_EQ(f.replies, 300u);
  EXPECT_EQ(f.items, 1500u);
  EXPECT_EQ(f.errors, decltype(f.errors){});
}

TEST(load_figures, of_several_generators_add_up) {
  load_figures a;
  a.phase = load_phase::finished;
  a.sent = 3;
  a.first_ns = 50;
  a.last_ns = 100;
  a.behind_ns = 7;
  a.errors[0] = 1;
  load_figures b;
  b.phase = load_phase::draining;
  b.answered = true;
  b.sent = 4;
  b.first_ns = 40;
  b.last_ns = 90;
  b.errors[0] = 2;
  a += b;
  EXPECT_EQ(a.phase, load_phase::draining);
  EXPECT_TRUE(a.answered);
  EXPECT_EQ(a.sent, 7u);
  EXPECT_EQ(a.first_ns, 40u);
  EXPECT_EQ(a.last_ns, 100u);
  EXPECT_EQ(a.behind_ns, 7u);
  EXPECT_EQ(a[load_error::timeout], 3u);
}

}  // namespace
}  // namespace millrace::loadgen
