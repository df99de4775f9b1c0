// Clients of hq-interop and the server.
#include "loadgen/hq_load.hpp"

#include <gtest/gtest.h>

#include "loadgen/fetch_ends.hpp"
#include "pipeline/hq_server.hpp"
#include "support/eal_main.hpp"

namespace millrace::loadgen {
namespace {

fetch_settings bodies(std::uint64_t bytes) { return bodies_over(pipeline::hq_protocol, bytes); }

class ends : public fetch_ends {
 public:
  std::unique_ptr<pipeline::hq_server> answers = std::move(pipeline::hq_server::make(1024, nullptr).value());

  explicit ends(fetch_settings settings, const serving& how = {}) : fetch_ends(how) {
    make(
        std::move(settings), pipeline::hq_protocol,
        [&](quic::endpoint::quic_endpoint& at, mem::packet_pool&) {
          EXPECT_TRUE(at.add_application(pipeline::hq_protocol, *answers));
        },
        [](const fetch_settings& s, mem::packet_pool& from) -> base::result<std::unique_ptr<fetch_load>> {
          auto made = hq_load::make(s, from);
          if (!made) return made.error();
          return std::unique_ptr<fetch_load>(std::move(made.value()));
        });
  }
  ~ends() { end(); }
};

TEST(hq_load, bodies_come_whole_and_exactly_as_many_as_were_asked_for) {
  fetch_settings s = bodies(100'001);
  s.connections = 3;
  s.window = 4;
  s.requests = 100;
  ends w(s);
  ASSERT_TRUE(w.run());
  const fetch_figures f = w.load->figures();
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
  fetch_settings s = bodies(300'000);
  s.window = 2;
  s.requests = 12;
  ends w(s);
  w.client->receive_through(0, &w.to_client.emplace(pipeline::impairment_settings{.loss_percent = 2, .seed = 5}));
  ASSERT_TRUE(w.run());
  const fetch_figures f = w.load->figures();
  EXPECT_EQ(f.whole, 12u);
  EXPECT_EQ(f.wrong + f.short_bodies + f.failed + f.lost_connections, 0u);
  EXPECT_GT(w.client->total().dropped(stats::drop_reason::impaired), 20u);
  w.expect_balance();
}

TEST(hq_load, connections_that_end_are_followed_by_others) {
  fetch_settings s = bodies(1'000);
  s.connections = 2;
  s.requests = 41;
  s.requests_each = 2;
  ends w(s);
  ASSERT_TRUE(w.run());
  const fetch_figures f = w.load->figures();
  EXPECT_EQ(f.whole, 41u);
  EXPECT_GE(f.established, 21u);
  EXPECT_LE(f.established, 22u);
  EXPECT_EQ(f.lost_connections, 0u);
  EXPECT_EQ(f.resumed, 0u) << "nobody asked for it";
  w.expect_balance();
}

TEST(hq_load, connections_resume_by_the_ticket_of_an_earlier_one) {
  fetch_settings s = bodies(1'000);
  s.requests = 10;
  s.requests_each = 1;
  s.resumes = true;
  ends w(s);
  ASSERT_TRUE(w.run());
  const fetch_figures f = w.load->figures();
  EXPECT_EQ(f.whole, 10u);
  EXPECT_GE(f.established, 10u);
  EXPECT_GE(f.resumed, 8u) << "the first has no ticket yet";
  EXPECT_EQ(f.early_accepted, 0u);
  w.expect_balance();
}

TEST(hq_load, requests_go_out_as_0rtt) {
  fetch_settings s = bodies(20'000);
  s.window = 2;
  s.requests = 20;
  s.requests_each = 2;
  s.resumes = s.early_data = true;
  ends w(s);
  const bool done = w.run();
  const fetch_figures g = w.load->figures();
  ASSERT_TRUE(done) << "begun " << g.begun << " whole " << g.whole << " in flight " << g.in_flight << " connections "
                    << g.connections << " established " << g.established << " 0-RTT " << g.early_accepted;
  const fetch_figures f = w.load->figures();
  EXPECT_EQ(f.whole, 20u);
  EXPECT_GE(f.early_accepted, 8u);
  EXPECT_EQ(w.endpoint->events().get(event::early_data_accepted), f.early_accepted);
  EXPECT_EQ(f.wrong + f.short_bodies + f.failed, 0u);
  w.expect_balance();
}

TEST(hq_load, a_server_that_refuses_0rtt_answers_all_the_same) {
  fetch_settings s = bodies(20'000);
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
  fetch_settings s = bodies(1'000'000);
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
  fetch_settings s = bodies(50'000);
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
  const fetch_figures f = w.load->figures();
  EXPECT_EQ(f.established, 2u) << "the same connections all the time";
  EXPECT_EQ(f.wrong + f.short_bodies + f.failed + f.lost_connections, 0u);
  EXPECT_EQ(w.load->events().get(event::path_failed), 0u);
  w.expect_balance();
}

TEST(hq_load, follows_a_server_to_a_version_it_speaks) {
  static constexpr std::array only_v2{quic::wire::version_2};
  fetch_settings s = bodies(1'000);
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
  fetch_settings s = bodies(1'000);
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
  fetch_settings s = bodies(1'000);
  s.patience_ns = 50 * ms;
  ends w(s);
  w.run_until([] { return false; }, false);
  EXPECT_TRUE(w.load->is_done());
  EXPECT_FALSE(w.load->figures().answered);
  EXPECT_EQ(w.load->figures().begun, 0u);
  EXPECT_EQ(w.load->figures().connections, 1u);
}

TEST(hq_load, a_server_with_another_key_is_turned_away_from) {
  fetch_settings s = bodies(1'000);
  s.tls = client_context(pipeline::hq_protocol, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
  s.patience_ns = 300 * ms;
  ends w(s);
  ASSERT_TRUE(w.run());
  EXPECT_FALSE(w.load->figures().answered);
  ASSERT_TRUE(w.load->last_loss().has_value());
  EXPECT_EQ(w.load->last_loss()->end.reason, quic::conn::end_reason::closed_by_us);
  EXPECT_EQ(w.load->last_loss()->end.code & 0xff00, 0x0100u) << "a TLS alert";
  s.tls = client_context(pipeline::hq_protocol, credentials()->spki_pin());
  s.requests = 1;
  ends right(s);
  ASSERT_TRUE(right.run());
  EXPECT_EQ(right.load->figures().whole, 1u);
}

TEST(hq_load, what_a_server_resets_is_failed) {
  fetch_settings s = bodies(0);
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
  fetch_settings s = bodies(5'000);
  s.expected_bytes = 6'000;
  s.requests = 3;
  ends w(s);
  ASSERT_TRUE(w.run());
  EXPECT_EQ(w.load->figures().short_bodies, 3u);
  EXPECT_EQ(w.load->figures().wrong, 0u);
  w.expect_balance();
}

TEST(hq_load, a_server_that_closes_is_a_lost_connection_and_is_asked_again) {
  fetch_settings s = bodies(100'000'000);
  s.patience_ns = 300 * ms;
  ends w(s);
  const env::tsc_clock clock;
  w.run_until([&w] { return w.load->figures().bytes > 1'000'000; });
  w.endpoint->close_all(0, clock.now_ns());
  w.run_until([&w] { return w.load->figures().lost_connections != 0; });
  const fetch_figures f = w.load->figures();
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
  fetch_settings s = bodies(500'000);
  s.window = 3;
  ends w(s);
  w.run_until([&w] { return w.load->figures().whole > 2; });
  EXPECT_FALSE(w.load->is_done());
  w.client->tell_services_to_stop();
  ASSERT_TRUE(w.run());
  const fetch_figures f = w.load->figures();
  EXPECT_GT(f.whole, 2u);
  EXPECT_EQ(f.whole, f.begun);
  w.expect_balance();
}

TEST(hq_load, time_ends_it) {
  fetch_settings s = bodies(10'000);
  s.duration_ns = 100 * ms;
  ends w(s);
  ASSERT_TRUE(w.run());
  const fetch_figures f = w.load->figures();
  EXPECT_GT(f.whole, 0u);
  EXPECT_EQ(f.whole, f.begun);
  EXPECT_GE(f.seconds(), 0.05);
  w.expect_balance();
}

}  // namespace
}  // namespace millrace::loadgen

MILLRACE_EAL_TEST_MAIN("-l", "0", "-m", "256")
