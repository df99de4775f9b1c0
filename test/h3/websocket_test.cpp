// WebSocket over HTTP/3 (RFC 9220), our client against our server in virtual time: the echo at /ws behind a dispatcher.
#include "h3/client.hpp"
#include "h3/pair.hpp"
#include "http/dispatcher.hpp"
#include "service/ws_echo.hpp"
#include "support/seeded.hpp"
#include "ws/carrier.hpp"
#include "ws/wire/received.hpp"

namespace millrace::test {
namespace {

using lines = std::vector<std::string>;

// A client's end of a session: says frames, notes what it reads.
class peer final : public h3::response_observer {
  ws::wire::receiver in_{{ws::wire::read_rules(ws::wire::role::client, ws::wire::masking::strict, 1 << 24), 1 << 24}};
  ws::test_support::received got_;

 public:
  h3::asked* at = nullptr;
  unsigned status = 0;
  fields answered;
  std::deque<std::string> texts;
  bool reads = true, at_end = false, ended = false;
  h3::request_end end = h3::request_end::complete;
  std::uint64_t read_bytes = 0;

  [[nodiscard]] const lines& got() const { return got_.lines; }
  void on_response(h3::asked& a) noexcept override {
    status = a.response().status;
    for (const http::field& f : a.response().fields)
      answered.push_back({texts.emplace_back(f.name), texts.emplace_back(f.value)});
  }
  void on_body(h3::asked& a) noexcept override {
    for (base::byte_view v = a.front(); reads && !v.empty(); v = a.front()) {
      read_bytes += v.size();
      byte_list copy(v.begin(), v.end());
      got_.take(in_, copy);
      a.consume(v.size());
    }
  }
  void on_body_end(h3::asked&, std::span<const http::field>) noexcept override { at_end = true; }
  void on_end(h3::asked&, h3::request_end e) noexcept override {
    EXPECT_FALSE(ended);
    ended = true;
    end = e;
    at = nullptr;
  }
};

struct connected final : h3::client_events {
  bool is_connected = false;
  void on_connected(quic::conn::connection&) noexcept override { is_connected = true; }
};

struct websocket_pair {
  plain_pool blocks{8192, 2048}, client_blocks{8192, 2048};
  noting_handler others;
  std::unique_ptr<service::ws_echo> echo;
  http::router routes;
  std::vector<http::exchange_handler*> handlers;
  std::array<std::string_view, 1> spoken{service::websocket_protocol};
  std::unique_ptr<http::dispatcher> root;
  connected events;
  std::unique_ptr<h3::server> server;
  std::unique_ptr<h3::client> client;
  std::unique_ptr<sim_pair> sim;
  std::deque<peer> peers;
  quic::conn::connection* c = nullptr;

