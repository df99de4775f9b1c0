// Field sections that need the dynamic table: they wait without being read on, and do not wait for ever.
#include "h3/client.hpp"
#include "h3/pair.hpp"

namespace millrace::test {
namespace {

using h3::event;
using h3::wire::error;
using quic::stream::direction;

// A client's encoder, whose instructions and sections are said when the test likes.
struct writing_pair : h3_pair {
  std::vector<std::byte> storage;
  h3::qpack::encoder encoder;
  bytes instructions;
  scripted* out;

  static h3::qpack::encoder_settings limits() { return {}; }
  explicit writing_pair(const h3_options& o = {})
      : h3_pair(o), storage(h3::qpack::encoder::storage_size(limits())), encoder(limits(), storage) {
    EXPECT_TRUE(encoder.set_peer_settings(o.settings.qpack_table_bytes, 100));
    out = &open(direction::unidirectional);
    say(*out, varint(2));
  }
  // A request, of which one field refers to the table.
  bytes ask_with(std::uint64_t id, std::string_view value) {
    std::vector<h3::qpack::field> in;
    for (const http::field& f : get()) in.push_back({f.name, f.value, false});
    in.push_back({"x-marked", value, false});
    bytes section(h3::qpack::encoder::max_section_size(in)), more(4096);
    const auto got = encoder.encode(id, in, section, more);
    EXPECT_TRUE(got.is_written);
    section.resize(got.section);
    more.resize(got.instructions);
    instructions = instructions + more;
    return frame(h3::wire::frame_type::headers, section);
  }
  void send_instructions() { say(*out, std::exchange(instructions, {})); }
};

TEST(h3_qpack, a_section_waits_for_its_entries_and_its_stream_is_not_read_on) {
  writing_pair p;
  const bytes request = p.ask_with(0, "first");
  ASSERT_FALSE(p.instructions.empty());
  scripted& x = p.request(request + frame(0x21, bytes(500'000)));
  p.net.wait(2 * second);
  EXPECT_EQ(p.count(event::blocked), 1u);
  EXPECT_TRUE(p.handler.requests.empty());
  EXPECT_EQ(p.count(event::frames_skipped), 0u) << "what is behind is not looked at";
  const auto* at_server = x.stream;
  EXPECT_LE(at_server->send.sent(), 256u << 10) << "and no credit is given (CVE-2026-119237)";
  p.send_instructions();
  ASSERT_TRUE(p.net.run([&] { return x.over; }, 10 * second));
  EXPECT_EQ(read_message(x.got).body, "hello");
  ASSERT_EQ(p.handler.requests[0].all.size(), 1u);
  EXPECT_EQ(p.handler.requests[0].all[0].second, "first");
}

TEST(h3_qpack, more_blocked_streams_than_allowed_end_the_connection) {
  for (const std::uint16_t allowed : std::initializer_list<std::uint16_t>{0, 1, 3}) {
    h3_options o;
    o.settings.qpack_blocked_streams = allowed;
    writing_pair p(o);
    for (unsigned i = 0; i <= allowed; ++i) {
      EXPECT_EQ(p.client_app.closed, false);
      p.request(p.ask_with(4 * i, "value-" + std::to_string(i)));
      p.net.wait(50 * ms);
    }
    EXPECT_EQ(p.closed_with(), number(error::qpack_decompression_failed)) << allowed;
    EXPECT_EQ(p.count(event::fault_decompression), 1u);
  }
}

TEST(h3_qpack, a_blocked_stream_may_be_given_up) {
  writing_pair p;
  scripted& x = p.request(p.ask_with(0, "first"), false);
  p.net.wait(100 * ms);
  p.connection->reset(*x.stream, number(error::request_cancelled));
  p.net.client->endpoint->touch(*p.connection);
  EXPECT_TRUE(p.rests());
  p.send_instructions();
  p.net.wait(100 * ms);
  EXPECT_EQ(read_message(p.ask(p.ask_with(4, "first")).got).body, "hello");
}

TEST(h3_qpack, a_head_that_waits_too_long_for_its_entries) {
  h3_options o;
  o.settings.head_ns = second;
  writing_pair p(o);
  scripted& x = p.request(p.ask_with(0, "first"));
  EXPECT_TRUE(p.net.run([&] { return x.over; }, 5 * second));
  EXPECT_TRUE(x.reset);
  EXPECT_EQ(p.count(event::head_too_slow), 1u);
}

// CVE-2026-119235: the length is enough to know.
TEST(h3_qpack, a_string_that_no_table_holds_is_refused_at_its_length) {
  h3_pair p;
  scripted& x = p.open(direction::unidirectional);
  p.say(x, varint(2) + from_hex("3fe11f c07fffffff07"));
  EXPECT_EQ(p.closed_with(), number(error::qpack_encoder_stream_error));
  EXPECT_EQ(p.count(event::fault_encoder_stream), 1u);
}

}  // namespace
}  // namespace millrace::test
