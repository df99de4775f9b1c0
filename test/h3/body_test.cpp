// Bodies: content sent from where it lies, memory that does not grow with bodies or readers, who is served first.
#include "h3/pair.hpp"

namespace millrace::test {
namespace {

using h3::event;
using h3::wire::frame_type;

// Content is looked at in content_test.cpp: its blocks are of a pool that needs EAL.

TEST(h3_body, ten_thousand_slow_readers_hold_their_state_and_nothing_else) {
  h3_options o;
  o.sim.client.connections = o.sim.server.connections = 128;
  o.sim.client.handshakes = o.sim.server.handshakes = 128;
  o.sim.client.streams = o.sim.server.streams = 12'000;
  o.sim.client.transport.stream_window_bytes = 1;  // they let nothing come
  o.sim.client.transport.stream_window_most = 1;
  o.settings.exchanges = 11'000;
  o.settings.connections = 128;
  o.settings.progress_ns = 0;
  h3_pair p(o, 20'000);
  std::vector<quic::conn::connection*> all{p.connection};
  while (all.size() < 80) {
    p.client_app.established = false;
    p.connect();
    all.push_back(p.connection);
  }
  const bytes said = head(get("/bytes/100000000"));
  for (quic::conn::connection* c : all) {
    p.connection = c;
    for (unsigned i = 0; i < 125; ++i) {
      scripted& x = p.open();
      x.reads = false;
      p.say(x, said, true);
    }
    p.net.wait(5 * ms);
  }
  ASSERT_TRUE(p.net.run([&] { return p.handler.requests.size() == 10'000; }, 20 * second));
  p.net.wait(2 * second);
  std::uint64_t pulled = 0;
  for (const auto& r : p.handler.requests) pulled += r.pulled;
  EXPECT_EQ(pulled, 0u) << "no source was asked";
  EXPECT_EQ(pulled_blocks().in_use(), 0u);
  EXPECT_LE(p.blocks.in_use(), 10'400u) << "a head each";
  EXPECT_EQ(p.app->fields().in_use_bytes(), 10'000u * 1024);
}

TEST(h3_body, a_source_is_asked_for_what_the_peer_allows) {
  h3_options o;
  o.sim.client.transport.stream_window_bytes = o.sim.client.transport.stream_window_most = 20'000;
  h3_pair p(o);
  scripted& x = p.open();
  x.reads = false;
  p.say(x, head(get("/bytes/10000000")), true);
  p.net.wait(2 * second);
  EXPECT_LE(p.handler.requests[0].pulled, 20'000u);
  EXPECT_GE(p.handler.requests[0].pulled, 19'000u);
  EXPECT_EQ(pulled_blocks().in_use(), 0u) << "it is all acknowledged";
  p.read(x);
  EXPECT_TRUE(p.net.run([&] { return x.over; }, 300 * second));
  EXPECT_EQ(read_message(x.got).body.size(), 10'000'000u);
}

TEST(h3_body, no_more_is_held_than_may_be_unacknowledged) {
  h3_options o;
  o.settings.unacked_bytes = 130'000;
  h3_pair p(o);
  p.net.down.delay_ns = 100 * ms;
  std::uint32_t most = 0;
  scripted& x = p.request(head(get("/bytes/3000000")));
  EXPECT_TRUE(p.net.run([&] {
    most = std::max<std::uint32_t>(most, static_cast<std::uint32_t>(pulled_blocks().in_use()));
    return x.over;
  }));
  EXPECT_LE(most, 130'000u / 59'000 + 2);
  EXPECT_EQ(read_message(x.got).body == pulled_text(3'000'000), true);
}

TEST(h3_body, what_is_held_depends_on_neither_the_bodys_size_nor_on_how_many_read_slowly) {
  const auto most_held = [](std::string_view path, unsigned readers) {
    h3_options o;
    o.settings.unacked_bytes = 130'000;
    // All of them together have the connection's credit, which is what bounds them.
    o.sim.client.transport.connection_window_bytes = o.sim.client.transport.connection_window_most = 300'000;
    h3_pair p(o);
    p.net.down.delay_ns = 20 * ms;
    const bytes said = head(get(path));
    for (unsigned i = 0; i < readers; ++i) {
      scripted& x = p.open();
      x.reads = i == 0;  // the others let the rest wait
      p.say(x, said, true);
    }
    std::uint32_t most = 0;
    const std::uint64_t until = p.net.now_ns + 10 * second;
    static_cast<void>(p.net.run(
        [&] {
          most = std::max<std::uint32_t>(most, static_cast<std::uint32_t>(pulled_blocks().in_use()));
          return p.net.now_ns > until;
        },
        20 * second));
    return most;
  };
  const std::uint32_t small = most_held("/bytes/1000000", 1);
  EXPECT_GT(small, 0u);
  EXPECT_LE(most_held("/bytes/100000000", 1), small + 1);
  const std::uint32_t few = most_held("/bytes/100000000", 8);
  EXPECT_LE(most_held("/bytes/100000000", 80), few + 4);
}

// RFC 9114 7.1: a frame's length is known before its payload.
TEST(h3_body, a_pulled_body_is_one_data_frame_where_its_size_is_known) {
  h3_pair p;
  const read_message sized(p.ask(head(get("/bytes/3000000"))).got);
  EXPECT_EQ(sized.data_frames, std::vector<std::size_t>{3'000'000});
  EXPECT_EQ(sized.body == pulled_text(3'000'000), true);
  const read_message unsized(p.ask(head(get("/unknown/300000"))).got);
  EXPECT_GE(unsized.data_frames.size(), 300'000u / 65'536);
  EXPECT_EQ(unsized.body == pulled_text(300'000), true);
}

// One after another: what is more urgent is over before what is less.
TEST(h3_body, urgency_says_who_is_served_first) {
  h3_options o;
  o.sim.client.transport.stream_window_bytes = 4u << 20;
  o.sim.client.transport.connection_window_bytes = 16u << 20;
  h3_pair p(o);
  p.net.down.bytes_per_second = 2'000'000;
  const bytes low = head(get("/bytes/500000") + fields{{"priority", "u=6"}});
  scripted& a = p.request(low);
  p.net.wait(30 * ms);
  scripted& b = p.request(head(get("/bytes/500000") + fields{{"priority", "u=1"}}));
  EXPECT_TRUE(p.net.run([&] { return b.over; }, 20 * second));
  EXPECT_FALSE(a.over);
  EXPECT_LT(a.got.size(), 400'000u);
  EXPECT_TRUE(p.net.run([&] { return a.over; }, 20 * second));
}

TEST(h3_body, of_one_urgency_those_that_are_not_incremental_go_one_by_one) {
  for (const bool incremental : {false, true}) {
    h3_options o;
    o.sim.client.transport.stream_window_bytes = 4u << 20;
    o.sim.client.transport.connection_window_bytes = 16u << 20;
    h3_pair p(o);
    p.net.down.bytes_per_second = 2'000'000;
    const bytes said = head(get("/bytes/400000") + fields{{"priority", incremental ? "i" : "u=3"}});
    scripted& a = p.request(said);
    scripted& b = p.request(said);
    EXPECT_TRUE(p.net.run([&] { return a.over; }, 20 * second));
    EXPECT_TRUE(incremental || !b.over);
    if (incremental)
      EXPECT_GT(b.got.size(), 250'000u) << "they took turns";
    else
      EXPECT_LT(b.got.size(), 100'000u) << "one after another";
    EXPECT_TRUE(p.net.run([&] { return b.over; }, 20 * second));
  }
}

TEST(h3_body, an_update_changes_who_is_served_before_and_after_the_request_came) {
  h3_options o;
  o.sim.client.transport.stream_window_bytes = 4u << 20;
  o.sim.client.transport.connection_window_bytes = 16u << 20;
  h3_pair p(o);
  p.net.down.bytes_per_second = 2'000'000;
  const auto update = [](std::uint64_t id, std::string_view value) {
    return frame(frame_type::priority_update_request, varint(id) + text(value));
  };
  p.say(*p.control, update(4, "u=0"));  // of the second request, which is not there yet
  p.net.wait(50 * ms);
  scripted& a = p.request(head(get("/bytes/400000")));
  scripted& b = p.request(head(get("/bytes/400000")));
  scripted& c = p.request(head(get("/bytes/400000")));
  EXPECT_TRUE(p.net.run([&] { return b.over; }, 20 * second));
  EXPECT_FALSE(a.over || c.over);
  EXPECT_LT(a.got.size(), 100'000u);
  p.say(*p.control, update(8, "u=1"));
  EXPECT_TRUE(p.net.run([&] { return c.over; }, 20 * second));
  EXPECT_FALSE(a.over);
  EXPECT_EQ(p.count(event::priority_updates), 2u);
  p.say(*p.control, update(4, "u=2"));  // long gone
  EXPECT_TRUE(p.net.run([&] { return a.over; }, 20 * second));
  EXPECT_EQ(p.count(event::priority_updates_dropped), 1u);
}

TEST(h3_body, waits_for_blocks_and_loses_nothing) {
  h3_options o;
  h3_pair p(o, 12);  // of blocks for heads and frame headers
  std::vector<scripted*> all;
  for (unsigned i = 0; i < 8; ++i) all.push_back(&p.request(head(get("/unknown/400000"))));
  EXPECT_TRUE(p.net.run([&] { return std::all_of(all.begin(), all.end(), [](auto* x) { return x->over; }); }));
  for (const scripted* x : all) {
    EXPECT_EQ(read_message(x->got).body == pulled_text(400'000), true);
  }
  EXPECT_GE(p.count(event::starved), 1u);
  EXPECT_TRUE(p.rests());
}

}  // namespace
}  // namespace millrace::test