  explicit websocket_pair(const ws::settings& limits = {}, const h3::settings& s = h3_options().settings) {
    echo = std::move(service::ws_echo::make(limits).value());
    const service::route r = echo->route_at("/ws");
    handlers = {r.handler, &others};
    http::router_builder b;
    EXPECT_TRUE(b.add(r.method, r.pattern, 0));
    EXPECT_TRUE(b.add(http::wire::method::get, "/", 1));
    routes = std::move(b.build().value());
    root = std::make_unique<http::dispatcher>(http::dispatcher::parts{&routes, handlers, {}, {}, "", spoken});
    server = std::move(h3::server::make(s, *root, blocks).value());
    client = std::move(h3::client::make(s, client_blocks, &events).value());
    sim = std::make_unique<sim_pair>();
    EXPECT_TRUE(server->serve_on(*sim->net.server->endpoint));
    EXPECT_TRUE(client->use(*sim->net.client->endpoint));
    tls::server_settings t;
    t.credentials = tls::server_credentials::make({&sim_pem(), 1}).value();
    t.protocols = {{"h3", "1"}};
    t.ticket_secret = std::string(32, 's');
    sim->net.server->endpoint->serve(tls::server_context::make(std::move(t)).value());
    tls::client_settings u;
    u.trust = tls::client_trust::anybody().value();
    u.protocols = {"h3"};
    quic::endpoint::client_request q;
    q.address = sim->net.client_path();
    q.server_name = "example.test";
    q.protocol = client.get();
    q.context = tls::client_context::make(std::move(u)).value();
    c = sim->net.client->endpoint->connect(q, sim->net.now_ns);
    EXPECT_TRUE(run([&] { return events.is_connected; }));
  }
  ~websocket_pair() {
    sim.reset();
    EXPECT_EQ(server->open_exchanges() + client->open_requests() + echo->open_sessions(), 0u);
    EXPECT_TRUE(echo->is_whole());
    EXPECT_EQ(blocks.in_use() + client_blocks.in_use(), 0u);
  }
  peer& ask(std::string_view protocol = "websocket", std::string_view path = "/ws", std::string_view version = "13") {
    peer& p = peers.emplace_back();
    const fields f{{":method", "CONNECT"},
                   {":protocol", protocol},
                   {":scheme", "https"},
                   {":path", path},
                   {":authority", "example.test"},
                   {"sec-websocket-version", version},
                   {"origin", "https://example.test"}};
    p.at = client->request(*c, {.fields = f, .is_whole = false, .observer = &p}, sim->net.now_ns);
    EXPECT_NE(p.at, nullptr);
    EXPECT_TRUE(run([&] { return p.status != 0 || p.ended; }));
    return p;
  }
  buf::flow say(peer& p, base::byte_view what) {
    buf::chain part;
    EXPECT_TRUE(part.append_copy(what, client_blocks));
    const buf::flow said = p.at->write(std::move(part));
    sim->net.client->endpoint->touch(*c);
    return said;
  }
  void finish(peer& p) {
    p.at->finish();
    sim->net.client->endpoint->touch(*c);
  }
  bool run(const std::function<bool()>& done, std::uint64_t ns = 60 * second) { return sim->net.run(done, ns); }
  std::uint64_t count(ws::event e) const { return echo->count().get(e); }
};

TEST(h3_websocket, the_server_says_that_it_takes_extended_connects) {
  h3_pair p;
  ASSERT_TRUE(p.net.run([&] { return !p.client_app.from_peer.empty() && p.client_app.from_peer[0]->got.size() > 3; }));
  // The control stream: its type, and SETTINGS with 0x08 (RFC 8441 3) and 1 among its pairs.
  base::byte_view in = p.client_app.from_peer[0]->got;
  ASSERT_EQ(in[0], 0);
  in = in.subspan(1);
  h3::wire::pair_reader r;
  h3::wire::frame_header h;
  ASSERT_EQ(r.next(in, h), base::progress::done);
  ASSERT_EQ(h.type, 4u);
  base::byte_reader pairs(in.first(static_cast<std::size_t>(h.length)));
  std::uint64_t id = 0, value = 0, said = 0;
  while (pairs.varint(id) && pairs.varint(value))
    if (id == 8) said = value;
  EXPECT_EQ(said, 1u);
}

TEST(h3_websocket, opens_echoes_and_closes) {
  websocket_pair p;
  peer& w = p.ask();
  EXPECT_EQ(w.status, 200u);
  for (const http::field& f : w.answered) EXPECT_FALSE(f.name.starts_with("sec-websocket")) << f.name;
  p.say(w, ws_frame(0x81, "hello"));
  p.say(w, ws_frame(0x89, "ping"));
  EXPECT_TRUE(p.run([&] { return w.got().size() == 2; }));
  p.say(w, ws_frame(0x88, "\x03\xE8 bye"));
  EXPECT_TRUE(p.run([&] { return w.at_end; }));
  EXPECT_EQ(w.got(), (lines{"text hello", "pong ping", "close 1000 "}));
  p.finish(w);
  EXPECT_TRUE(p.run([&] { return w.ended && p.echo->open_sessions() == 0; }));
  EXPECT_EQ(w.end, h3::request_end::complete);
  EXPECT_EQ(p.count(ws::event::closed), 1u);
  EXPECT_EQ(p.count(ws::event::cut), 0u);
}

TEST(h3_websocket, what_is_not_a_websocket_opening_is_refused) {
  websocket_pair p;
  EXPECT_EQ(p.ask("connect-udp").status, 501u);
  EXPECT_EQ(p.ask("connect-udp", "/nowhere").status, 501u) << "whatever its path";
  EXPECT_EQ(p.ask("websocket", "/nowhere").status, 404u);
  EXPECT_EQ(p.ask("websocket", "/").status, 405u);
  peer& old = p.ask("websocket", "/ws", "8");
  EXPECT_EQ(old.status, 400u);
  EXPECT_EQ(http::find(old.answered, "sec-websocket-version"), "13");
  EXPECT_TRUE(p.run([&] { return p.server->open_exchanges() == 0; }, 5 * second)) << "nothing of them stays";
}

TEST(h3_websocket, large_messages_of_any_fragments_with_loss) {
  websocket_pair p;
  p.sim->net.up.loss = p.sim->net.down.loss = 0.02;
  peer& w = p.ask();
  seeded random(23);
  lines sent;
  for (const std::size_t size : {125u, 1024u, 65'536u, 700'000u}) {
    const byte_list body = random.bytes(size);
    sent.push_back("binary " + std::string(base::as_text(body)));
    std::size_t at = 0;
    for (bool first = true; at < size || first; first = false) {
      const std::size_t n = std::min(size - at, 1 + random.below(50'000));
      const unsigned op = (first ? 2u : 0u) | (at + n == size ? 0x80u : 0u);
      p.say(w, ws_frame(op, base::byte_view(body).subspan(at, n), true, static_cast<std::uint32_t>(random.next())));
      at += n;
    }
    ASSERT_TRUE(p.run([&] { return w.got().size() == sent.size(); })) << size;
  }
  EXPECT_EQ(w.got() == sent, true);
  p.finish(w);
  EXPECT_TRUE(p.run([&] { return w.ended; }));
  EXPECT_EQ(p.count(ws::event::cut), 1u) << "it went without a Close";
}

TEST(h3_websocket, a_client_that_does_not_read_is_not_read_from) {
  websocket_pair p;
  peer& w = p.ask();
  w.reads = false;
  const byte_list message = ws_frame(0x82, byte_list(10'000, 'x'));
  unsigned said = 0;
  while (said < 1000 && p.say(w, message) == buf::flow::open) {
    ++said;
    p.sim->net.wait(20 * ms);
  }
  EXPECT_LT(said, 1000u) << "it is asked to stop";
  p.sim->net.wait(second);
  const std::size_t held = p.blocks.in_use();
  EXPECT_LT(held * 2048, 3u << 20);
  EXPECT_EQ(p.echo->open_sessions(), 1u);
  w.reads = true;
  w.on_body(*w.at);
  EXPECT_TRUE(p.run([&] { return w.got().size() == said + 1; }));
  for (const std::string& line : w.got()) EXPECT_EQ(line.size(), 10'007u);
}

TEST(h3_websocket, a_session_rests_as_long_as_its_connection_lives) {
  h3::settings s = h3_options().settings;
  s.progress_ns = 5 * second;
  websocket_pair p({}, s);
  peer& w = p.ask();
  for (unsigned i = 0; i < 8; ++i) {
    p.sim->net.wait(4 * second);
    p.say(w, ws_frame(0x8A, ""));  // it is the connection that would go
    p.sim->net.wait(3 * second);
  }
  EXPECT_FALSE(w.ended);
  EXPECT_EQ(p.echo->open_sessions(), 1u);
}

TEST(h3_websocket, who_does_not_end_a_closed_session_loses_it) {
  h3::settings s = h3_options().settings;
  s.progress_ns = 5 * second;
  websocket_pair p({}, s);
  peer& w = p.ask();
  p.say(w, ws_frame(0x88, "\x03\xE8"));
  EXPECT_TRUE(p.run([&] { return w.at_end; }));
  EXPECT_EQ(p.echo->open_sessions(), 1u);
  EXPECT_TRUE(p.run([&] { return p.echo->open_sessions() == 0; }, 15 * second));
  EXPECT_EQ(p.server->events().get(h3::event::body_too_slow), 1u);
  EXPECT_EQ(p.count(ws::event::closed), 1u);
}

TEST(h3_websocket, a_frame_that_breaks_a_rule_ends_its_stream_alone) {
  websocket_pair p;
  peer& good = p.ask();
  peer& bad = p.ask();
  p.say(bad, ws_frame(0x81, base::as_bytes("bare"), false));
  EXPECT_TRUE(p.run([&] { return bad.at_end; }));
  EXPECT_EQ(bad.got(), lines{"close 1002 "});
  EXPECT_TRUE(p.run([&] { return p.echo->open_sessions() == 1; }));
  p.say(good, ws_frame(0x81, "still here"));
  EXPECT_TRUE(p.run([&] { return good.got().size() == 1; }));
}

TEST(h3_websocket, a_stream_that_is_reset_is_a_cut) {
  websocket_pair p;
  peer& w = p.ask();
  p.say(w, ws_frame(0x01, "half"));
  p.sim->net.wait(100 * ms);
  w.at->cancel();
  p.sim->net.client->endpoint->touch(*p.c);
  EXPECT_TRUE(p.run([&] { return p.echo->open_sessions() == 0; }));
  EXPECT_EQ(p.count(ws::event::cut), 1u);
}

TEST(h3_websocket, many_sessions_at_once) {
  websocket_pair p;
  std::vector<peer*> all;
  for (unsigned i = 0; i < 50; ++i) all.push_back(&p.ask());
  for (unsigned round = 0; round < 5; ++round)
    for (peer* w : all) p.say(*w, ws_frame(0x81, "message " + std::to_string(round)));
  EXPECT_TRUE(p.run([&] { return std::all_of(all.begin(), all.end(), [](peer* w) { return w->got().size() == 5; }); }));
  for (peer* w : all) EXPECT_EQ(w->got().back(), "text message 4");
}

}  // namespace
}  // namespace millrace::test
