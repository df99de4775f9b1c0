// Streams that come back, end to end in virtual time: any bytes, many streams, loss, slow readers, ends, want of
// memory.
#include "pipeline/echo_streams.hpp"

#include "pipeline/scripted_pair.hpp"

namespace millrace::test {
namespace {

using pipeline::echo_code;
using pipeline::echo_streams;
using quic::stream::direction;

struct echo_options {
  sim_options sim;
  pipeline::echo_settings settings;
  std::size_t blocks = 4096;
};

struct echo_pair : scripted_pair {
  std::unique_ptr<echo_streams> app;

  explicit echo_pair(const echo_options& o = {}) : scripted_pair("echo", o.sim, o.blocks) {
    auto made = echo_streams::make(o.settings, blocks);
    EXPECT_TRUE(made) << made.error().what;
    app = std::move(made.value());
    EXPECT_TRUE(app->serve_on(*net.server->endpoint));
    connect();
  }
  ~echo_pair() { end(); }
  const pipeline::echo_counters& count() const { return app->counters(); }
  bool rests() {
    return net.run([&] { return app->open_sessions() == 0 && blocks.in_use() == 0; }, 5 * second);
  }
};

bytes text_of(std::size_t size, unsigned of = 0) {
  bytes out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(i * 11 + (i >> 8) * 5 + of);
  return out;
}

TEST(echo_streams, says_back_what_was_said_and_ends_when_the_client_does) {
  echo_pair p;
  for (const std::size_t size : {0u, 1u, 1200u, 2048u, 65'536u, 1'000'003u}) {
    scripted& x = p.open();
    const bytes text = text_of(size);
    EXPECT_TRUE(p.ask(x, text, size, true)) << size;
    EXPECT_TRUE(p.net.run([&] { return x.over; }, 5 * second)) << size;
    EXPECT_TRUE(x.at_end) << size;
    EXPECT_EQ(x.got == text, true) << size;
  }
  EXPECT_EQ(p.count().streams.get(), 6u);
  EXPECT_EQ(p.count().bytes.get(), 0u + 1 + 1200 + 2048 + 65'536 + 1'000'003);
  EXPECT_TRUE(p.rests());
}

TEST(echo_streams, answers_at_once_and_not_only_at_the_end) {
  echo_pair p;
  scripted& x = p.open();
  EXPECT_TRUE(p.ask(x, text_of(10), 10, false, 100 * ms));
  EXPECT_TRUE(p.ask(x, text_of(10, 10), 20, false, 100 * ms));
  EXPECT_FALSE(x.at_end);
}

TEST(echo_streams, loses_nothing_of_many_streams_on_a_path_that_does) {
  echo_pair p;
  p.net.up.loss = p.net.down.loss = 0.02;
  std::vector<scripted*> all;
  for (unsigned i = 0; i < 40; ++i) {
    all.push_back(&p.open());
    p.say(*all.back(), text_of(20'000 + i, i), true);
  }
  EXPECT_TRUE(p.net.run([&] {
    for (const scripted* x : all)
      if (!x->over) return false;
    return true;
  }));
  for (unsigned i = 0; i < 40; ++i) EXPECT_EQ(all[i]->got == text_of(20'000 + i, i), true) << i;
  EXPECT_TRUE(p.rests());
}

TEST(echo_streams, does_not_read_on_while_its_bytes_are_not_taken) {
  echo_options o;
  o.settings.send = {.pause_bytes = 64 << 10, .resume_bytes = 32 << 10, .pause_segments = 256};
  echo_pair p(o);
  scripted& x = p.open();
  x.reads = false;
  const bytes text = text_of(3'000'000);
  p.say(x, text, true);
  p.net.wait(5 * second);
  const std::uint64_t back = p.count().bytes.get();
  EXPECT_LT(back, (256u << 10) + (66u << 10)) << "the client's window and the mark bound it";
  EXPECT_GE(p.count().paused.get(), 1u);
  EXPECT_LE(p.blocks.in_use(), (66u << 10) / 1900 + 3);
  p.net.wait(20 * second);
  EXPECT_EQ(p.count().bytes.get(), back);
  p.read(x);
  EXPECT_TRUE(p.net.run([&] { return x.over; }));
  EXPECT_EQ(x.got == text, true);
}

TEST(echo_streams, reads_and_counts_what_has_no_way_back) {
  echo_pair p;
  scripted& x = p.open(direction::unidirectional);
  p.say(x, text_of(700'000), true);
  EXPECT_TRUE(p.net.run([&] { return x.over; }, 20 * second));
  EXPECT_EQ(p.count().bytes_read.get(), 700'000u);
  EXPECT_EQ(p.count().streams.get(), 0u);
  EXPECT_EQ(p.app->open_sessions(), 0u);
}

TEST(echo_streams, answers_a_reset_with_a_reset) {
  echo_pair p;
  scripted& x = p.open();
  ASSERT_TRUE(p.ask(x, text_of(1000), 1000));
  p.connection->reset(*x.stream, 77);
  p.net.client->endpoint->touch(*p.connection);
  EXPECT_TRUE(p.net.run([&] { return x.over; }, 5 * second));
  EXPECT_TRUE(x.reset);
  EXPECT_EQ(x.code, static_cast<std::uint64_t>(echo_code::cancelled));
  EXPECT_EQ(p.count().reset_by_peer.get(), 1u);
  EXPECT_TRUE(p.rests());
}

TEST(echo_streams, stops_reading_for_a_client_that_wants_no_more) {
  echo_pair p;
  scripted& x = p.open();
  ASSERT_TRUE(p.ask(x, text_of(1000), 1000));
  p.connection->stop(*x.stream, 78);
  p.net.client->endpoint->touch(*p.connection);
  EXPECT_TRUE(p.net.run([&] { return x.over; }, 5 * second));
  EXPECT_TRUE(x.stopped);
  EXPECT_EQ(p.count().stopped_by_peer.get(), 1u);
  EXPECT_TRUE(p.rests());
}

TEST(echo_streams, refuses_streams_that_it_has_no_session_for) {
  echo_options o;
  o.settings.sessions = 2;
  echo_pair p(o);
  scripted& a = p.open();
  scripted& b = p.open();
  scripted& c = p.open();
  EXPECT_TRUE(p.ask(a, text_of(5), 5));
  EXPECT_TRUE(p.ask(b, text_of(5), 5));
  p.say(c, text_of(5));
  EXPECT_TRUE(p.net.run([&] { return c.over; }, 5 * second));
  EXPECT_TRUE(c.reset && c.stopped);
  EXPECT_EQ(c.code, static_cast<std::uint64_t>(echo_code::no_memory));
  EXPECT_EQ(p.count().refused.get(), 1u);
  EXPECT_TRUE(p.ask(a, text_of(5), 10)) << "the others go on";
}

TEST(echo_streams, waits_for_blocks_and_loses_nothing) {
  echo_options o;
  o.blocks = 12;
  echo_pair p(o);
  std::vector<scripted*> all;
  for (unsigned i = 0; i < 8; ++i) {
    all.push_back(&p.open());
    p.say(*all.back(), text_of(50'000, i), true);
  }
  EXPECT_TRUE(p.net.run([&] {
    for (const scripted* x : all)
      if (!x->over) return false;
    return true;
  }));
  for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(all[i]->got == text_of(50'000, i), true) << i;
  EXPECT_GE(p.count().starved.get(), 1u);
  EXPECT_TRUE(p.rests());
}

TEST(echo_streams, a_connection_that_ends_takes_its_streams_along) {
  echo_options o;
  o.blocks = 4;
  echo_pair p(o);
  for (unsigned i = 0; i < 8; ++i) {
    scripted& x = p.open();
    x.reads = false;
    p.say(x, text_of(50'000, i));
  }
  p.net.wait(500 * ms);
  EXPECT_GE(p.count().starved.get(), 1u);
  p.connection->close(0, p.net.now_ns);
  p.net.client->endpoint->touch(*p.connection);
  EXPECT_TRUE(p.rests());
  p.net.wait(second);
}

}  // namespace
}  // namespace millrace::test
