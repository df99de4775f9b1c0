// Our client and our server, end to end in virtual time.
#include "h3/client.hpp"

#include "h3/pair.hpp"

namespace millrace::test {
namespace {

using h3::asked;
using h3::event;
using h3::request_end;

struct noted final : h3::response_observer {
  std::string body;
  std::vector<unsigned> interim;
  unsigned status = 0;
  std::string type;
  std::vector<std::pair<std::string, std::string>> trailers;
  bool reads = true, body_end = false, ended = false;
  request_end end = request_end::complete;
  asked* at = nullptr;
  void on_interim(asked&, const h3::response_fields& f) noexcept override { interim.push_back(f.status); }
  void on_response(asked& a) noexcept override {
    status = a.response().status;
    type = http::find(a.response().fields, "content-type").value_or("");
  }
  void on_body(asked& a) noexcept override {
    for (base::byte_view v = a.front(); reads && !v.empty(); v = a.front()) {
      body.append(base::as_text(v));
      a.consume(v.size());
    }
  }
  void on_body_end(asked&, std::span<const http::field> t) noexcept override {
    body_end = true;
    for (const http::field& f : t) trailers.emplace_back(f.name, f.value);
  }
  void on_end(asked&, request_end e) noexcept override {
    EXPECT_FALSE(ended);
    ended = true;
    end = e;
    at = nullptr;
  }
};

struct connected final : h3::client_events {
  bool is_connected = false, is_closed = false;
  quic::conn::connection_end end;
  void on_connected(quic::conn::connection&) noexcept override { is_connected = true; }
  void on_closed(quic::conn::connection&, const quic::conn::connection_end& e) noexcept override {
    is_closed = true;
    end = e;
  }
};

struct both {
  plain_pool blocks{8192, 2048}, client_blocks{8192, 2048};
  noting_handler handler;
  connected events;
  std::unique_ptr<h3::server> server;
  std::unique_ptr<h3::client> client;
  std::unique_ptr<sim_pair> sim;
  std::deque<noted> asks;
  quic::conn::connection* c = nullptr;

