// Clients of HTTP/3 and the built-in endpoints.
#include "loadgen/h3_load.hpp"

#include <gtest/gtest.h>

#include "h3/server.hpp"
#include "http/dispatcher.hpp"
#include "loadgen/fetch_ends.hpp"
#include "service/builtin.hpp"
#include "support/eal_main.hpp"

namespace millrace::loadgen {
namespace {

fetch_settings bodies(std::uint64_t bytes) {
  fetch_settings s = bodies_over(h3::protocol, bytes);
  s.standing_streams = h3_standing_streams;
  return s;
}

buf::large_block_pool one_block() {
  buf::large_block_pool_config c;
  c.name = "pattern";
  c.blocks_per_mempool = 1;
  c.cache = 0;
  c.mbufs_per_block = 4096;
  return std::move(buf::large_block_pool::make(c).value());
}

class ends : public fetch_ends {
 public:
  buf::large_block_pool blocks = one_block();
  buf::content pattern = std::move(service::make_pattern(blocks).value());
  std::unique_ptr<service::builtin> builtin =
      std::move(service::builtin::make({.streamed = 256, .json_bodies = 256}, pattern, nullptr).value());
  std::vector<http::exchange_handler*> handlers;
  http::router routes;
  std::optional<http::dispatcher> root;
  std::unique_ptr<h3::server> answers;
  h3_load* asking = nullptr;

  explicit ends(fetch_settings settings, const serving& how = {}) : fetch_ends(how) {
    http::router_builder all;
    for (const service::route& r : builtin->routes()) {
      EXPECT_TRUE(all.add(r.method, r.pattern, static_cast<std::uint32_t>(handlers.size())));
      handlers.push_back(r.handler);
    }
    routes = std::move(all.build().value());
    root.emplace(http::dispatcher::parts{&routes, handlers, {}, {}, "test"});
    make(
        std::move(settings), h3::protocol,
        [&](quic::endpoint::quic_endpoint& at, mem::packet_pool& from) {
          answers = std::move(
              h3::server::make({.connections = 512, .exchanges = 2048}, *root, buf::mbuf_source(from)).value());
          EXPECT_TRUE(answers->serve_on(at));
        },
        [&](const fetch_settings& s, mem::packet_pool& from) -> base::result<std::unique_ptr<fetch_load>> {
          auto made = h3_load::make(s, from);
          if (!made) return made.error();
          asking = made.value().get();
          return std::unique_ptr<fetch_load>(std::move(made.value()));
        });
  }
  ~ends() { end(); }
  [[nodiscard]] std::uint64_t counted(h3::event e) const { return answers->count().get(e); }
};

TEST(h3_load, bodies_come_whole_and_exactly_as_many_as_were_asked_for) {
  fetch_settings s = bodies(100'001);
  s.connections = 3;
  s.window = 4;
  s.requests = 100;
  ends w(s);
  ASSERT_TRUE(w.run());
  const fetch_figures f = w.load->figures();
  EXPECT_EQ(f.established, 3u);
  EXPECT_EQ(f.begun, 100u);
  EXPECT_EQ(f.whole, 100u);
  EXPECT_EQ(f.bytes, 100 * s.expected_bytes);
  EXPECT_EQ(f.wrong + f.short_bodies + f.failed + f.lost_connections, 0u);
  EXPECT_EQ(w.load->latency().count(), 100u);
  EXPECT_EQ(w.counted(h3::event::heads), 100u);
  EXPECT_EQ(w.asking->h3_counters().get(h3::event::heads), 100u);
  EXPECT_EQ(w.builtin->count().bytes.get(), 100u);
  w.expect_balance();
  EXPECT_TRUE(w.builtin->is_whole());
}

TEST(h3_load, a_lossy_wire_takes_nothing_from_bodies) {
  fetch_settings s = bodies(300'000);
  s.window = 2;
  s.requests = 12;
  ends w(s);
  w.client->receive_through(0, &w.to_client.emplace(pipeline::impairment_settings{.loss_percent = 2, .seed = 5}));
  ASSERT_TRUE(w.run());
  const fetch_figures f = w.load->figures();
  EXPECT_EQ(f.whole, 12u);
  EXPECT_EQ(f.wrong + f.short_bodies + f.failed + f.lost_connections, 0u);
  w.expect_balance();
}

TEST(h3_load, many_small_requests_cost_no_heap) {
  fetch_settings s = bodies(1024);
  s.connections = 8;
  s.window = 8;
  s.requests = 4'000;
  ends w(s);
  ASSERT_TRUE(w.run());
  EXPECT_EQ(w.load->figures().whole, 4'000u);
  w.expect_balance();
}

TEST(h3_load, a_status_that_is_not_200_is_a_failure) {
  fetch_settings s = bodies(0);
  s.path = "/nowhere";
  s.requests = 5;
  ends w(s);
  ASSERT_TRUE(w.run());
  EXPECT_EQ(w.load->figures().failed, 5u);
  EXPECT_EQ(w.load->figures().whole, 0u);
  w.expect_balance();
}

TEST(h3_load, a_body_makes_it_a_post) {
  fetch_settings s = bodies(0);
  s.path = "/json";
  s.body = R"({"a":[1,2]})";
  s.requests = 20;
  s.window = 4;
  ends w(s);
  ASSERT_TRUE(w.run());
  EXPECT_EQ(w.load->figures().whole, 20u);
  EXPECT_EQ(
      w.load->figures().bytes,
      20 * std::string_view(R"({"bytes":11,"objects":1,"arrays":1,"members":1,"strings":0,"numbers":2,"literals":0})")
               .size());
  w.expect_balance();
  EXPECT_TRUE(w.builtin->is_whole());
}

TEST(h3_load, a_long_body_is_sent_from_where_it_lies) {
  fetch_settings s = bodies(0);
  s.path = "/discard";
  s.body.resize(3'000'001, 'x');
  s.body_type = "application/octet-stream";
  s.expected_bytes = 0;
  s.checks_pattern = false;
  s.connections = 2;
  s.window = 2;
  s.requests = 8;
  ends w(s);
  ASSERT_TRUE(w.run());
  EXPECT_EQ(w.load->figures().whole, 8u);
  EXPECT_EQ(w.load->figures().failed, 0u);
  EXPECT_EQ(w.builtin->count().discards.get(), 8u);
  w.expect_balance();
  EXPECT_TRUE(w.builtin->is_whole());
}

TEST(h3_load, connections_after_the_first_resume_and_ask_at_once) {
  fetch_settings s = bodies(2'000);
  s.requests = 6;
  s.requests_each = 1;
  s.resumes = s.early_data = true;
  ends w(s);
  ASSERT_TRUE(w.run());
  const fetch_figures f = w.load->figures();
  EXPECT_EQ(f.whole, 6u);
  EXPECT_GE(f.resumed, 1u);
  EXPECT_GE(f.early_accepted, 1u);
  EXPECT_GE(w.counted(h3::event::early_requests), 1u);
  w.expect_balance();
}

}  // namespace
}  // namespace millrace::loadgen

MILLRACE_EAL_TEST_MAIN("-l", "0", "-m", "256")
