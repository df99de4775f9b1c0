// SRMP over QUIC, load generator and server: two loops across crossed rings, turned on one thread.
#include "loadgen/srmp_quic_load.hpp"

#include "loadgen/two_ends.hpp"
#include "pipeline/srmp_streams.hpp"
#include "rpc/builtin.hpp"
#include "rpc/service.hpp"
#include "support/eal_main.hpp"
#include "tls/context.hpp"

namespace millrace::loadgen {
namespace {

using test_support::address;
using test_support::host_of;

struct quic_ends {
  static inline unsigned made = 0;
  test::checked_pool pool{16383};
  port::crossed_rings cable = std::move(port::crossed_rings::make("sq" + std::to_string(made++)).value());
  std::deque<port::port> ports;
  std::unique_ptr<rpc::method_table> table = rpc::method_table::make();
  rpc::server_facts about;
  std::unique_ptr<rpc::service> service;
  crypto::engine engine = std::move(*crypto::engine::make());
  std::unique_ptr<pipeline::srmp_streams<srmp::echo_handler>> echoes;
  std::unique_ptr<pipeline::srmp_streams<rpc::service>> calls;
  srmp::echo_handler echo;
  std::unique_ptr<quic::endpoint::quic_endpoint> endpoint;
  std::unique_ptr<pipeline::quic_service> quic;
  std::unique_ptr<pipeline::service_loop> server, client;
  std::unique_ptr<srmp_quic_load> load;

