// Sessions on a tunnel in memory: what they answer to whatever a client sends, and what is left when they end.
#include "ws/session.hpp"

#include <deque>

#include "support/seeded.hpp"
#include "ws/carrier.hpp"
#include "ws/endpoint.hpp"
#include "ws/wire/received.hpp"

namespace millrace::test {
namespace {

using http::wire::status_code;
using lines = std::vector<std::string>;
using ws::event;
using ws::message_kind;

std::string text_of(const buf::chain& from) {
  byte_list all(from.size());
  EXPECT_EQ(from.copy_out(0, all), all.size());
  return std::string(base::as_text(all));
}

// Notes what it is told, and sends back what it gets unless told otherwise.
class noting final : public ws::message_handler {
 public:
  lines told;
  ws::session* at = nullptr;
  status_code opening = status_code::ok;
  bool echoes = true, closes = false, pauses = false;
  unsigned floods = 0;  // messages sent for one received

  status_code on_opening(const http::request_head& r) noexcept override {
    EXPECT_EQ(r.path, "/ws");
    return opening;
  }
  void on_open(ws::session& s) noexcept override {
    at = &s;
    told.emplace_back("open");
  }
  void on_message(ws::session& s, message_kind kind, buf::chain&& whole) noexcept override {
    EXPECT_EQ(s.request().path, "/ws");
    EXPECT_EQ(s.now_ns(), 7u);
    told.push_back((kind == message_kind::text ? "text " : "binary ") + text_of(whole));
    if (pauses) s.pause();
    for (unsigned i = 0; i < floods; ++i) static_cast<void>(s.send(kind, base::as_bytes("flood")));
    if (echoes) static_cast<void>(s.send(kind, std::move(whole)));
    if (closes) s.close(4000, "enough");
  }
  void on_pong(ws::session&, base::byte_view payload) noexcept override {
    told.push_back("pong " + std::string(base::as_text(payload)));
  }
  void on_writable(ws::session&) noexcept override { told.emplace_back("writable"); }
  void on_close(ws::session& s, const ws::closing& how) noexcept override {
    EXPECT_FALSE(s.is_open());
    EXPECT_EQ(s.send(message_kind::text, base::as_bytes("late")), buf::flow::closed);
    s.close();
    told.push_back((how.is_clean ? "closed " : "cut ") + std::to_string(how.code) + " " + std::string(how.reason));
    at = nullptr;
  }
};

struct ws_session : testing::Test {
  plain_pool blocks{4096, 2048};
  noting handler;
  ws::settings limits;
  std::unique_ptr<ws::endpoint> of;
  std::unique_ptr<ws_carrier> x;

