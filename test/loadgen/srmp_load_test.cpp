// The load generator as a service of a real loop, against a server's loop across crossed rings.
#include "loadgen/srmp_load.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "loadgen/two_ends.hpp"
#include "support/eal_main.hpp"

namespace millrace::loadgen {
namespace {

using pipeline::count;
using test_support::at_server;
using test_support::two_ends;

constexpr unsigned many_turns = 2'000'000;

void expect_all_answered(const load_figures& f, std::uint64_t requests) {
  EXPECT_EQ(f.sent, requests);
  EXPECT_EQ(f.replies, requests);
  EXPECT_EQ(f.in_flight, 0u);
  EXPECT_EQ(f.errors, decltype(f.errors){});
}

template <class Ends>
void expect_balance(Ends& w) {
  w.client->finish();
  w.server->finish();
  EXPECT_TRUE(w.client->total().is_conserved());
  EXPECT_TRUE(w.server->total().is_conserved());
}

TEST(srmp_load, gets_every_request_answered_without_the_heap) {
  load_settings s = at_server();
  s.connections = 16;
  s.window = 32;
  s.requests = 100'000;
  two_ends w(s);
  ASSERT_TRUE(w.run(many_turns));
  expect_all_answered(w.load->figures(), s.requests);
  EXPECT_EQ(w.load->latency().count(), s.requests);
  EXPECT_GT(w.load->latency().percentile(50), 0u);
  EXPECT_EQ(w.service.counters().requests.get(), s.requests + w.load->figures().knocks);
  EXPECT_EQ(w.heap.calls.get(), 0u);
  expect_balance(w);
}

TEST(srmp_load, fills_datagrams) {
  load_settings s = at_server();
  s.connections = 4;
  s.window = 230;
  s.fill = true;
  s.requests = 500'000;
  two_ends w(s);
  ASSERT_TRUE(w.run(many_turns));
  expect_all_answered(w.load->figures(), s.requests);
  EXPECT_LT(w.load->figures().datagrams_sent, s.requests / 46 + 10);
  EXPECT_EQ(w.heap.calls.get(), 0u);
  expect_balance(w);
}

TEST(srmp_load, speaks_ipv6) {
  load_settings s = at_server("2001:db8:18::1");
  s.connections = 4;
  s.requests = 10'000;
  two_ends w(s);
  ASSERT_TRUE(w.run(many_turns));
  expect_all_answered(w.load->figures(), s.requests);
  expect_balance(w);
}

TEST(srmp_load, keeps_a_rate_by_the_clock) {
  load_settings s = at_server();
  s.connections = 8;
  s.window = 64;
  s.rate = 100'000;
  s.duration_ns = 200'000'000;
  two_ends w(s);
  ASSERT_TRUE(w.run(UINT32_MAX));
  const load_figures f = w.load->figures();
  EXPECT_EQ(f.replies, f.sent);
  // None is sent that was not meant to be. A machine that takes the CPU away at the end may leave some unsent.
  EXPECT_LE(f.sent, 20'001u);
  EXPECT_GE(f.sent + f.behind_ns / 10'000 + 1, 20'000u);
}

TEST(srmp_load, carries_messages_larger_than_the_path) {
  load_settings s = at_server();
  s.size = 1600;
  s.requests = 200;
  two_ends w(s);
  ASSERT_TRUE(w.run(many_turns));
  expect_all_answered(w.load->figures(), s.requests);
  EXPECT_GE(w.client->host(0).figures().datagrams_fragmented.get(), s.requests);
  expect_balance(w);
}

TEST(srmp_load, sends_messages_larger_than_a_packet_s_room) {
  load_settings s = at_server();
  s.ask = load_ask::one_way;
  s.size = 20'000;
  s.requests = 50;
  two_ends w(s);
  ASSERT_TRUE(w.run(many_turns));
  for (int i = 0; i < 1000; ++i) w.server->turn();
  EXPECT_EQ(w.load->figures().sent, 50u);
  EXPECT_EQ(w.load->figures()[load_error::refused], 0u);
  EXPECT_EQ(w.service.counters().one_ways.get(), 50 + w.load->figures().knocks);
  expect_balance(w);
}

TEST(srmp_load, says_that_a_neighbour_does_not_answer) {
  load_settings s = at_server("198.18.0.77");
  s.patience_ns = 3'500'000'000;
  two_ends w(s);
  ASSERT_TRUE(w.run(UINT32_MAX));
  const load_figures f = w.load->figures();
  EXPECT_FALSE(f.answered);
  EXPECT_EQ(f.sent, 0u);
  EXPECT_GT(f[load_error::unreachable], 0u);
  expect_balance(w);
}

TEST(srmp_load, hears_that_a_port_is_closed) {
  load_settings s = at_server();
  ++s.target.port;
  s.patience_ns = 250'000'000;
  two_ends w(s);
  ASSERT_TRUE(w.run(UINT32_MAX));
  EXPECT_FALSE(w.load->figures().answered);
  EXPECT_GT(w.load->figures()[load_error::icmp_error], 0u);
}

TEST(srmp_load, counts_what_a_silent_server_leaves_unanswered) {
  load_settings s = at_server();
  s.connections = 4;
  s.window = 8;
  s.timeout_ns = 5'000'000;
  s.requests = 1000;
  two_ends w(s);
  while (w.load->figures().sent < 500) w.run(1);
  ASSERT_TRUE(w.run(UINT32_MAX, false));
  const load_figures f = w.load->figures();
  EXPECT_EQ(f.sent, 1000u);
  EXPECT_EQ(f.replies + f[load_error::timeout], 1000u);
  EXPECT_GT(f[load_error::timeout], 400u);
}

TEST(srmp_load, is_told_to_stop_and_loses_nothing) {
  load_settings s = at_server();
  s.connections = 8;
  s.window = 32;
  two_ends w(s);
  w.run(5000);
  ASSERT_EQ(w.load->figures().phase, load_phase::running);
  std::atomic<bool> stop = true;
  std::thread server([&] {  // as on a lcore of its own
    while (!w.load->is_done()) w.server->turn();
  });
  w.client->run(stop);
  server.join();
  const load_figures f = w.load->figures();
  EXPECT_TRUE(w.load->is_done());
  EXPECT_EQ(f.replies, f.sent);
  EXPECT_EQ(f.in_flight, 0u);
}

TEST(srmp_load, says_goodbye_to_the_first_generation) {
  load_settings s = at_server();
  s.connections = 3;
  s.requests = 100;
  s.peers = srmp::compatibility::first_generation();
  two_ends w(s, {.peers = srmp::compatibility::first_generation()});
  ASSERT_TRUE(w.run(many_turns));
  for (int i = 0; i < 10; ++i) {
    w.client->turn();
    w.server->turn();
  }
  EXPECT_EQ(w.service.counters().empty.get(), 3u);
  expect_all_answered(w.load->figures(), s.requests);
}

TEST(srmp_load, refuses_settings_and_loops_that_cannot_work) {
  load_settings s = at_server();
  s.window = 0;
  const auto made = srmp_load::make(s);
  ASSERT_FALSE(made);
  EXPECT_TRUE(made.error().unusable);
  two_ends w(at_server());
  EXPECT_FALSE(w.load->open_on(*w.client)) << "its ports are taken, by itself";
  s = at_server();
  s.interface = 1;
  EXPECT_FALSE(srmp_load::make(s).value()->open_on(*w.client));
}

}  // namespace
}  // namespace millrace::loadgen

MILLRACE_EAL_TEST_MAIN("-l", "0", "-m", "128")
