// What a server must not do to a client of ours, one by one: the code that the connection or the request ends with, and
// the counter. Our server never does any of it, so a script does.
#include "h3/client.hpp"
#include "h3/pair.hpp"

namespace millrace::test {
namespace {

using h3::asked;
using h3::event;
using h3::request_end;
using h3::wire::error;
using h3::wire::frame_type;
using quic::stream::direction;

// A scripted_client at the server's end: it keeps its connection, and may say things on the client's streams.
class hostile_server final : public scripted_client {
 public:
  quic::conn::connection* connection = nullptr;
  std::size_t requests = 0;  // ever
  void on_established(quic::conn::connection& c) noexcept override {
    connection = &c;
    scripted_client::on_established(c);
  }
  void on_stream_opened(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override {
    scripted_client::on_stream_opened(c, s);
    if (!s.has_send) return;
    s.source = &from_peer.back()->source;
    ++requests;
  }
  void on_closed(quic::conn::connection& c, const quic::conn::connection_end& e) noexcept override {
    connection = nullptr;
    scripted_client::on_closed(c, e);
  }
  // The client's requests that are open, in their order.
  scripted* request(std::size_t which) {
    for (const auto& x : from_peer)
      if (x->stream != nullptr && x->stream->has_send && which-- == 0) return x.get();
    return nullptr;
  }
};

struct heard final : h3::response_observer {
  std::string body;
  unsigned status = 0, interim = 0;
  bool body_end = false, ended = false;
  request_end end = request_end::complete;
  asked* at = nullptr;
  void on_interim(asked&, const h3::response_fields&) noexcept override { ++interim; }
  void on_response(asked& a) noexcept override { status = a.response().status; }
  void on_body(asked& a) noexcept override {
    for (base::byte_view v = a.front(); !v.empty(); v = a.front()) {
      body.append(base::as_text(v));
      a.consume(v.size());
    }
  }
  void on_body_end(asked&, std::span<const http::field>) noexcept override { body_end = true; }
  void on_end(asked&, request_end e) noexcept override {
    ended = true;
    end = e;
    at = nullptr;
  }
};

struct attacked {
  std::optional<network> network_{std::in_place, sim_options{}.client, sim_options{}.server};
  network& net = *network_;
  plain_pool blocks{4096, 2048};
  hostile_server server;
  std::unique_ptr<h3::client> client;
  std::shared_ptr<const tls::client_context> client_tls;
  quic::conn::connection* c = nullptr;
  scripted* control = nullptr;
  std::deque<heard> all;
  std::size_t asked_ = 0;