  explicit quic_ends(srmp_quic_settings settings) {
    for (const std::uint16_t id : {cable.first(), cable.second()}) {
      auto plan = port::make_plan({&port::read_facts(id).value(), 1}, {});
      auto opened = port::port::open(plan.value().ports[0], *pool);
      EXPECT_TRUE(opened && opened.value().start());
      ports.push_back(std::move(opened.value()));
    }
    const pipeline::loop_interface at_server{.port = cable.first(), .host = host_of(1)};
    const pipeline::loop_interface at_client{.port = cable.second(), .host = host_of(2)};
    const pipeline::loop_settings how{.idle = pipeline::idle_policy::poll};
    server = std::move(pipeline::service_loop::make(how, {&at_server, 1}, *pool).value());
    client = std::move(pipeline::service_loop::make(how, {&at_client, 1}, *pool).value());
    serve(settings.load.ask);
    tls::client_settings c;
    c.trust = tls::client_trust::anybody().value();
    c.protocols = {"srmp"};
    settings.tls = tls::client_context::make(std::move(c)).value();
    auto got = srmp_quic_load::make(settings, *pool);
    EXPECT_TRUE(got) << (got ? "" : got.error().what);
    load = std::move(got.value());
    EXPECT_TRUE(load->open_on(*client));
  }
  void serve(load_ask ask) {
    quic::endpoint::endpoint_keys keys;
    keys.cid[0] = keys.reset[0] = keys.token[0] = 1;
    quic::endpoint::endpoint_settings s;
    s.connections = s.handshakes = 64;
    s.streams = 1024;
    endpoint = std::move(quic::endpoint::quic_endpoint::make(s, keys, engine, *pool, env::tsc_clock{}.now_ns(),
                                                             1'790'000'000'000'000'000)
                             .value());
    tls::self_signed_settings self;
    self.names = {"example.test"};
    self.now_ns = 1'790'000'000'000'000'000;
    const tls::pem_pair pem = tls::make_self_signed(self).value();
    tls::server_settings t;
    t.credentials = tls::server_credentials::make({&pem, 1}).value();
    t.protocols = {{"srmp", "1"}};
    t.ticket_secret = std::string(32, 's');
    endpoint->serve(tls::server_context::make(std::move(t)).value());
    if (ask == load_ask::echo || ask == load_ask::one_way) {
      echoes = std::move(pipeline::srmp_streams<srmp::echo_handler>::make(echo, {}, *pool).value());
      EXPECT_TRUE(echoes->serve_on(*endpoint));
    } else {
      EXPECT_EQ(rpc::add_builtins(*table, about), rpc::add_errc::ok);
      service = rpc::service::make(*table);
      calls = std::move(pipeline::srmp_streams<rpc::service>::make(*service, {}, *pool).value());
      EXPECT_TRUE(calls->serve_on(*endpoint));
    }
    quic = std::make_unique<pipeline::quic_service>(*endpoint, *pool);
    EXPECT_TRUE(server->open(443, *quic));
  }
  ~quic_ends() {
    load.reset();
    endpoint.reset();
    server.reset();
    client.reset();
    buf::burst left;
    for (const port::port& p : ports)
      while (port::rx_burst(p.id(), 0, left, 32) != 0) left.free_all();
    ports.clear();
  }
  bool run(unsigned turns = 3'000'000) {
    for (; turns != 0 && !load->is_done(); --turns) {
      client->turn();
      server->turn();
    }
    return load->is_done();
  }
};

srmp_quic_settings at_server() {
  srmp_quic_settings s;
  s.load.target = {address("198.18.0.1"), 443};
  s.server_name = "example.test";
  s.load.timeout_ns = 20'000'000'000;
  s.endpoint.connections = s.endpoint.handshakes = 64;
  s.endpoint.streams = 1024;
  return s;
}

TEST(srmp_quic_load, asks_as_many_times_as_it_was_told_and_gets_every_answer) {
  srmp_quic_settings s = at_server();
  s.load.connections = 3;
  s.streams = 4;
  s.load.window = 64;
  s.load.requests = 20'000;
  quic_ends e(s);
  ASSERT_TRUE(e.run());
  const load_figures f = e.load->figures();
  EXPECT_EQ(f.sent, 20'000u);
  EXPECT_EQ(f.replies, 20'000u);
  EXPECT_EQ(f.in_flight, 0u);
  for (const std::uint64_t n : f.errors) EXPECT_EQ(n, 0u);
  EXPECT_EQ(e.echoes->counters().requests.get(), 20'000u);
  EXPECT_GT(e.load->latency().count(), 0u);
  EXPECT_EQ(e.load->connections_begun(), 3u);
  EXPECT_EQ(e.load->connections_lost(), 0u);
}

TEST(srmp_quic_load, sends_frames_of_many_packets) {
  srmp_quic_settings s = at_server();
  s.load.size = 60'000;
  s.load.requests = 500;
  s.load.window = 8;
  quic_ends e(s);
  ASSERT_TRUE(e.run());
  EXPECT_EQ(e.load->figures().replies, 500u);
  EXPECT_EQ(e.load->figures()[load_error::mismatch], 0u);
}

TEST(srmp_quic_load, calls_a_method_and_keeps_to_a_rate) {
  srmp_quic_settings s = at_server();
  s.load.ask = load_ask::rpc_echo;
  s.load.size = 100;
  s.load.rate = 20'000;
  s.load.requests = 1'000;
  s.streams = 2;
  quic_ends e(s);
  ASSERT_TRUE(e.run());
  EXPECT_EQ(e.load->figures().replies, 1'000u);
  EXPECT_EQ(e.calls->counters().requests.get(), 1'000u);
}

TEST(srmp_quic_load, one_way_messages_arrive_all) {
  srmp_quic_settings s = at_server();
  s.load.ask = load_ask::one_way;
  s.load.requests = 30'000;
  quic_ends e(s);
  ASSERT_TRUE(e.run());
  EXPECT_EQ(e.load->figures().sent, 30'000u);
  for (unsigned i = 0; i < 10'000; ++i) e.server->turn();
  EXPECT_EQ(e.echoes->counters().one_ways.get(), 30'000u);
}

TEST(srmp_quic_load, is_not_made_without_tls) {
  test::checked_pool pool{1023};
  const auto made = srmp_quic_load::make(at_server(), *pool);
  ASSERT_FALSE(made);
  EXPECT_TRUE(made.error().unusable);
}

}  // namespace
}  // namespace millrace::loadgen

MILLRACE_EAL_TEST_MAIN("-l", "0", "-m", "256")