  ws_session() { limits.sessions = 4; }
  void make() {
    x.reset();
    of = std::move(ws::endpoint::make(limits, handler).value());
    x = std::make_unique<ws_carrier>(blocks);
  }
  void open() {
    make();
    x->open(*of);
    ASSERT_EQ(x->status, 200u);
    ASSERT_EQ(handler.told, lines{"open"});
    handler.told.clear();
  }
  void TearDown() override {
    x.reset();
    if (!of) return;
    EXPECT_EQ(of->open_sessions(), 0u);
    EXPECT_TRUE(of->is_whole());
    EXPECT_EQ(of->gathered_bytes(), 0u);
    EXPECT_EQ(blocks.in_use(), 0u);
  }
  std::uint64_t count(event e) const { return of->count().get(e); }
  // What the client reads.
  lines answers() {
    ws::wire::receiver r({ws::wire::read_rules(ws::wire::role::client, ws::wire::masking::strict, 1 << 24), 1 << 24});
    ws::test_support::received got;
    byte_list copy = x->out;
    got.take(r, copy);
    return got.lines;
  }
};

// --- openings ---

TEST_F(ws_session, opens_with_200_and_chooses_no_extension_and_no_subprotocol) {
  make();
  x->open(*of, {{"sec-websocket-version", "13"},
                {"sec-websocket-extensions", "permessage-deflate"},
                {"sec-websocket-protocol", "chat"}});
  EXPECT_EQ(x->status, 200u);
  EXPECT_TRUE(x->answered.empty());
  EXPECT_EQ(count(event::sessions), 1u);
}

TEST_F(ws_session, refuses_what_is_not_websocket_with_501) {
  for (const char* protocol : {"connect-udp", "", "WebSocket"}) {
    make();
    x->open(*of, {{"sec-websocket-version", "13"}}, protocol);
    EXPECT_EQ(x->status, 501u) << protocol;
    EXPECT_TRUE(x->refused);
    EXPECT_EQ(count(event::refused_protocol), 1u);
  }
  EXPECT_TRUE(handler.told.empty());
}

TEST_F(ws_session, answers_another_version_with_400_and_ours) {
  for (const char* version : {"8", "", "13, 8"}) {
    make();
    x->open(*of, {{"sec-websocket-version", version}});
    EXPECT_EQ(x->status, 400u) << version;
    EXPECT_EQ(x->header("sec-websocket-version"), "13");
    EXPECT_EQ(count(event::refused_version), 1u);
  }
  make();
  x->open(*of, {});
  EXPECT_EQ(x->status, 400u);
}

TEST_F(ws_session, an_opening_that_may_be_a_repetition_is_too_early) {
  make();
  x->open(*of, {{"sec-websocket-version", "13"}}, "websocket", true);
  EXPECT_EQ(x->status, 425u);
  EXPECT_EQ(count(event::refused_early), 1u);
}

TEST_F(ws_session, the_handler_may_refuse) {
  make();
  handler.opening = status_code::forbidden;
  x->open(*of);
  EXPECT_EQ(x->status, 403u);
  EXPECT_EQ(count(event::refused_handler), 1u);
  EXPECT_TRUE(handler.told.empty());
}

TEST_F(ws_session, more_sessions_than_places_are_refused) {
  make();
  std::deque<ws_carrier> open;
  for (unsigned i = 0; i < limits.sessions; ++i) {
    open.emplace_back(blocks).open(*of);
    EXPECT_EQ(open.back().status, 200u);
  }
  x->open(*of);
  EXPECT_EQ(x->status, 503u);
  EXPECT_EQ(count(event::refused_busy), 1u);
  open.pop_back();
  ws_carrier later(blocks);
  later.open(*of);
  EXPECT_EQ(later.status, 200u);
}

TEST_F(ws_session, an_answer_that_finds_no_memory_leaves_nothing) {
  make();
  x->begins = false;
  x->open(*of);
  EXPECT_EQ(of->open_sessions(), 0u);
  EXPECT_TRUE(handler.told.empty());
}

// --- messages ---

TEST_F(ws_session, sends_messages_back_whole) {
  open();
  x->send(ws_frame(0x81, "hello"));
  x->send(ws_frame(0x82, from_hex("00 01 02")));
  x->send(ws_frame(0x81, ""));
  EXPECT_EQ(answers(), (lines{"text hello", std::string("binary \0\1\2", 10), "text "}));
  EXPECT_EQ(handler.told.size(), 3u);
  EXPECT_EQ(count(event::texts), 2u);
  EXPECT_EQ(count(event::binaries), 1u);
  EXPECT_EQ(count(event::sent), 3u);
}

TEST_F(ws_session, joins_fragments_with_control_frames_between_them) {
  open();
  x->send(join({ws_frame(0x01, "one "), ws_frame(0x89, "p"), ws_frame(0x00, "two "), ws_frame(0x8A, "q"),
                ws_frame(0x00, ""), ws_frame(0x80, "three")}));
  EXPECT_EQ(answers(), (lines{"pong p", "text one two three"}));
  EXPECT_EQ(handler.told, (lines{"pong q", "text one two three"}));
}

TEST_F(ws_session, the_answers_are_the_same_however_the_bytes_are_cut) {
  seeded random(17);
  std::string large(5000, '\0'), other(70'000, '\0');
  for (char& c : large) c = static_cast<char>('a' + random.below(26));
  for (char& c : other) c = static_cast<char>(random.next());
  const byte_list all =
      join({ws_frame(0x81, "small"), ws_frame(0x01, "fr\xC3"), ws_frame(0x89, "ping"), ws_frame(0x00, "\xA4"),
            ws_frame(0x80, "gment"), ws_frame(0x81, large), ws_frame(0x82, other), ws_frame(0x88, "\x03\xE8 bye")});
  for (const std::size_t gather : {300u, 4096u}) {
    for (const std::size_t cut : {1u, 2u, 7u, 125u, 1200u, 2000u}) {
      limits.gather_copied_bytes = static_cast<std::uint32_t>(gather);
      handler.told.clear();
      open();
      for (std::size_t at = 0; at < all.size(); at += cut)
        x->send(base::byte_view(all).subspan(at, std::min(cut, all.size() - at)));
      EXPECT_EQ(handler.told,
                (lines{"text small", "text fr\xC3\xA4gment", "text " + large, "binary " + other, "closed 1000  bye"}))
          << cut;
      EXPECT_EQ(answers(), (lines{"text small", "pong ping", "text fr\xC3\xA4gment", "text " + large, "binary " + other,
                                  "close 1000 "}))
          << cut;
      EXPECT_TRUE(x->finished);
    }
  }
}

TEST_F(ws_session, small_answers_share_a_block_and_a_write) {
  open();
  byte_list all;
  for (unsigned i = 0; i < 100; ++i) all = join({all, ws_frame(0x81, "0123456789")});
  x->send(all);
  EXPECT_EQ(answers().size(), 100u);
  EXPECT_EQ(x->writes, 1u);
}

TEST_F(ws_session, a_half_message_does_not_hold_received_packets) {
  open();
  x->send(ws_frame(0x02, std::string(100, 'x')));
  const std::size_t before = blocks.in_use();
  for (unsigned i = 0; i < 15; ++i) x->send(ws_frame(0x00, std::string(100, 'x')));
  EXPECT_EQ(blocks.in_use(), before) << "sixteen pieces are one block";
  EXPECT_EQ(of->gathered_bytes(), 1600u);
}

TEST_F(ws_session, messages_of_its_own) {
  open();
  EXPECT_EQ(handler.at->send(message_kind::text, base::as_bytes("news")), buf::flow::open);
  EXPECT_EQ(handler.at->ping(base::as_bytes("alive?")), buf::flow::open);
  buf::chain large;
  ASSERT_TRUE(large.append_copy(byte_list(100'000, 'z'), blocks));
  EXPECT_EQ(handler.at->send(message_kind::binary, std::move(large)), buf::flow::open);
  EXPECT_EQ(answers(), (lines{"text news", "ping alive?", "binary " + std::string(100'000, 'z')}));
  x->send(ws_frame(0x8A, "alive?"));
  EXPECT_EQ(handler.told, lines{"pong alive?"});
}

TEST_F(ws_session, a_ping_is_answered_with_what_it_carries) {
  open();
  x->send(join({ws_frame(0x89, "abc"), ws_frame(0x89, std::string(125, 'p')), ws_frame(0x89, "")}));
  EXPECT_EQ(answers(), (lines{"pong abc", "pong " + std::string(125, 'p'), "pong "}));
  EXPECT_EQ(count(event::pings), 3u);
}

// --- what breaks a rule ---

struct broken {
  const char* what;
  byte_list bytes;
  unsigned code;
  event counted;
};

TEST_F(ws_session, what_breaks_a_rule_ends_with_its_code) {
  limits.frame_bytes = 1000;
  limits.message_bytes = 1500;
  const std::string big(1001, 'x'), most(1000, 'x');
  const broken all[] = {
      {"not masked", ws_frame(0x81, base::as_bytes("x"), false), 1002, event::failed_protocol},
      {"RSV1: deflate was not agreed on", ws_frame(0xC1, "x"), 1002, event::failed_protocol},
      {"RSV2", ws_frame(0xA1, "x"), 1002, event::failed_protocol},
      {"RSV3", ws_frame(0x91, "x"), 1002, event::failed_protocol},
      {"opcode 3", ws_frame(0x83, "x"), 1002, event::failed_protocol},
      {"opcode 11", ws_frame(0x8B, "x"), 1002, event::failed_protocol},
      {"a ping in fragments", ws_frame(0x09, "x"), 1002, event::failed_protocol},
      {"a long ping", ws_frame(0x89, std::string(126, 'x')), 1002, event::failed_protocol},
      {"a continuation of nothing", ws_frame(0x80, "x"), 1002, event::failed_protocol},
      {"a message inside another", join({ws_frame(0x01, "x"), ws_frame(0x81, "y")}), 1002, event::failed_protocol},
      {"a length not minimal", from_hex("82 FE 00 01 11 22 33 44 50"), 1002, event::failed_protocol},
      {"a length beyond 2^63", from_hex("82 FF 80 00 00 00 00 00 00 00 11 22 33 44"), 1002, event::failed_protocol},
      {"a Close of one byte", ws_frame(0x88, "x"), 1002, event::failed_protocol},
      {"a Close with 1005", ws_frame(0x88, "\x03\xED"), 1002, event::failed_protocol},
      {"a Close with 999", ws_frame(0x88, "\x03\xE7"), 1002, event::failed_protocol},
      {"a Close whose reason is not UTF-8", ws_frame(0x88, "\x03\xE8\xFF"), 1007, event::failed_text},
      {"text that is not UTF-8", ws_frame(0x81, "a\xFF"), 1007, event::failed_text},
      {"a surrogate", ws_frame(0x81, "\xED\xA0\x80"), 1007, event::failed_text},
      {"a character cut at the end", ws_frame(0x81, "\xE2\x82"), 1007, event::failed_text},
      {"a character cut at the end of fragments", join({ws_frame(0x01, "\xE2"), ws_frame(0x80, "\x82")}), 1007,
       event::failed_text},
      {"a frame too large", ws_frame(0x82, big), 1009, event::failed_too_big},
      {"a message too large", join({ws_frame(0x02, most), ws_frame(0x80, big.substr(0, 501))}), 1009,
       event::failed_too_big}};
  for (const broken& b : all) {
    for (const std::size_t cut : {std::size_t{1}, b.bytes.size()}) {
      handler.told.clear();
      open();
      for (std::size_t at = 0; at < b.bytes.size() && !x->refused; at += cut)
        x->send(base::byte_view(b.bytes).subspan(at, std::min(cut, b.bytes.size() - at)));
      EXPECT_EQ(answers(), lines{"close " + std::to_string(b.code) + " "}) << b.what;
      EXPECT_EQ(handler.told, lines{"cut " + std::to_string(b.code) + " "}) << b.what;
      EXPECT_EQ(count(b.counted), 1u) << b.what;
      EXPECT_TRUE(x->finished && x->refused) << b.what;
      EXPECT_EQ(count(event::cut), 0u);
      x->send(ws_frame(0x81, "behind the end"));
      EXPECT_EQ(handler.told.size(), 1u) << b.what;
    }
  }
}

TEST_F(ws_session, frames_and_messages_at_their_limits_pass) {
  limits.frame_bytes = 1000;
  limits.message_bytes = 1500;
  open();
  x->send(ws_frame(0x02, std::string(1000, 'x')));
  x->send(ws_frame(0x80, std::string(500, 'x')));
  EXPECT_EQ(answers(), lines{"binary " + std::string(1500, 'x')});
}

TEST_F(ws_session, unmasked_frames_are_taken_when_told_to) {
  limits.policy = ws::wire::masking::accept_unmasked;
  open();
  x->send(ws_frame(0x81, base::as_bytes("bare"), false));
  EXPECT_EQ(answers(), lines{"text bare"});
}

TEST_F(ws_session, what_all_sessions_gather_has_a_bound) {
  limits.gathered_bytes = 1000;
  open();
  ws_carrier other(blocks);
  other.open(*of);
  x->send(ws_frame(0x02, std::string(900, 'x')));
  other.send(ws_frame(0x02, std::string(101, 'x')));
  EXPECT_EQ(count(event::failed_gathered), 1u);
  EXPECT_EQ(other.out, from_hex("88 02 03 F5"));  // 1013
  EXPECT_EQ(of->gathered_bytes(), 900u);
  x->send(ws_frame(0x80, std::string(100, 'x')));
  EXPECT_EQ(answers(), lines{"binary " + std::string(1000, 'x')});
  EXPECT_EQ(of->gathered_bytes(), 0u);
  ws_carrier third(blocks);
  third.open(*of);
  third.send(ws_frame(0x02, std::string(1000, 'x')));
  EXPECT_TRUE(third.out.empty());
}

// --- ends ---

TEST_F(ws_session, a_close_is_answered_with_its_code_and_ends_what_is_sent) {
  open();
  x->send(join({ws_frame(0x88, "\x0F\xA0 done"), ws_frame(0x81, "nobody reads this")}));
  EXPECT_EQ(x->out, from_hex("88 02 0F A0"));
  EXPECT_TRUE(x->finished);
  EXPECT_FALSE(x->refused);
  EXPECT_EQ(x->waiting(), 0u);
  EXPECT_EQ(handler.told, lines{"closed 4000  done"});
  EXPECT_EQ(count(event::closed), 1u);
  x->send_end();
  x->end();
  EXPECT_EQ(count(event::cut), 0u);
}

TEST_F(ws_session, a_close_without_a_code_is_1005_and_answered_without_one) {
  open();
  x->send(ws_frame(0x88, ""));
  EXPECT_EQ(x->out, from_hex("88 00"));
  EXPECT_EQ(handler.told, lines{"closed 1005 "});
}

TEST_F(ws_session, says_close_first_and_waits_for_the_peers) {
  open();
  handler.closes = true;
  x->send(join({ws_frame(0x81, "x"), ws_frame(0x81, "not delivered"), ws_frame(0x89, "no pong")}));
  EXPECT_EQ(answers(), (lines{"text x", "close 4000 enough"}));
  EXPECT_TRUE(x->finished);
  EXPECT_EQ(handler.told, lines{"text x"});
  x->send(ws_frame(0x88, "\x0F\xA0"));
  EXPECT_EQ(handler.told, (lines{"text x", "closed 4000 "}));
  EXPECT_EQ(count(event::closed), 1u);
}

TEST_F(ws_session, says_close_from_outside_of_a_call) {
  open();
  handler.at->close(1005, "not for the wire");
  EXPECT_EQ(x->out, from_hex("88 00"));
  x->end();
  EXPECT_EQ(handler.told, lines{"cut 1006 "});
}

TEST_F(ws_session, bytes_that_end_without_a_close_are_a_cut) {
  open();
  x->send(ws_frame(0x01, "half"));
  x->send_end();
  EXPECT_EQ(handler.told, lines{"cut 1006 "});
  EXPECT_TRUE(x->finished);
  EXPECT_TRUE(x->out.empty());
  EXPECT_EQ(count(event::cut), 1u);
}

TEST_F(ws_session, a_connection_that_is_lost_is_a_cut) {
  open();
  x->send(ws_frame(0x01, "half"));
  x->end(http::exchange_end::connection_lost);
  EXPECT_EQ(handler.told, lines{"cut 1006 "});
  EXPECT_EQ(of->open_sessions(), 0u);
}

// --- flow ---

TEST_F(ws_session, who_does_not_take_answers_is_not_read_from) {
  limits.copied_bytes = 1024;
  open();
  x->takes = false;
  const std::string large(1500, 'x');
  x->queue(ws_frame(0x82, large));
  x->queue(ws_frame(0x82, large));
  x->send(ws_frame(0x81, "last"));
  EXPECT_EQ(handler.told.size(), 1u);
  EXPECT_GT(x->waiting(), 1500u);
  EXPECT_EQ(count(event::paused), 1u);
  x->writable();
  EXPECT_EQ(handler.told, (lines{"binary " + large, "writable", "binary " + large, "text last"}));
  EXPECT_EQ(answers().size(), 3u);
}

TEST_F(ws_session, small_answers_stop_a_block_later) {
  open();
  x->takes = false;
  for (unsigned i = 0; i < 9; ++i) x->queue(ws_frame(0x82, std::string(900, 'x')));
  x->send(ws_frame(0x81, "last"));
  EXPECT_EQ(handler.told.size(), 3u) << "two fill a block, the third shows that nobody takes it";
  EXPECT_EQ(x->writes, 2u);
  EXPECT_EQ(answers().size(), 3u);
  x->writable();
  EXPECT_EQ(answers().size(), 10u);
}

TEST_F(ws_session, messages_that_fit_no_block_are_not_copied_into_one) {
  limits.copied_bytes = 5000;
  open();
  const std::string large(4500, 'x');
  x->send(ws_frame(0x02, large.substr(0, 1500)));
  x->send(ws_frame(0x00, large.substr(0, 1500)));
  x->send(ws_frame(0x80, large.substr(0, 1500)));
  EXPECT_FALSE(x->aborted);
  EXPECT_EQ(answers(), lines{"binary " + large});
}

TEST_F(ws_session, a_handler_may_take_messages_one_by_one) {
  open();
  handler.pauses = true;
  x->send(join({ws_frame(0x81, "1"), ws_frame(0x81, "2"), ws_frame(0x81, "3"), ws_frame(0x88, "\x03\xE8")}));
  x->send_end();
  EXPECT_EQ(handler.told, lines{"text 1"});
  handler.at->resume();
  EXPECT_EQ(handler.told, (lines{"text 1", "text 2"}));
  handler.at->resume();
  EXPECT_EQ(answers(), (lines{"text 1", "text 2", "text 3"}));
  handler.at->resume();
  EXPECT_EQ(handler.told, (lines{"text 1", "text 2", "text 3", "closed 1000 "}));
}

TEST_F(ws_session, an_end_waits_behind_messages_that_wait) {
  open();
  handler.pauses = true;
  x->send(join({ws_frame(0x81, "1"), ws_frame(0x81, "2")}));
  x->send_end();
  EXPECT_EQ(handler.told, lines{"text 1"});
  handler.at->resume();
  handler.at->resume();
  EXPECT_EQ(handler.told, (lines{"text 1", "text 2", "cut 1006 "}));
}

TEST_F(ws_session, an_exchange_that_ends_while_it_is_written_to) {
  for (const char* what : {"echo", "ping", "close", "broken"}) {
    handler.told.clear();
    open();
    x->breaks = true;
    const std::string_view w = what;
    x->send(w == "echo"    ? ws_frame(0x82, std::string(1500, 'x'))
            : w == "ping"  ? ws_frame(0x89, "x")
            : w == "close" ? ws_frame(0x88, "\x03\xE8")
                           : ws_frame(0x83, "x"));
    EXPECT_EQ(handler.told.back(), "cut 1006 ") << what;
    EXPECT_EQ(of->open_sessions(), 0u) << what;
  }
  handler.told.clear();
  open();
  x->breaks = true;
  EXPECT_EQ(handler.at->send(message_kind::text, base::as_bytes("from outside")), buf::flow::closed);
  EXPECT_EQ(handler.told, lines{"cut 1006 "});
  EXPECT_EQ(of->open_sessions(), 0u);
}

TEST_F(ws_session, no_block_for_an_answer_aborts) {
  plain_pool few(2, 2048);
  make();
  ws_carrier poor(few);
  poor.open(*of);
  poor.send(ws_frame(0x81, "fits"));
  handler.floods = 200;
  poor.takes = true;
  std::vector<buf::packet> rest;
  poor.queue(ws_frame(0x81, "x"));
  rest.emplace_back(few.alloc());
  of->on_body(poor);
  EXPECT_TRUE(poor.aborted);
  EXPECT_EQ(count(event::no_memory), 1u);
  EXPECT_EQ(handler.told.back(), "cut 1006 ");
  EXPECT_EQ(of->open_sessions(), 0u);
}

}  // namespace
}  // namespace millrace::test
