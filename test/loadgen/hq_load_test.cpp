// Clients of hq-interop and the server, each in a loop of its own across crossed rings, on one thread: real packets,
// real handshakes, the machine's clock.
#include "loadgen/hq_load.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <optional>

#include "crypto/random.hpp"
#include "loadgen/two_ends.hpp"
#include "pipeline/hq_pattern.hpp"
#include "pipeline/hq_server.hpp"
#include "support/eal_main.hpp"
#include "tls/context.hpp"

namespace millrace::loadgen {
namespace {

using quic::conn::event;
using test_support::host_of;

constexpr std::uint16_t quic_port = 443;
constexpr std::uint64_t ms = 1'000'000;

std::int64_t wall_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::shared_ptr<const tls::server_credentials> credentials() {
  static const auto made = tls::server_credentials::self_signed({.now_ns = wall_now_ns()}).value();
  return made;
}

std::shared_ptr<const tls::client_context> client_context(const std::string& pin = "") {
  tls::client_settings s;
  s.trust = pin.empty() ? tls::client_trust::anybody().value() : tls::client_trust::pinned(pin).value();
  s.protocols = {std::string(pipeline::hq_protocol)};
  return tls::client_context::make(std::move(s)).value();
}

hq_settings bodies(std::uint64_t bytes) {
  hq_settings s;
  s.target = {base::ip_address::parse("198.18.0.1").value(), quic_port};
  s.server_name = "localhost";
  s.path = "/bytes/" + std::to_string(bytes);
  s.expected_bytes = bytes;
  s.checks_pattern = bytes != 0;
  s.patience_ns = 5'000 * ms;
  s.tls = client_context();
  return s;
}

struct serving {
  std::span<const quic::wire::version_number> versions = quic::conn::transport_settings::default_versions;
  bool early_data = true;
  quic::endpoint::retry_mode retry = quic::endpoint::retry_mode::never;
};

class ends {
  static inline unsigned made_ = 0;
  serving serving_;

 public:
  test::checked_pool pool{16383};
  port::crossed_rings cable = std::move(port::crossed_rings::make("hq" + std::to_string(made_++), 1, 4096).value());
  std::deque<port::port> ports;
  crypto::engine engine = std::move(*crypto::engine::make());
  std::unique_ptr<pipeline::hq_server> answers = std::move(pipeline::hq_server::make(1024, nullptr).value());
  std::shared_ptr<tls::anti_replay> replay =
      std::make_shared<tls::anti_replay>(tls::anti_replay_limits{}, wall_now_ns());
  std::unique_ptr<quic::endpoint::quic_endpoint> endpoint;  // the server's
  std::optional<pipeline::quic_service> service;
  std::optional<pipeline::impairment> to_client;
  std::unique_ptr<pipeline::service_loop> server, client;
  std::unique_ptr<hq_load> load;
  mem::heap_tally heap;

  explicit ends(hq_settings settings, const serving& how = {}) : serving_(how) {
    for (const std::uint16_t id : {cable.first(), cable.second()}) {
      auto plan = port::make_plan({&port::read_facts(id).value(), 1}, {});
      auto opened = port::port::open(plan.value().ports[0], *pool);
      EXPECT_TRUE(opened && opened.value().start());
      ports.push_back(std::move(opened.value()));
    }
    make_server();
    const pipeline::loop_interface at_server{.port = cable.first(), .host = host_of(1)};
    const pipeline::loop_interface at_client{.port = cable.second(), .host = host_of(2)};
    const pipeline::loop_settings loops{.idle = pipeline::idle_policy::poll};
    server = std::move(pipeline::service_loop::make(loops, {&at_server, 1}, *pool).value());
    client = std::move(pipeline::service_loop::make(loops, {&at_client, 1}, *pool).value());
    EXPECT_TRUE(server->open(quic_port, *service));
    settings.endpoint.transport.max_udp_payload = 1900;
    static_cast<void>(fit(settings));
    auto made = hq_load::make(settings, *pool);
    EXPECT_TRUE(made) << (made ? "" : made.error().what);
    load = std::move(made.value());
    EXPECT_TRUE(load->open_on(*client));
  }
  ~ends() {
    server.reset();
    client.reset();
    load.reset();
    service.reset();
    endpoint.reset();
    buf::burst left;
    for (const port::port& p : ports)
      while (port::rx_burst(p.id(), 0, left, 32) != 0) left.free_all();
    ports.clear();
  }

  // Both ends by turns, until the client is done, `until` says so, or 30 seconds are over.
  template <class Until>
  bool run_until(Until&& until, bool with_server = true) {
    const mem::heap_watch watched(heap);
    const env::tsc_clock clock;
    const std::uint64_t end = clock.now_ns() + 30'000 * ms;
    while (!load->is_done() && !until() && clock.now_ns() < end) {
      client->turn();
      if (with_server) server->turn();
    }
    return load->is_done();
  }
  bool run() {
    return run_until([] { return false; });
  }

