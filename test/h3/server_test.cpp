// Requests and answers, end to end in virtual time.
#include "h3/pair.hpp"

namespace millrace::test {
namespace {

using h3::event;
using http::exchange_end;

TEST(h3_server, answers_a_get) {
  h3_pair p;
  scripted& x = p.ask(head(get("/a?b=c") + fields{{"accept", "*/*"}}));
  ASSERT_TRUE(x.over);
  const read_message m(x.got);
  EXPECT_EQ(m.status(), "200");
  EXPECT_EQ(m.heads[0]["content-type"], "text/plain");
  EXPECT_EQ(m.heads[0]["content-length"], "5");
  EXPECT_EQ(m.body, "hello");
  EXPECT_TRUE(m.is_whole);
  ASSERT_EQ(p.handler.requests.size(), 1u);
  const auto& r = p.handler.requests[0];
  EXPECT_EQ(r.method, "GET");
  EXPECT_EQ(r.target, "/a?b=c");
  EXPECT_EQ(r.path, "/a");
  EXPECT_EQ(r.authority, "example.test");
  EXPECT_FALSE(r.has_body);
  EXPECT_TRUE(r.body_end);
  ASSERT_EQ(r.all.size(), 1u);
  EXPECT_TRUE(p.rests());
  EXPECT_TRUE(r.ended);
  EXPECT_EQ(r.end, exchange_end::complete);
  EXPECT_EQ(p.count(event::completed), 1u);
}

TEST(h3_server, a_head_in_any_pieces_is_the_same_head) {
  h3_pair p;
  const bytes whole = head(get("/pieces") + fields{{"x", "0123456789"}});
  for (std::size_t cut = 1; cut < whole.size(); cut += 3) {
    scripted& x = p.open();
    p.say(x, bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)));
    p.net.wait(100 * ms);
    p.say(x, bytes(whole.begin() + static_cast<std::ptrdiff_t>(cut), whole.end()), true);
    ASSERT_TRUE(p.net.run([&] { return x.over; }, 5 * second)) << cut;
    EXPECT_EQ(read_message(x.got).body, "hello") << cut;
    EXPECT_EQ(p.handler.requests.back().path, "/pieces") << cut;
  }
}

TEST(h3_server, sends_a_body_back_as_it_comes) {
  h3_pair p;
  scripted& x = p.request(head(post("/echo")) + data(text("one")), false);
  EXPECT_TRUE(p.net.run([&] { return read_message(x.got).body == "one"; }, second));
  p.say(x, data(text("two")) + frame(0x21, text("nothing")) + data({}) + data(text("three")), true);
  EXPECT_TRUE(p.net.run([&] { return x.over; }, 5 * second));
  EXPECT_EQ(read_message(x.got).body, "onetwothree");
  EXPECT_EQ(p.count(event::frames_skipped), 1u);
  EXPECT_EQ(p.handler.requests[0].end, exchange_end::complete);
}

TEST(h3_server, sends_a_long_body_back_with_loss) {
  h3_pair p;
  p.net.up.loss = p.net.down.loss = 0.02;
  const std::string body = pulled_text(1'500'000);
  bytes said = head(post("/echo"));
  for (std::size_t at = 0; at < body.size(); at += 100'000) said = said + data(text(body.substr(at, 100'000)));
  scripted& x = p.ask(said);
  ASSERT_TRUE(x.over);
  EXPECT_EQ(read_message(x.got).body == body, true);
  EXPECT_TRUE(p.rests());
}

TEST(h3_server, trailers_come_behind_the_body_and_go_back) {
  h3_pair p;
  scripted& x = p.ask(head(post("/echo")) + data(text("x")) + head({{"checksum", "abc"}}));
  const read_message m(x.got);
  ASSERT_EQ(m.heads.size(), 2u);
  EXPECT_EQ(m.heads[1]["checksum"], "abc");
  ASSERT_EQ(p.handler.requests[0].trailers.size(), 1u);
}

TEST(h3_server, pulls_a_body_as_it_can_go) {
  h3_pair p;
  p.net.down.loss = 0.01;
  scripted& x = p.ask(head(get("/bytes/2000000")));
  ASSERT_TRUE(x.over);
  const read_message m(x.got);
  EXPECT_EQ(m.heads[0]["content-length"], "2000000");
  EXPECT_EQ(m.body == pulled_text(2'000'000), true);
  EXPECT_TRUE(p.rests());
}