  explicit attacked(bool says_settings = true) {
    h3::settings settings;
    settings.connections = 4;
    settings.exchanges = 16;
    client = std::move(h3::client::make(settings, blocks).value());
    EXPECT_TRUE(client->use(*net.client->endpoint));
    EXPECT_TRUE(net.server->endpoint->add_application("h3", server));
    tls::server_settings s;
    s.credentials = tls::server_credentials::make({&sim_pem(), 1}).value();
    s.protocols = {{"h3", "1"}};
    s.ticket_secret = std::string(32, 's');
    net.server->endpoint->serve(tls::server_context::make(std::move(s)).value());
    tls::client_settings t;
    t.trust = tls::client_trust::anybody().value();
    t.protocols = {"h3"};
    client_tls = tls::client_context::make(std::move(t)).value();
    quic::endpoint::client_request r;
    r.address = net.client_path();
    r.server_name = "example.test";
    r.protocol = client.get();
    r.context = client_tls;
    c = net.client->endpoint->connect(r, net.now_ns);
    EXPECT_TRUE(net.run([&] { return server.established && c->is_established(); }));
    if (says_settings) {
      control = &open(direction::unidirectional);
      say(*control, varint(0) + frame(frame_type::settings, {}));
    }
  }
  ~attacked() {
    network_.reset();
    EXPECT_EQ(client->open_requests(), 0u);
    EXPECT_EQ(client->fields().in_use(), 0u);
    EXPECT_EQ(blocks.in_use(), 0u);
  }
  scripted& open(direction kind) {
    auto x = std::make_unique<scripted>();
    x->stream = server.connection->open(kind, net.now_ns);
    EXPECT_NE(x->stream, nullptr);
    x->stream->source = &x->source;
    x->stream->user = x.get();
    server.streams.push_back(std::move(x));
    return *server.streams.back();
  }
  void say(scripted& x, const bytes& what, bool fin = false) {
    x.source.bytes.append(what.begin(), what.end());
    if (!what.empty()) server.connection->write(*x.stream, what.size());
    if (fin) server.connection->finish(*x.stream);
    net.server->endpoint->touch(*server.connection);
  }
  heard& ask(const fields& f = get(), bool is_whole = true) {
    heard& h = all.emplace_back();
    ++asked_;
    h.at = client->request(*c, {.fields = f, .body = {}, .is_whole = is_whole, .observer = &h}, net.now_ns);
    EXPECT_NE(h.at, nullptr);
    EXPECT_TRUE(net.run([&] { return server.requests == asked_; }, 5 * second));
    return h;
  }
  // Answers the first request with these bytes, and waits until it is over.
  heard& answer(const bytes& what, const fields& f = get()) {
    heard& h = ask(f);
    say(*server.request(0), what, true);
    net.run([&] { return h.ended; }, 5 * second);
    return h;
  }
  std::uint64_t count(event e) const { return client->events().get(e); }
  std::uint64_t closed_with() {
    net.run([&] { return server.closed; }, 5 * second);
    return server.closed && server.end.from_application ? server.end.code : 0;
  }
};

bytes status(std::string_view code, const fields& more = {}) { return head(fields{{":status", code}} + more); }

TEST(h3_client_attack, control_frames_that_a_server_must_not_send) {
  struct closing {
    const char* what;
    bytes said;
    error code;
    event counted;
  };
  const closing cases[] = {
      {"SETTINGS twice", frame(frame_type::settings, {}), error::frame_unexpected, event::fault_frame_unexpected},
      {"DATA", data({}), error::frame_unexpected, event::fault_frame_unexpected},
      {"HEADERS", status("200"), error::frame_unexpected, event::fault_frame_unexpected},
      {"MAX_PUSH_ID, RFC 9114 7.2.7", frame(frame_type::max_push_id, varint(1)), error::frame_unexpected,
       event::fault_frame_unexpected},
      {"PRIORITY_UPDATE, RFC 9218 7.2", frame(frame_type::priority_update_request, varint(0) + text("u=1")),
       error::frame_unexpected, event::fault_frame_unexpected},
      {"CANCEL_PUSH of a push that was never allowed", frame(frame_type::cancel_push, varint(0)), error::id_error,
       event::fault_id},
      {"GOAWAY of a stream that is no request, RFC 9114 7.2.6", frame(frame_type::goaway, varint(3)), error::id_error,
       event::fault_id},
      {"GOAWAY that grows, RFC 9114 5.2", frame(frame_type::goaway, varint(4)) + frame(frame_type::goaway, varint(8)),
       error::id_error, event::fault_id},
  };
  for (const closing& one : cases) {
    attacked p;
    p.ask();  // or a GOAWAY would be the end
    p.say(*p.control, one.said);
    EXPECT_EQ(p.closed_with(), number(one.code)) << one.what;
    EXPECT_EQ(p.count(one.counted), 1u) << one.what;
  }
}

TEST(h3_client_attack, a_stream_of_requests_that_the_server_opens_ends_the_connection) {  // RFC 9114 6.1
  attacked p;
  heard& h = p.ask();
  p.say(p.open(direction::bidirectional), head(get()));
  EXPECT_EQ(p.closed_with(), number(error::stream_creation_error));
  EXPECT_EQ(p.count(event::fault_stream_creation), 1u);
  EXPECT_TRUE(h.ended);
  EXPECT_EQ(h.end, request_end::connection_lost);
}

TEST(h3_client_attack, a_push_that_was_never_allowed_ends_the_connection) {  // RFC 9114 4.6
  {
    attacked p;
    p.say(p.open(direction::unidirectional), varint(1) + varint(0) + status("200"));
    EXPECT_EQ(p.closed_with(), number(error::id_error));
  }
  attacked p;
  p.ask();
  p.say(*p.server.request(0), frame(frame_type::push_promise, varint(0) + section(get())));
  EXPECT_EQ(p.closed_with(), number(error::id_error));
  EXPECT_EQ(p.count(event::fault_id), 1u);
}

TEST(h3_client_attack, settings_come_first_and_the_control_stream_stays) {  // RFC 9114 6.2.1, 7.2.4
  {
    attacked p(false);
    p.say(p.open(direction::unidirectional), varint(0) + frame(frame_type::goaway, varint(0)));
    EXPECT_EQ(p.closed_with(), number(error::missing_settings));
  }
  {
    attacked p;
    p.say(*p.control, {}, true);
    EXPECT_EQ(p.closed_with(), number(error::closed_critical_stream));
  }
  attacked p;
  p.say(p.open(direction::unidirectional), varint(0) + frame(frame_type::settings, {}));
  EXPECT_EQ(p.closed_with(), number(error::stream_creation_error));
}

TEST(h3_client_attack, malformed_responses_end_their_request_alone) {  // RFC 9114 4.1.2, 4.3.2
  const std::pair<const char*, bytes> cases[] = {
      {"no status", head({{"server", "x"}})},
      {"a status of two digits", status("20")},
      {"a status that is no number", status("2xx")},
      {"status behind a field", head({{"server", "x"}, {":status", "200"}})},
      {"status twice", head({{":status", "200"}, {":status", "200"}})},
      {"a pseudo-header field of requests", status("200", {{":path", "/"}})},
      {"a pseudo-header field of nobody", status("200", {{":colour", "red"}})},
      {"a name with capitals", status("200", {{"Server", "x"}})},
      {"a value that ends a line", status("200", {{"server", "x\r\nset-cookie: a=b"}})},
      {"a field of HTTP/1.1 connections", status("200", {{"transfer-encoding", "chunked"}})},
      {"101, RFC 9114 4.5", status("101")},
      {"a body longer than it says", status("200", {{"content-length", "2"}}) + data(text("abc"))},
      {"a body shorter than it says", status("200", {{"content-length", "4"}}) + data(text("abc"))},
      {"an interim response and no final one", status("103")},
      {"nothing at all", {}},
      {"a pseudo-header field in trailers", status("200") + data(text("abc")) + status("200")},
  };
  for (const auto& [what, said] : cases) {
    attacked p;
    heard& h = p.answer(said);
    EXPECT_TRUE(h.ended) << what;
    EXPECT_EQ(h.end, request_end::malformed) << what;
    EXPECT_FALSE(h.body_end) << what;
    // The connection goes on.
    heard& next = p.ask();
    ASSERT_NE(p.server.request(0), nullptr) << what;
    p.say(*p.server.request(0), status("204"), true);
    EXPECT_TRUE(p.net.run([&] { return next.ended; }, 5 * second)) << what;
    EXPECT_EQ(next.status, 204u) << what;
  }
}

TEST(h3_client_attack, frames_that_do_not_belong_on_a_response_end_the_connection) {
  const std::tuple<const char*, bytes, error> cases[] = {
      {"DATA in front of HEADERS", data(text("abc")), error::frame_unexpected},
      {"SETTINGS", status("200") + frame(frame_type::settings, {}), error::frame_unexpected},
      {"GOAWAY", status("200") + frame(frame_type::goaway, varint(0)), error::frame_unexpected},
      {"DATA behind trailers", status("200") + data({}) + head({{"x", "y"}}) + data({}), error::frame_unexpected},
      {"a frame cut off", status("200") + bytes{0x00, 0x05, 'a'}, error::frame_error},
      {"a section that does not decode", frame(frame_type::headers, {0x00, 0x00, 0xff, 0xff, 0x7f}),
       error::qpack_decompression_failed},
  };
  for (const auto& [what, said, code] : cases) {
    attacked p;
    heard& h = p.ask();
    p.say(*p.server.request(0), said, true);
    EXPECT_EQ(p.closed_with(), number(code)) << what;
    EXPECT_TRUE(h.ended) << what;
    EXPECT_NE(h.end, request_end::complete) << what;
  }
}

// RFC 9114 4.1.1: a server that has answered may stop reading; the answer is whole all the same.
TEST(h3_client_attack, a_response_counts_though_the_rest_of_its_request_is_not_wanted) {
  attacked p;
  heard& h = p.ask(post(), false);
  scripted& x = *p.server.request(0);
  p.say(x, status("413") + data(text("too much")), true);
  p.server.connection->stop(*x.stream, number(error::no_error));
  p.net.server->endpoint->touch(*p.server.connection);
  ASSERT_TRUE(p.net.run([&] { return h.ended; }, 5 * second));
  EXPECT_EQ(h.end, request_end::complete);
  EXPECT_EQ(h.status, 413u);
  EXPECT_EQ(h.body, "too much");
  EXPECT_TRUE(h.body_end);
}

TEST(h3_client_attack, what_a_server_rejects_may_be_asked_elsewhere) {  // RFC 9114 4.1.1, 8.1
  attacked p;
  heard& h = p.ask();
  scripted& x = *p.server.request(0);
  p.server.connection->reset(*x.stream, number(error::request_rejected));
  p.net.server->endpoint->touch(*p.server.connection);
  ASSERT_TRUE(p.net.run([&] { return h.ended; }, 5 * second));
  EXPECT_EQ(h.end, request_end::rejected);
}

TEST(h3_client_attack, behind_a_goaway_requests_are_rejected_and_no_new_ones_begin) {  // RFC 9114 5.2
  attacked p;
  heard& first = p.ask();
  heard& second_one = p.ask();
  p.say(*p.control, frame(frame_type::goaway, varint(4)));
  ASSERT_TRUE(p.net.run([&] { return second_one.ended; }, 5 * second));
  EXPECT_EQ(second_one.end, request_end::rejected);
  EXPECT_FALSE(first.ended);
  heard late;
  EXPECT_EQ(p.client->request(*p.c, {.fields = get(), .observer = &late}, p.net.now_ns), nullptr);
  p.say(*p.server.request(0), status("200"), true);
  ASSERT_TRUE(p.net.run([&] { return first.ended; }, 5 * second));
  EXPECT_EQ(first.end, request_end::complete);
}

TEST(h3_client_attack, a_head_beyond_the_limit_is_not_kept) {
  attacked p;
  const std::string long_value(h3::settings{}.field_section_bytes + 100, 'x');
  heard& h = p.answer(status("200", {{"x-long", long_value}}));
  EXPECT_TRUE(h.ended);
  EXPECT_NE(h.end, request_end::complete);
  EXPECT_EQ(p.client->fields().in_use(), 0u);
}

}  // namespace
}  // namespace millrace::test