  void expect_balance() {
    server->finish();  // closes what is left, which the client hears
    client->finish();
    EXPECT_TRUE(client->total().is_conserved());
    EXPECT_TRUE(server->total().is_conserved());
    if (mem::heap_counter_present()) {
      EXPECT_EQ(heap.calls.get(), 0u) << "outside of handshakes";
      EXPECT_GT(load->endpoint().handshake_heap_calls(), 0u);
    }
    const hq_figures f = load->figures();
    EXPECT_EQ(f.begun, f.whole + f.short_bodies + f.failed);
    EXPECT_EQ(f.in_flight, 0u);
    // Closed connections are remembered for three PTO; then nothing is lent.
    const env::tsc_clock clock;
    const std::uint64_t end = clock.now_ns() + 10'000 * ms;
    while (!(load->is_whole() && endpoint->is_whole()) && clock.now_ns() < end) {
      client->turn();
      server->turn();
    }
    EXPECT_TRUE(load->is_whole());
    EXPECT_TRUE(endpoint->is_whole());
  }

 private:
  void make_server() {
    quic::endpoint::endpoint_settings s;
    s.connections = 512;
    s.handshakes = 512;
    s.streams = 2048;
    s.sent_blocks = 4096;
    s.pieces = 4096;
    s.source_slots = 64;
    s.sources.source_unproven = s.sources.source_handshakes = {0, 1};
    s.sources.retry = serving_.retry;
    s.sources.retry_above = s.sources.accept_below = s.sources.most_half_open = 512;
    s.transport.versions = serving_.versions;
    s.transport.max_udp_payload = 1900;
    quic::endpoint::endpoint_keys keys;
    EXPECT_TRUE(crypto::random_bytes(keys.cid) && crypto::random_bytes(keys.reset) && crypto::random_bytes(keys.token));
    endpoint = std::move(
        quic::endpoint::quic_endpoint::make(s, keys, engine, *pool, env::tsc_clock{}.now_ns(), wall_now_ns()).value());
    tls::server_settings t;
    t.credentials = credentials();
    t.protocols = {{std::string(pipeline::hq_protocol), "test"}};
    if (serving_.early_data) t.early_data = replay;
    endpoint->serve(tls::server_context::make(std::move(t)).value());
    EXPECT_TRUE(endpoint->add_application(pipeline::hq_protocol, *answers));
    service.emplace(*endpoint, *pool);
  }
};

TEST(hq_load, bodies_come_whole_and_exactly_as_many_as_were_asked_for) {
  hq_settings s = bodies(100'001);
  s.connections = 3;
  s.window = 4;
  s.requests = 100;
  ends w(s);
  ASSERT_TRUE(w.run());
  const hq_figures f = w.load->figures();
  EXPECT_TRUE(f.answered);
  EXPECT_EQ(f.connections, 3u);
  EXPECT_EQ(f.established, 3u);
  EXPECT_EQ(f.begun, 100u);
  EXPECT_EQ(f.whole, 100u);
  EXPECT_EQ(f.bytes, 100 * s.expected_bytes);
  EXPECT_EQ(f.wrong + f.short_bodies + f.failed + f.lost_connections, 0u);
  EXPECT_EQ(f.resumed + f.early_accepted + f.key_updates + f.migrations, 0u);
  EXPECT_EQ(w.load->latency().count(), 100u);
  EXPECT_GT(f.seconds(), 0);
  EXPECT_FALSE(w.load->last_loss().has_value());
  EXPECT_EQ(w.answers->counters().requests.get(), 100u);
  w.expect_balance();
}

TEST(hq_load, a_lossy_wire_takes_nothing_from_bodies) {
  hq_settings s = bodies(300'000);
  s.window = 2;
  s.requests = 12;
  ends w(s);
  w.client->receive_through(0, &w.to_client.emplace(pipeline::impairment_settings{.loss_percent = 2, .seed = 5}));
  ASSERT_TRUE(w.run());
  const hq_figures f = w.load->figures();
  EXPECT_EQ(f.whole, 12u);
  EXPECT_EQ(f.wrong + f.short_bodies + f.failed + f.lost_connections, 0u);
  EXPECT_GT(w.client->total().dropped(stats::drop_reason::impaired), 20u);
  w.expect_balance();
}

TEST(hq_load, connections_that_end_are_followed_by_others) {
  hq_settings s = bodies(1'000);
  s.connections = 2;
  s.requests = 41;
  s.requests_each = 2;
  ends w(s);
  ASSERT_TRUE(w.run());
  const hq_figures f = w.load->figures();
  EXPECT_EQ(f.whole, 41u);
  EXPECT_GE(f.established, 21u);
  EXPECT_LE(f.established, 22u);
  EXPECT_EQ(f.lost_connections, 0u);
  EXPECT_EQ(f.resumed, 0u) << "nobody asked for it";
  w.expect_balance();
}

TEST(hq_load, connections_resume_by_the_ticket_of_an_earlier_one) {
  hq_settings s = bodies(1'000);
  s.requests = 10;
  s.requests_each = 1;
  s.resumes = true;
  ends w(s);
  ASSERT_TRUE(w.run());
  const hq_figures f = w.load->figures();
  EXPECT_EQ(f.whole, 10u);
  EXPECT_GE(f.established, 10u);
  EXPECT_GE(f.resumed, 8u) << "the first has no ticket yet";
  EXPECT_EQ(f.early_accepted, 0u);
  w.expect_balance();
}

TEST(hq_load, requests_go_out_as_0rtt) {
  hq_settings s = bodies(20'000);
  s.window = 2;
  s.requests = 20;
  s.requests_each = 2;
  s.resumes = s.early_data = true;
  ends w(s);
  const bool done = w.run();
  const hq_figures g = w.load->figures();
  ASSERT_TRUE(done) << "begun " << g.begun << " whole " << g.whole << " in flight " << g.in_flight << " connections "
                    << g.connections << " established " << g.established << " 0-RTT " << g.early_accepted;
  const hq_figures f = w.load->figures();
  EXPECT_EQ(f.whole, 20u);
  EXPECT_GE(f.early_accepted, 8u);
  EXPECT_EQ(w.endpoint->events().get(event::early_data_accepted), f.early_accepted);
  EXPECT_EQ(f.wrong + f.short_bodies + f.failed, 0u);
  w.expect_balance();
}

TEST(hq_load, a_server_that_refuses_0rtt_answers_all_the_same) {
  hq_settings s = bodies(20'000);
  s.requests = 6;
  s.requests_each = 1;
  s.resumes = s.early_data = true;
  ends w(s, {.early_data = false});
  ASSERT_TRUE(w.run());
  EXPECT_EQ(w.load->figures().whole, 6u);
  EXPECT_EQ(w.load->figures().early_accepted, 0u);
  w.expect_balance();
}

TEST(hq_load, keys_change_after_so_many_bytes) {
  hq_settings s = bodies(1'000'000);
  s.requests = 10;
  s.update_keys_every = 1'000'000;
  ends w(s);
  ASSERT_TRUE(w.run());
  EXPECT_EQ(w.load->figures().whole, 10u);
  EXPECT_GE(w.load->figures().key_updates, 1u);
  EXPECT_GE(w.endpoint->events().get(event::key_updates), 1u) << "it follows, the last one perhaps not any more";
  EXPECT_EQ(w.endpoint->events().get(event::auth_failed), 0u);
  w.expect_balance();
}

TEST(hq_load, connections_go_on_from_other_ports) {
  hq_settings s = bodies(50'000);
  s.connections = 2;
  s.migrate_every_ns = 60 * ms;
  ends w(s);
  const auto moved = [&w] {
    return w.load->figures().migrations >= 12 && w.endpoint->events().get(event::migrations) >= 12;
  };
  w.run_until(moved);
  EXPECT_TRUE(moved()) << w.load->figures().migrations;
  w.client->tell_services_to_stop();
  ASSERT_TRUE(w.run());
  const hq_figures f = w.load->figures();
  EXPECT_EQ(f.established, 2u) << "the same connections all the time";
  EXPECT_EQ(f.wrong + f.short_bodies + f.failed + f.lost_connections, 0u);
  EXPECT_EQ(w.load->events().get(event::path_failed), 0u);
  w.expect_balance();
}

TEST(hq_load, follows_a_server_to_a_version_it_speaks) {
  static constexpr std::array only_v2{quic::wire::version_2};
  hq_settings s = bodies(1'000);
  s.requests = 3;
  s.version = 0xff00'001d;  // a draft that nobody speaks any more
  ends w(s);
  ASSERT_TRUE(w.run());
  EXPECT_EQ(w.load->figures().whole, 3u);
  EXPECT_EQ(w.load->figures().lost_connections, 0u);
  EXPECT_EQ(w.endpoint->events().get(event::version_negotiations), 1u);
  w.expect_balance();
  s.version = quic::wire::version_1;
  ends v2(s, {.versions = only_v2});
  ASSERT_TRUE(v2.run());
  EXPECT_EQ(v2.load->figures().whole, 3u);
  v2.expect_balance();
}

TEST(hq_load, proves_its_address_when_it_is_asked_to) {
  hq_settings s = bodies(1'000);
  s.requests = 4;
  s.requests_each = 1;
  s.resumes = true;
  ends w(s, {.retry = quic::endpoint::retry_mode::always});
  ASSERT_TRUE(w.run());
  EXPECT_EQ(w.load->figures().whole, 4u);
  EXPECT_GE(w.endpoint->events().get(event::retries), 1u);
  EXPECT_GE(w.endpoint->events().get(event::tokens_accepted), 3u);
  w.expect_balance();
}

TEST(hq_load, a_server_that_is_not_there_ends_it_after_its_patience) {
  hq_settings s = bodies(1'000);
  s.patience_ns = 50 * ms;
  ends w(s);
  w.run_until([] { return false; }, false);
  EXPECT_TRUE(w.load->is_done());
  EXPECT_FALSE(w.load->figures().answered);
  EXPECT_EQ(w.load->figures().begun, 0u);
  EXPECT_EQ(w.load->figures().connections, 1u);
}

TEST(hq_load, a_server_with_another_key_is_turned_away_from) {
  hq_settings s = bodies(1'000);
  s.tls = client_context("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
  s.patience_ns = 300 * ms;
  ends w(s);
  ASSERT_TRUE(w.run());
  EXPECT_FALSE(w.load->figures().answered);
  ASSERT_TRUE(w.load->last_loss().has_value());
  EXPECT_EQ(w.load->last_loss()->end.reason, quic::conn::end_reason::closed_by_us);
  EXPECT_EQ(w.load->last_loss()->end.code & 0xff00, 0x0100u) << "a TLS alert";
  s.tls = client_context(credentials()->spki_pin());
  s.requests = 1;
  ends right(s);
  ASSERT_TRUE(right.run());
  EXPECT_EQ(right.load->figures().whole, 1u);
}

TEST(hq_load, what_a_server_resets_is_failed) {
  hq_settings s = bodies(0);
  s.path = "/nothing/there";
  s.requests = 5;
  ends w(s);
  ASSERT_TRUE(w.run());
  EXPECT_EQ(w.load->figures().failed, 5u);
  EXPECT_EQ(w.load->figures().whole, 0u);
  EXPECT_EQ(w.answers->counters().not_found.get(), 5u);
  w.expect_balance();
}

TEST(hq_load, a_body_of_another_size_or_content_is_told) {
  hq_settings s = bodies(5'000);
  s.expected_bytes = 6'000;
  s.requests = 3;
  ends w(s);
  ASSERT_TRUE(w.run());
  EXPECT_EQ(w.load->figures().short_bodies, 3u);
  EXPECT_EQ(w.load->figures().wrong, 0u);
  w.expect_balance();
}

TEST(hq_load, a_server_that_closes_is_a_lost_connection_and_is_asked_again) {
  hq_settings s = bodies(100'000'000);
  s.patience_ns = 300 * ms;
  ends w(s);
  const env::tsc_clock clock;
  w.run_until([&w] { return w.load->figures().bytes > 1'000'000; });
  w.endpoint->close_all(0, clock.now_ns());
  w.run_until([&w] { return w.load->figures().lost_connections != 0; });
  const hq_figures f = w.load->figures();
  EXPECT_EQ(f.lost_connections, 1u);
  EXPECT_EQ(f.failed, 1u);
  ASSERT_TRUE(w.load->last_loss().has_value());
  EXPECT_EQ(w.load->last_loss()->end.reason, quic::conn::end_reason::closed_by_peer);
  EXPECT_TRUE(w.load->last_loss()->end.from_application);
  w.run_until([&w] { return w.load->figures().connections > 1; });
  EXPECT_EQ(w.load->figures().connections, 2u);
  w.client->tell_services_to_stop();
  ASSERT_TRUE(w.run());
  w.expect_balance();
}

TEST(hq_load, told_to_stop_it_lets_bodies_in_flight_come) {
  hq_settings s = bodies(500'000);
  s.window = 3;
  ends w(s);
  w.run_until([&w] { return w.load->figures().whole > 2; });
  EXPECT_FALSE(w.load->is_done());
  w.client->tell_services_to_stop();
  ASSERT_TRUE(w.run());
  const hq_figures f = w.load->figures();
  EXPECT_GT(f.whole, 2u);
  EXPECT_EQ(f.whole, f.begun);
  w.expect_balance();
}

TEST(hq_load, time_ends_it) {
  hq_settings s = bodies(10'000);
  s.duration_ns = 100 * ms;
  ends w(s);
  ASSERT_TRUE(w.run());
  const hq_figures f = w.load->figures();
  EXPECT_GT(f.whole, 0u);
  EXPECT_EQ(f.whole, f.begun);
  EXPECT_GE(f.seconds(), 0.05);
  w.expect_balance();
}

}  // namespace
}  // namespace millrace::loadgen

MILLRACE_EAL_TEST_MAIN("-l", "0", "-m", "256")