  explicit both(const h3::settings& settings = h3_options().settings) {
    server = std::move(h3::server::make(settings, handler, blocks).value());
    client = std::move(h3::client::make(settings, client_blocks, &events).value());
    sim = std::make_unique<sim_pair>();
    EXPECT_TRUE(server->serve_on(*sim->net.server->endpoint));
    EXPECT_TRUE(client->use(*sim->net.client->endpoint));
    tls::server_settings s;
    s.credentials = tls::server_credentials::make({&sim_pem(), 1}).value();
    s.protocols = {{"h3", "1"}};
    s.ticket_secret = std::string(32, 's');
    sim->net.server->endpoint->serve(tls::server_context::make(std::move(s)).value());
    tls::client_settings t;
    t.trust = tls::client_trust::anybody().value();
    t.protocols = {"h3"};
    quic::endpoint::client_request r;
    r.address = sim->net.client_path();
    r.server_name = "example.test";
    r.protocol = client.get();
    r.context = tls::client_context::make(std::move(t)).value();
    c = sim->net.client->endpoint->connect(r, sim->net.now_ns);
    EXPECT_TRUE(sim->net.run([&] { return events.is_connected; }));
  }
  ~both() {
    sim.reset();
    EXPECT_EQ(server->open_exchanges(), 0u);
    EXPECT_EQ(client->open_requests(), 0u);
    EXPECT_EQ(client->fields().in_use() + server->fields().in_use(), 0u);
    EXPECT_EQ(blocks.in_use() + client_blocks.in_use() + pulled_blocks().in_use(), 0u);
  }
  noted& ask(const fields& f, http::body&& body = {}, bool is_whole = true) {
    noted& n = asks.emplace_back();
    n.at = client->request(*c, {.fields = f, .body = std::move(body), .is_whole = is_whole, .observer = &n},
                           sim->net.now_ns);
    EXPECT_NE(n.at, nullptr);
    return n;
  }
  bool run(const std::function<bool()>& done, std::uint64_t ns = 60 * second) { return sim->net.run(done, ns); }
};

TEST(h3_client, gets_what_it_asks_for) {
  both p;
  noted& n = p.ask(get("/"));
  ASSERT_TRUE(p.run([&] { return n.ended; }));
  EXPECT_EQ(n.end, request_end::complete);
  EXPECT_EQ(n.status, 200u);
  EXPECT_EQ(n.type, "text/plain");
  EXPECT_EQ(n.body, "hello");
  EXPECT_TRUE(n.body_end);
}

TEST(h3_client, sends_a_body_and_reads_what_comes_back_with_loss) {
  both p;
  p.sim->net.up.loss = p.sim->net.down.loss = 0.02;
  const std::string text = pulled_text(400'000);
  buf::chain body;
  ASSERT_TRUE(body.append_copy(base::as_bytes(text), p.client_blocks));
  noted& n = p.ask(post("/echo"), std::move(body));
  ASSERT_TRUE(p.run([&] { return n.ended; }));
  EXPECT_EQ(n.end, request_end::complete);
  EXPECT_EQ(n.body == text, true);
}

TEST(h3_client, a_body_may_be_written_as_it_is_made_with_trailers_behind) {
  both p;
  noted& n = p.ask(post("/echo"), {}, false);
  for (unsigned i = 0; i < 3; ++i) {
    buf::chain part;
    ASSERT_TRUE(part.append_copy(base::as_bytes("part"), p.client_blocks));
    EXPECT_EQ(n.at->write(std::move(part)), buf::flow::open);
    p.sim->net.wait(50 * ms);
  }
  EXPECT_EQ(n.body, "partpartpart");
  const http::field trailer{"x-sum", "12"};
  n.at->finish({&trailer, 1});
  ASSERT_TRUE(p.run([&] { return n.ended; }));
  ASSERT_EQ(n.trailers.size(), 1u);
  EXPECT_EQ(n.trailers[0].second, "12");
}

TEST(h3_client, interim_responses_come_before_the_final_one) {
  both p;
  noted& n = p.ask(get("/hold"));
  ASSERT_TRUE(p.run([&] { return p.handler.requests.size() == 1; }));
  http::exchange& x = *p.handler.requests[0].at;
  x.inform({http::wire::status_code::early_hints, {}});
  x.inform({http::wire::status_code::early_hints, {}});
  ASSERT_TRUE(x.respond({http::wire::status_code::no_content, {}}, http::body{}));
  ASSERT_TRUE(p.run([&] { return n.ended; }));
  EXPECT_EQ(n.interim, (std::vector<unsigned>{103, 103}));
  EXPECT_EQ(n.status, 204u);
  EXPECT_EQ(n.end, request_end::complete);
}

TEST(h3_client, an_interim_response_with_a_bad_field_is_left_out) {
  both p;
  noted& n = p.ask(get("/hold"));
  ASSERT_TRUE(p.run([&] { return p.handler.requests.size() == 1; }));
  http::exchange& x = *p.handler.requests[0].at;
  const http::field bad{"link", "a\r\nb"};
  x.inform({http::wire::status_code::early_hints, {&bad, 1}});
  ASSERT_TRUE(x.respond({http::wire::status_code::no_content, {}}, http::body{}));
  ASSERT_TRUE(p.run([&] { return n.ended; }));
  EXPECT_TRUE(n.interim.empty());
  EXPECT_EQ(n.status, 204u);
}

TEST(h3_client, what_is_cancelled_ends_on_both_sides) {
  both p;
  noted& n = p.ask(get("/hold"));
  ASSERT_TRUE(p.run([&] { return p.handler.requests.size() == 1; }));
  n.at->cancel();
  EXPECT_TRUE(n.ended);
  EXPECT_EQ(n.end, request_end::cancelled);
  EXPECT_TRUE(p.run([&] { return p.handler.requests[0].ended; }, 5 * second));
  EXPECT_EQ(p.handler.requests[0].end, http::exchange_end::peer_reset);
  EXPECT_EQ(p.server->events().get(event::stopped_by_peer), 1u);
}

TEST(h3_client, an_answer_that_is_given_up_does_not_look_complete) {
  both p;
  noted& n = p.ask(get("/hold"));
  ASSERT_TRUE(p.run([&] { return p.handler.requests.size() == 1; }));
  p.handler.requests[0].at->abort();
  ASSERT_TRUE(p.run([&] { return n.ended; }, 5 * second));
  EXPECT_EQ(n.end, request_end::peer_reset);
}

TEST(h3_client, a_source_that_fails_resets_the_stream) {
  both p;
  noted& n = p.ask(get("/bytes/5000000"));
  ASSERT_TRUE(p.run([&] { return n.body.size() > 100'000; }));
  p.handler.requests[0].fails = true;
  ASSERT_TRUE(p.run([&] { return n.ended; }, 5 * second));
  EXPECT_EQ(n.end, request_end::peer_reset);
  EXPECT_EQ(p.handler.requests[0].end, http::exchange_end::aborted);
}

TEST(h3_client, a_source_that_ends_before_its_size_resets_the_stream) {
  both p;
  noted& n = p.ask(get("/bytes/5000000"));
  ASSERT_TRUE(p.run([&] { return n.body.size() > 100'000; }));
  p.handler.requests[0].left = 1000;
  ASSERT_TRUE(p.run([&] { return n.ended; }, 5 * second));
  EXPECT_EQ(n.end, request_end::peer_reset);
  EXPECT_EQ(p.handler.requests[0].end, http::exchange_end::aborted);
}

TEST(h3_client, a_source_that_had_nothing_goes_on_when_it_is_woken) {
  both p;
  noted& n = p.ask(get("/unknown/300000"));
  ASSERT_TRUE(p.run([&] { return n.body.size() > 50'000; }));
  p.handler.requests[0].waits = true;
  p.sim->net.wait(second);
  const std::size_t had = n.body.size();
  EXPECT_LT(had, 300'000u);
  p.sim->net.wait(second);
  EXPECT_EQ(n.body.size(), had);
  p.handler.requests[0].waits = false;
  p.handler.requests[0].at->wake();
  ASSERT_TRUE(p.run([&] { return n.ended; }, 5 * second));
  EXPECT_EQ(n.body == pulled_text(300'000), true);
}

TEST(h3_client, a_server_that_drains_answers_what_it_has_taken_and_nothing_else) {
  both p;
  noted& held = p.ask(get("/hold"));
  ASSERT_TRUE(p.run([&] { return p.handler.requests.size() == 1; }));
  p.server->drain(p.sim->net.now_ns);
  p.sim->net.wait(50 * ms);
  EXPECT_EQ(p.client->events().get(event::goaways), 1u);
  noted other;
  EXPECT_EQ(p.client->request(*p.c, {.fields = get("/"), .observer = &other}, p.sim->net.now_ns), nullptr);
  p.sim->net.wait(500 * ms);
  EXPECT_EQ(p.client->events().get(event::goaways), 2u);
  EXPECT_FALSE(p.events.is_closed);
  ASSERT_TRUE(p.handler.requests[0].at->respond({http::wire::status_code::ok, {}}, http::body{}));
  ASSERT_TRUE(p.run([&] { return held.ended && p.events.is_closed; }, 5 * second));
  EXPECT_EQ(held.end, request_end::complete);
  EXPECT_TRUE(p.events.end.from_application);
  EXPECT_EQ(p.events.end.code, number(h3::wire::error::no_error));
}

TEST(h3_client, extended_connect_stays_open_both_ways) {
  both p;
  fields f = get("/ws");
  f[0].value = "CONNECT";
  noted& n = p.ask(f + fields{{":protocol", "websocket"}}, {}, false);
  ASSERT_TRUE(p.run([&] { return n.status == 200; }));
  EXPECT_EQ(p.handler.requests[0].protocol, "websocket");
  EXPECT_EQ(p.handler.requests[0].path, "/ws");
  for (unsigned i = 1; i <= 3; ++i) {
    buf::chain part;
    ASSERT_TRUE(part.append_copy(base::as_bytes("ping"), p.client_blocks));
    EXPECT_EQ(n.at->write(std::move(part)), buf::flow::open);
    ASSERT_TRUE(p.run([&] { return n.body.size() == 4 * i; }, second)) << i;
  }
  p.sim->net.wait(25 * second);
  EXPECT_FALSE(n.ended) << "a tunnel may be silent";
  n.at->finish();
  ASSERT_TRUE(p.run([&] { return n.ended; }, 5 * second));
  EXPECT_EQ(n.end, request_end::complete);
}

TEST(h3_client, a_client_that_does_not_read_holds_the_server_to_its_window) {
  both p;
  noted& n = p.ask(get("/bytes/50000000"));
  n.reads = false;
  p.sim->net.wait(5 * second);
  EXPECT_LE(p.handler.requests[0].pulled, 256u << 10) << "the client's window, and nothing ahead of it";
  EXPECT_EQ(pulled_blocks().in_use(), 0u) << "all that was pulled is acknowledged";
}

}  // namespace
}  // namespace millrace::test
