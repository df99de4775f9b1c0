// What a peer must not do, one by one: the code that the connection or the stream ends with, and the counter.
#include "h3/pair.hpp"

namespace millrace::test {
namespace {

using h3::event;
using h3::section_errc;
using h3::wire::error;
using h3::wire::frame_type;
using http::exchange_end;
using quic::stream::direction;

bytes operator""_b(const char* hex, std::size_t) { return from_hex(hex); }

// Says `what` on a new unidirectional stream.
scripted& uni(h3_pair& p, const bytes& what, bool fin = false) {
  scripted& x = p.open(direction::unidirectional);
  p.say(x, what, fin);
  return x;
}

struct closing {
  const char* what;
  bytes said;  // on the control stream, behind its SETTINGS
  error code;
  event counted;
};

TEST(h3_attack, control_frames_that_must_not_be) {
  const closing all[] = {
      {"SETTINGS twice", frame(frame_type::settings, {}), error::frame_unexpected, event::fault_frame_unexpected},
      {"DATA", data({}), error::frame_unexpected, event::fault_frame_unexpected},
      {"HEADERS", head(get()), error::frame_unexpected, event::fault_frame_unexpected},
      {"PUSH_PROMISE", frame(5, "00"_b), error::frame_unexpected, event::fault_frame_unexpected},
      {"PING of HTTP/2", frame(6, bytes(8)), error::frame_unexpected, event::fault_frame_unexpected},
      {"GOAWAY without a number", frame(frame_type::goaway, {}), error::frame_error, event::fault_frame},
      {"GOAWAY of two numbers", frame(frame_type::goaway, "0000"_b), error::frame_error, event::fault_frame},
      {"GOAWAY cut off", frame(frame_type::goaway, "40"_b), error::frame_error, event::fault_frame},
      {"GOAWAY that grows", frame(frame_type::goaway, "04"_b) + frame(frame_type::goaway, "08"_b), error::id_error,
       event::fault_id},
      {"MAX_PUSH_ID that shrinks", frame(frame_type::max_push_id, "05"_b) + frame(frame_type::max_push_id, "04"_b),
       error::id_error, event::fault_id},
      {"CANCEL_PUSH of nothing", frame(frame_type::cancel_push, "00"_b), error::id_error, event::fault_id},
      {"PRIORITY_UPDATE of a push", frame(frame_type::priority_update_push, "00"_b), error::id_error, event::fault_id},
      {"PRIORITY_UPDATE of a stream that is no request", frame(frame_type::priority_update_request, "02"_b),
       error::id_error, event::fault_id},
      {"PRIORITY_UPDATE beyond the streams there can be",
       frame(frame_type::priority_update_request, varint(4 * 100'000)), error::id_error, event::fault_id},
      {"PRIORITY_UPDATE without a number", frame(frame_type::priority_update_request, {}), error::frame_error,
       event::fault_frame},
  };
  for (const closing& c : all) {
    h3_pair p;
    p.say(*p.control, c.said);
    EXPECT_EQ(p.closed_with(), number(c.code)) << c.what;
    EXPECT_EQ(p.count(c.counted), 1u) << c.what;
  }
}

TEST(h3_attack, settings_that_must_not_be) {
  h3_options o;
  o.says_settings = false;
  const closing all[] = {
      {"another frame first", frame(frame_type::goaway, "00"_b), error::missing_settings,
       event::fault_missing_settings},
      {"a reserved frame first", frame(0x21, {}), error::missing_settings, event::fault_missing_settings},
      {"the same one twice", frame(frame_type::settings, "0100 0100"_b), error::settings_error, event::fault_settings},
      {"one of HTTP/2", frame(frame_type::settings, "0200"_b), error::settings_error, event::fault_settings},
      {"a flag of 2", frame(frame_type::settings, "0802"_b), error::settings_error, event::fault_settings},
      {"cut off", frame(frame_type::settings, "01"_b), error::frame_error, event::fault_frame},
      {"without end",
       frame(frame_type::settings,
             "3900 3a00 3b00 3c00 3d00 3e00 1000 1100 1200 1300 1400 1500 1600 1700 1800 1900 1a00"_b),
       error::excessive_load, event::fault_excessive_load},
  };
  for (const closing& c : all) {
    h3_pair p(o);
    uni(p, varint(0) + c.said);
    EXPECT_EQ(p.closed_with(), number(c.code)) << c.what;
    EXPECT_EQ(p.count(c.counted), 1u) << c.what;
  }
}

TEST(h3_attack, critical_streams_come_once) {
  for (const std::uint64_t type : {0, 2, 3}) {
    h3_pair p;
    if (type != 0) uni(p, varint(type));
    p.net.wait(100 * ms);
    uni(p, varint(type));
    EXPECT_EQ(p.closed_with(), number(error::stream_creation_error)) << type;
    EXPECT_EQ(p.count(event::fault_stream_creation), 1u) << type;
  }
}

TEST(h3_attack, critical_streams_do_not_end) {
  for (const std::uint64_t type : {0, 2, 3}) {
    for (const bool by_reset : {false, true}) {
      h3_options o;
      o.says_settings = false;
      h3_pair p(o);
      scripted& x = uni(p, varint(type));
      p.net.wait(100 * ms);
      if (by_reset)
        p.connection->reset(*x.stream, 1);
      else
        p.connection->finish(*x.stream);
      p.net.client->endpoint->touch(*p.connection);
      EXPECT_EQ(p.closed_with(), number(error::closed_critical_stream)) << type << by_reset;
      EXPECT_EQ(p.count(event::fault_critical_stream), 1u);
    }
  }
  h3_pair p;  // ours must not be asked to end either
  ASSERT_TRUE(p.net.run([&] { return p.client_app.from_peer.size() == 3; }, second));
  p.connection->stop(*p.client_app.from_peer[0]->stream, 1);
  p.net.client->endpoint->touch(*p.connection);
  EXPECT_EQ(p.closed_with(), number(error::closed_critical_stream));
}

// CVE-2026-42530: the place of a critical stream is not free again because the first one went.
TEST(h3_attack, a_push_stream_of_a_client_ends_the_connection) {
  h3_pair p;
  uni(p, varint(1) + varint(0));
  EXPECT_EQ(p.closed_with(), number(error::stream_creation_error));
}

TEST(h3_attack, streams_of_unknown_types_are_stopped_and_no_error) {
  h3_pair p;
  scripted& x = uni(p, varint(0x21) + bytes(100));
  scripted& y = uni(p, varint(0x4000 - 1) + bytes(3000));
  EXPECT_TRUE(p.net.run([&] { return x.stopped && y.stopped; }, 5 * second));
  EXPECT_EQ(p.count(event::streams_ignored), 2u);
  EXPECT_EQ(read_message(p.ask(head(get())).got).body, "hello");
}

TEST(h3_attack, a_type_may_come_byte_by_byte) {
  h3_options o;
  o.says_settings = false;
  h3_pair p(o);
  scripted& x = uni(p, "c0"_b);
  for (const std::uint8_t b : "00000000000000"_b) {
    p.net.wait(30 * ms);
    p.say(x, {b});
  }
  p.net.wait(30 * ms);
  p.say(x, frame(frame_type::goaway, "00"_b));
  EXPECT_EQ(p.closed_with(), number(error::missing_settings)) << "it was a control stream";
}

TEST(h3_attack, frames_on_request_streams_that_must_not_be) {
  const bytes ok = head(post("/hold"));
  const struct {
    const char* what;
    bytes said;
    bool fin;
    error code;
    event counted;
  } all[] = {
      {"DATA first", data(text("x")), false, error::frame_unexpected, event::fault_frame_unexpected},
      {"SETTINGS", frame(frame_type::settings, {}), false, error::frame_unexpected, event::fault_frame_unexpected},
      {"GOAWAY", ok + frame(frame_type::goaway, "00"_b), false, error::frame_unexpected, event::fault_frame_unexpected},
      {"MAX_PUSH_ID", ok + frame(frame_type::max_push_id, "00"_b), false, error::frame_unexpected,
       event::fault_frame_unexpected},
      {"CANCEL_PUSH", ok + frame(frame_type::cancel_push, "00"_b), false, error::frame_unexpected,
       event::fault_frame_unexpected},
      {"PUSH_PROMISE", ok + frame(frame_type::push_promise, "0000"_b), false, error::frame_unexpected,
       event::fault_frame_unexpected},
      {"PRIORITY_UPDATE", frame(frame_type::priority_update_request, "00"_b), false, error::frame_unexpected,
       event::fault_frame_unexpected},
      {"CONTINUATION of HTTP/2", frame(9, {}), false, error::frame_unexpected, event::fault_frame_unexpected},
      {"DATA behind trailers", ok + head({{"a", "b"}}) + data(text("x")), false, error::frame_unexpected,
       event::fault_frame_unexpected},
      {"HEADERS behind trailers", ok + head({{"a", "b"}}) + head({{"a", "b"}}), false, error::frame_unexpected,
       event::fault_frame_unexpected},
      {"an end inside a header", ok + "40"_b, true, error::frame_error, event::fault_frame},
      {"an end inside DATA", ok + "000561"_b, true, error::frame_error, event::fault_frame},
      {"an end inside HEADERS", "0140ff0000"_b, true, error::frame_error, event::fault_frame},
      {"an end inside a frame that is skipped", ok + "210561"_b, true, error::frame_error, event::fault_frame},
      {"a section that does not decode", frame(frame_type::headers, "0000ff"_b), false,
       error::qpack_decompression_failed, event::fault_decompression},
      {"a section of a table that is not there", frame(frame_type::headers, "0000ffffff01"_b), false,
       error::qpack_decompression_failed, event::fault_decompression},
      {"an empty section", frame(frame_type::headers, {}), false, error::qpack_decompression_failed,
       event::fault_decompression},
  };
  for (const auto& c : all) {
    h3_pair p;
    p.request(c.said, c.fin);
    EXPECT_EQ(p.closed_with(), number(c.code)) << c.what;
    EXPECT_EQ(p.count(c.counted), 1u) << c.what;
  }
}

TEST(h3_attack, only_data_goes_through_a_tunnel) {
  h3_pair p;
  fields f = get("/ws");
  f[0].value = "CONNECT";
  p.request(head(f + fields{{":protocol", "websocket"}}) + head({{"a", "b"}}), false);
  EXPECT_EQ(p.closed_with(), number(error::frame_unexpected));
}

TEST(h3_attack, malformed_requests_end_their_stream_alone) {
  const struct {
    section_errc why;
    fields said;
  } all[] = {
      {section_errc::pseudo_missing, {{":method", "GET"}}},
      {section_errc::pseudo_twice, get() + fields{{":path", "/"}}},
      {section_errc::pseudo_late, fields{{"a", "b"}} + get()},
      {section_errc::pseudo_unknown, get() + fields{{":x", "y"}}},
      {section_errc::bad_name, get() + fields{{"A", "b"}}},
      {section_errc::bad_value, get() + fields{{"a", "b\r\nc: d"}}},
      {section_errc::connection_specific, get() + fields{{"transfer-encoding", "chunked"}}},
      {section_errc::bad_content_length, get() + fields{{"content-length", "1,1"}}},
      {section_errc::host_differs, get() + fields{{"host", "other"}}},
      {section_errc::bad_path, get("/a b")},
      {section_errc::bad_authority, {{":method", "GET"}, {":scheme", "https"}, {":authority", "u@h"}, {":path", "/"}}},
      {section_errc::bad_protocol, get() + fields{{":protocol", "websocket"}}},
      {section_errc::pseudo_forbidden, {{":method", "CONNECT"}, {":authority", "h:1"}, {":path", "/"}}},
  };
  h3_pair p;
  for (const auto& c : all) {
    scripted& x = p.ask(head(c.said), false, 5 * second);
    EXPECT_TRUE(x.reset && x.stopped && x.over) << to_string(c.why);
    EXPECT_EQ(x.code, number(error::message_error)) << to_string(c.why);
    EXPECT_EQ(p.count(c.why), 1u) << to_string(c.why);
  }
  EXPECT_TRUE(p.handler.requests.empty()) << "nobody was asked";
  EXPECT_EQ(read_message(p.ask(head(get())).got).body, "hello");
}

TEST(h3_attack, bad_trailers_end_their_stream) {
  h3_pair p;
  scripted& x = p.ask(head(post("/hold")) + data(text("x")) + head({{":path", "/"}}), true, 5 * second);
  EXPECT_EQ(x.code, number(error::message_error));
  EXPECT_EQ(p.count(section_errc::pseudo_late), 1u);
  EXPECT_EQ(p.handler.requests[0].end, exchange_end::malformed);
  h3_options o;
  o.settings.field_section_bytes = 1000;
  h3_pair q(o);
  const std::string most(900, 'x');
  scripted& y = q.ask(head(post("/hold")) + head({{"a", most}, {"b", most}}), true, 5 * second);
  EXPECT_EQ(y.code, number(error::excessive_load)) << "the limit counts for trailers, too (CVE-2026-40898)";
}

TEST(h3_attack, a_body_is_as_long_as_its_head_says) {
  h3_pair p;
  const bytes five = head(post("/hold") + fields{{"content-length", "5"}});
  for (const bytes& said : {five + data(text("1234")), five + data(text("123")) + data(text("456")), five}) {
    scripted& x = p.ask(said, true, 5 * second);
    EXPECT_EQ(x.code, number(error::message_error));
  }
  EXPECT_EQ(p.count(event::content_length_wrong), 3u);
  scripted& early = p.ask(five + "000a"_b, false, 5 * second);
  EXPECT_EQ(early.code, number(error::message_error)) << "known with the frame's header, before its bytes come";
  scripted& good = p.ask(head(post("/echo") + fields{{"content-length", "5"}}) + data(text("12")) + data(text("345")));
  EXPECT_EQ(read_message(good.got).body, "12345");
}

TEST(h3_attack, a_request_that_ends_before_its_head) {
  h3_pair p;
  EXPECT_EQ(p.ask({}, true, 5 * second).code, number(error::request_incomplete));
  EXPECT_EQ(p.ask(frame(0x21, text("x")), true, 5 * second).code, number(error::request_incomplete));
  EXPECT_EQ(p.count(event::request_incomplete), 2u);
}

// CVE-2025-64702: what a head says small may be large; the limit is looked at behind each field.
TEST(h3_attack, large_heads_are_answered_with_431_and_hold_nothing) {
  h3_options o;
  o.settings.field_section_bytes = 4096;
  h3_pair p(o);
  const std::string value(3000, 'x');
  scripted& x = p.ask(head(get() + fields{{"a", value}, {"b", value}}), false, 5 * second);
  EXPECT_EQ(read_message(x.got).status(), "431");
  EXPECT_TRUE(x.stopped);
  scripted& y = p.ask("0180010000"_b, false, 5 * second);  // 64 KiB announced, nothing sent
  EXPECT_EQ(read_message(y.got).status(), "431");
  fields many = get();
  for (unsigned i = 0; i < 200; ++i) many.push_back({"accept", "*/*"});  // a byte each, 41 when counted
  scripted& z = p.ask(head(many), true, 5 * second);
  EXPECT_EQ(read_message(z.got).status(), "431");
  EXPECT_EQ(p.count(event::answered_431), 3u);
  EXPECT_EQ(p.count(section_errc::too_large), 3u);
  EXPECT_TRUE(p.handler.requests.empty());
  EXPECT_TRUE(p.rests());
}

TEST(h3_attack, paths_that_leave_their_root_are_answered_with_400) {
  h3_pair p;
  EXPECT_EQ(read_message(p.ask(head(get("/../etc"))).got).status(), "400");
  EXPECT_EQ(read_message(p.ask(head(get("/%zz"))).got).status(), "400");
  EXPECT_EQ(p.count(event::answered_400), 2u);
}

// CVE-2026-56816: a frame that means nothing is not kept, however long it is.
TEST(h3_attack, long_unknown_frames_are_skipped_as_they_come) {
  h3_pair p;
  scripted& x = p.request(frame(0x21, bytes(3'000'000)) + head(get()));
  EXPECT_TRUE(p.net.run([&] { return x.over; }));
  EXPECT_EQ(read_message(x.got).body, "hello");
  p.say(*p.control, frame(0x40, bytes(1'000'000)) + frame(frame_type::goaway, "00"_b));
  EXPECT_TRUE(p.net.run([&] { return p.count(event::goaways) == 1; }));
  EXPECT_EQ(p.count(event::frames_skipped), 2u);
  scripted& y = p.request("21ffffffffffffffff"_b + bytes(100'000), false);  // 2^62 - 1 bytes
  p.net.wait(second);
  EXPECT_FALSE(y.reset);
  EXPECT_EQ(p.app->fields().in_use(), 0u);
  p.connection->reset(*y.stream, number(error::request_cancelled));
  p.net.client->endpoint->touch(*p.connection);
  EXPECT_TRUE(p.rests());
}

TEST(h3_attack, without_a_table_no_instruction_may_come) {
  h3_options o;
  o.settings.qpack_table_bytes = 0;
  h3_pair p(o);
  uni(p, varint(2) + "c00161"_b);  // an insertion
  EXPECT_EQ(p.closed_with(), number(error::qpack_encoder_stream_error));
  EXPECT_EQ(p.count(event::fault_encoder_stream), 1u);
}

TEST(h3_attack, acknowledgements_of_nothing) {
  h3_pair p;
  uni(p, varint(3) + "01"_b);  // Insert Count Increment
  EXPECT_EQ(p.closed_with(), number(error::qpack_decoder_stream_error));
  EXPECT_EQ(p.count(event::fault_decoder_stream), 1u);
}

// CVE-2023-44487, and CVE-2025-8671: what makes us reset counts as well.
TEST(h3_attack, floods_of_resets_end_the_connection) {
  for (const bool by_malformed : {false, true}) {
    h3_options o;
    o.settings.resets = {10, 20};
    h3_pair p(o);
    unsigned begun = 0;
    while (!p.client_app.closed && begun < 60) {
      scripted& x = p.request(by_malformed ? head({{":method", "GET"}}) : head(get("/hold")), false);
      ++begun;
      p.net.wait(5 * ms);
      if (by_malformed || p.client_app.closed || x.stream == nullptr) continue;
      p.connection->reset(*x.stream, number(error::request_cancelled));
      p.net.client->endpoint->touch(*p.connection);
    }
    EXPECT_EQ(p.closed_with(), number(error::excessive_load)) << by_malformed;
    EXPECT_EQ(p.count(event::resets_too_many), 1u);
    EXPECT_GE(begun, 20u);
    for (const auto& r : p.handler.requests) EXPECT_TRUE(r.ended);
  }
}

TEST(h3_attack, heads_that_take_too_long) {
  h3_options o;
  o.settings.head_ns = 2 * second;
  h3_pair p(o);
  const bytes whole = head(get());
  scripted& x = p.open();
  std::size_t said = 0;
  for (; said < whole.size() && !x.over; ++said) {
    p.say(x, {whole[said]});
    p.net.wait(200 * ms);
  }
  EXPECT_TRUE(x.reset);
  EXPECT_LT(said, 16u);
  EXPECT_EQ(p.count(event::head_too_slow), 1u);
  EXPECT_TRUE(p.rests());
}

TEST(h3_attack, bodies_that_drip) {
  h3_options o;
  o.settings.progress_ns = 2 * second;
  h3_pair p(o);
  scripted& x = p.request(head(post("/hold")), false);
  for (unsigned i = 0; i < 20 && !x.reset; ++i) {
    p.say(x, data(text("x")));
    p.net.wait(300 * ms);
  }
  EXPECT_TRUE(x.reset && x.stopped);
  EXPECT_EQ(p.count(event::body_too_slow), 1u);
  EXPECT_EQ(p.handler.requests[0].end, exchange_end::timed_out);
}

TEST(h3_attack, readers_that_take_nothing) {
  h3_options o;
  o.settings.progress_ns = 2 * second;
  h3_pair p(o);
  scripted& x = p.open();
  x.reads = false;
  p.say(x, head(get("/bytes/10000000")), true);
  EXPECT_TRUE(p.net.run([&] { return p.handler.requests.size() == 1 && p.handler.requests[0].ended; }, 10 * second));
  EXPECT_EQ(p.handler.requests[0].end, exchange_end::timed_out);
  EXPECT_EQ(p.count(event::reader_too_slow), 1u);
  EXPECT_EQ(pulled_blocks().in_use(), 0u);
}

TEST(h3_attack, requests_beyond_the_exchanges_there_are_may_be_asked_again) {
  h3_options o;
  o.settings.exchanges = 2;
  h3_pair p(o);
  p.request(head(get("/hold")));
  p.request(head(get("/hold")));
  scripted& x = p.ask(head(get()), true, 5 * second);
  EXPECT_EQ(x.code, number(error::request_rejected));
  EXPECT_EQ(p.count(event::no_exchange), 1u);
}

TEST(h3_attack, behind_a_goaway_nothing_is_taken) {
  h3_pair p;
  scripted& held = p.request(head(get("/hold")));
  p.net.wait(100 * ms);
  p.app->drain(p.net.now_ns);
  p.net.wait(second);
  scripted& x = p.ask(head(get()), true, 5 * second);
  EXPECT_EQ(x.code, number(error::request_rejected));
  EXPECT_EQ(p.count(event::rejected), 1u);
  ASSERT_TRUE(p.handler.requests[0].at->respond({http::wire::status_code::ok, {}}, http::body{}));
  EXPECT_TRUE(p.net.run([&] { return held.over; }, 5 * second));
  EXPECT_EQ(p.closed_with(), number(error::no_error));
}

}  // namespace
}  // namespace millrace::test