TEST(h3_server, a_body_of_unknown_size_ends_with_its_source) {
  h3_pair p;
  scripted& x = p.ask(head(get("/unknown/100001")));
  ASSERT_TRUE(x.over);
  const read_message m(x.got);
  EXPECT_EQ(m.heads[0]["content-length"], "(none)");
  EXPECT_EQ(m.body == pulled_text(100'001), true);
  scripted& y = p.ask(head(get("/bytes/0")));
  EXPECT_EQ(read_message(y.got).heads[0]["content-length"], "0");
  EXPECT_TRUE(y.at_end);
}

TEST(h3_server, a_head_request_gets_the_head_alone) {
  h3_pair p;
  fields f = get("/bytes/1000");
  f[0].value = "HEAD";
  scripted& x = p.ask(head(f));
  const read_message m(x.got);
  EXPECT_EQ(m.heads[0]["content-length"], "1000");
  EXPECT_TRUE(m.data_frames.empty());
  EXPECT_TRUE(x.at_end);
}

TEST(h3_server, a_body_that_is_not_wanted_is_stopped) {
  h3_pair p;
  scripted& x = p.request(head(post("/ignore")) + data(bytes(2000)), false);
  EXPECT_TRUE(p.net.run([&] { return x.stopped; }, 5 * second));
  EXPECT_TRUE(p.net.run([&] { return x.over; }, 5 * second));
  EXPECT_EQ(read_message(x.got).status(), "204");
  EXPECT_EQ(p.count(event::body_refused), 1u);
  EXPECT_TRUE(p.rests());
}

TEST(h3_server, sends_no_field_that_is_none) {
  const fields bad{{"Capital", "x"}, {"", "x"},          {"two words", "x"}, {"x", "a\r\nset-cookie: b"},
                   {"x", "a\nb"},    {"x", " a"},        {"x", {"a\0b", 3}}, {"connection", "close"},
                   {"te", "gzip"},   {":status", "200"}, {":path", "/"}};
  for (const std::string_view path : {"/fields", "/trailers"}) {
    h3_pair p;
    std::uint64_t refused = 0;
    for (const http::field& f : bad) {
      p.handler.answer = {f, {"good", "yes"}};
      scripted& x = p.ask(head(get(path)));
      EXPECT_TRUE(x.over) << f.name;
      EXPECT_EQ(p.count(event::fields_invalid), ++refused) << path << ' ' << f.name << ' ' << f.value;
      ASSERT_TRUE(p.rests());
      EXPECT_EQ(p.handler.requests.back().end, exchange_end::aborted) << f.name;
    }
    EXPECT_EQ(p.count(event::no_memory), 0u);
    p.handler.answer = {{"good", "a b"}, {"te", "trailers"}};
    EXPECT_EQ(read_message(p.ask(head(get(path))).got).heads.back()["good"], "a b");
  }
}

TEST(h3_server, sends_no_section_that_is_larger_than_the_peer_takes) {
  h3_options o;
  o.says_settings = false;
  h3_pair p(o);
  scripted& control = p.open(quic::stream::direction::unidirectional);
  // ":status" and "204" with 32, "x" and 40 with 32: 115.
  p.say(control, varint(0) + frame(h3::wire::frame_type::settings, varint(6) + varint(115)));
  p.net.wait(100 * ms);
  const std::string value(41, 'v');
  p.handler.answer = {{"x", std::string_view(value).substr(1)}};
  EXPECT_EQ(read_message(p.ask(head(get("/fields"))).got).status(), "204");
  EXPECT_EQ(p.count(event::fields_too_large), 0u);
  p.handler.answer = {{"x", value}};
  EXPECT_TRUE(p.ask(head(get("/fields"))).got.empty());
  EXPECT_EQ(p.count(event::fields_too_large), 1u);
  EXPECT_EQ(p.count(event::no_memory), 0u);
  EXPECT_TRUE(p.rests());
  EXPECT_EQ(p.handler.requests.back().end, exchange_end::aborted);
}

TEST(h3_server, many_requests_at_once) {
  h3_pair p;
  std::vector<scripted*> all;
  for (unsigned round = 0; round < 5; ++round) {
    all.clear();
    for (unsigned i = 0; i < 100; ++i) all.push_back(&p.request(head(get("/" + std::to_string(i)))));
    ASSERT_TRUE(p.net.run([&] { return std::all_of(all.begin(), all.end(), [](auto* x) { return x->over; }); }));
    for (const scripted* x : all) EXPECT_EQ(read_message(x->got).body, "hello");
    p.net.wait(200 * ms);  // until the client knows that it may open more
  }
  EXPECT_EQ(p.count(event::completed), 500u);
  EXPECT_TRUE(p.rests());
}

}  // namespace
}  // namespace millrace::test
