// SRMP over a QUIC stream, end to end in virtual time: frames of every size, many at a time, loss, slow readers, ends.
#include "pipeline/srmp_sim.hpp"

namespace millrace::test {
namespace {

using pipeline::srmp_code;
using srmp::echo_handler;

TEST(srmp_streams, echoes_a_frame) {
  echo_handler echo;
  srmp_pair<echo_handler> p(echo);
  scripted& x = p.open();
  const bytes payload = srmp_payload(28);
  EXPECT_TRUE(p.ask(x, srmp_frame(0x01, 7, payload), 32));
  EXPECT_EQ(x.got, srmp_frame(0x81, 7, payload));
  EXPECT_EQ(p.served().requests.get(), 1u);
  EXPECT_EQ(p.served().replies.get(), 1u);
}

TEST(srmp_streams, echoes_frames_of_all_sizes_around_the_bounds_in_order) {
  echo_handler echo;
  srmp_pair<echo_handler> p(echo);
  scripted& x = p.open();
  bytes all, expected;
  std::uint8_t seq = 0;
  for (const std::size_t size :
       {0,    1,    2,    3,    4,    5,     1189,  1190,  1191,   1200, 2040,   2044, 2045,
        2048, 4088, 4092, 4096, 9000, 65534, 65535, 65536, 100000, 1,    300000, 0,    65534}) {
    ++seq;
    all = std::move(all) + srmp_frame(0x03, seq, srmp_payload(size, seq));
    expected = std::move(expected) + srmp_frame(0x83, seq, srmp_payload(size, seq));
  }
  EXPECT_TRUE(p.ask(x, all, expected.size(), true));
  EXPECT_EQ(x.got == expected, true);
  EXPECT_TRUE(p.net.run([&] { return x.over; }));
  EXPECT_TRUE(x.at_end);
  EXPECT_EQ(p.count().large_passed.get(), 4u);
  EXPECT_EQ(p.count().finished.get(), 1u);
  EXPECT_TRUE(p.rests());
}

TEST(srmp_streams, takes_a_header_cut_anywhere) {
  echo_handler echo;
  srmp_pair<echo_handler> p(echo);
  for (std::size_t cut = 1; cut < 12; ++cut) {
    scripted& x = p.open();
    const bytes whole = srmp_frame(0x01, 1, srmp_payload(70'000)) + srmp_frame(0x01, 2, srmp_payload(3));
    p.say(x, bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut)));
    p.net.wait(100 * ms);
    EXPECT_TRUE(p.ask(x, bytes(whole.begin() + static_cast<std::ptrdiff_t>(cut), whole.end()), whole.size(), true));
  }
}

TEST(srmp_streams, answers_thousands_in_flight_on_many_streams_with_two_percent_loss) {
  echo_handler echo;
  srmp_pair<echo_handler> p(echo);
  p.net.up.loss = p.net.down.loss = 0.02;
  std::vector<scripted*> all;
  std::vector<bytes> expected;
  for (unsigned i = 0; i < 20; ++i) {
    all.push_back(&p.open());
    bytes ask;
    expected.emplace_back();
    for (unsigned k = 0; k < 256; ++k) {
      const bytes payload = srmp_payload(i % 5 == 0 ? 5000 : 20 + k, i + k);
      ask = std::move(ask) + srmp_frame(0x01, static_cast<std::uint8_t>(k), payload);
      expected.back() = std::move(expected.back()) + srmp_frame(0x81, static_cast<std::uint8_t>(k), payload);
    }
    p.say(*all.back(), ask, true);
  }
  EXPECT_TRUE(p.net.run([&] {
    for (const scripted* x : all)
      if (!x->over) return false;
    return true;
  }));
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(all[i]->got == expected[i]) << i;
  EXPECT_EQ(p.served().requests.get(), 20u * 256);
  EXPECT_TRUE(p.rests());
}

TEST(srmp_streams, does_not_read_on_while_replies_are_not_taken_and_loses_none) {
  echo_handler echo;
  srmp_options o;
  o.settings.send = {.pause_bytes = 64 << 10, .resume_bytes = 32 << 10, .pause_segments = 256};
  srmp_pair<echo_handler> p(echo, o);
  scripted& x = p.open();
  x.reads = false;
  bytes ask, expected;
  for (unsigned k = 0; k < 2000; ++k) {
    ask = std::move(ask) + srmp_frame(0x01, static_cast<std::uint8_t>(k), srmp_payload(1000, k));
    expected = std::move(expected) + srmp_frame(0x81, static_cast<std::uint8_t>(k), srmp_payload(1000, k));
  }
  p.say(x, ask, true);
  p.net.wait(5 * second);
  const std::uint64_t answered = p.served().replies.get();
  EXPECT_LT(answered * 1004, (256u << 10) + (65u << 10) + 4096) << "the client's window and the mark bound it";
  EXPECT_GE(p.count().paused.get(), 1u);
  EXPECT_LE(p.blocks.in_use(), (66u << 10) / 2008 + 3);
  p.net.wait(20 * second);
  EXPECT_EQ(p.served().replies.get(), answered) << "nobody took anything, so nothing more is answered";
  p.read(x);
  EXPECT_TRUE(p.net.run([&] { return x.over; }));
  EXPECT_TRUE(x.got == expected);
}

TEST(srmp_streams, unfinished_frames_of_all_streams_do_not_wait_for_each_other) {
  echo_handler echo;
  srmp_options o;
  o.settings.assembly_blocks = 128;
  srmp_pair<echo_handler> p(echo, o);
  // 100 streams with 60 000 bytes each, in turns: more than the connection's window of a megabyte.
  std::vector<scripted*> all;
  for (unsigned i = 0; i < 100; ++i) {
    all.push_back(&p.open());
    p.say(*all.back(), srmp_frame(0x01, 1, srmp_payload(60'000, i)), true);
  }
  EXPECT_TRUE(p.net.run([&] {
    for (const scripted* x : all)
      if (!x->over) return false;
    return true;
  }));
  for (unsigned i = 0; i < 100; ++i) EXPECT_TRUE(all[i]->got == srmp_frame(0x81, 1, srmp_payload(60'000, i))) << i;
}

TEST(srmp_streams, ends_a_stream_whose_header_cannot_be_after_what_was_answered) {
  echo_handler echo;
  srmp_pair<echo_handler> p(echo);
  scripted& x = p.open();
  const bytes good = srmp_frame(0x01, 1, srmp_payload(10));
  p.say(x, good + bytes{0x01, 0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF} + good);
  EXPECT_TRUE(p.net.run([&] { return x.reset && x.stopped; }));
  EXPECT_EQ(x.got, srmp_frame(0x81, 1, srmp_payload(10)));
  EXPECT_EQ(x.code, static_cast<std::uint64_t>(srmp_code::malformed));
  EXPECT_EQ(p.count().malformed.get(), 1u);
  EXPECT_TRUE(p.net.run([&] { return x.over && p.server_app->open_sessions() == 0; }));
  scripted& y = p.open();
  EXPECT_TRUE(p.ask(y, good, good.size())) << "the QUIC connection goes on";
}

TEST(srmp_streams, refuses_a_payload_above_the_ceiling) {
  echo_handler echo;
  srmp_options o;
  o.settings.intake.ceiling = 1 << 20;
  srmp_pair<echo_handler> p(echo, o);
  scripted& x = p.open();
  p.say(x, bytes{0x01, 0x01, 0xFF, 0xFF, 0x01, 0x00, 0x10, 0x00});
  EXPECT_TRUE(p.net.run([&] { return x.reset; }));
  EXPECT_EQ(p.count().malformed.get(), 1u);
}

TEST(srmp_streams, counts_a_fin_inside_a_frame) {
  echo_handler echo;
  srmp_pair<echo_handler> p(echo);
  const bytes small = srmp_frame(0x01, 1, srmp_payload(100));
  const bytes middle = srmp_frame(0x01, 1, srmp_payload(20'000));
  const bytes large = srmp_frame(0x01, 1, srmp_payload(80'000));
  unsigned count = 0;
  for (const bytes* whole : {&small, &middle, &large}) {
    for (const std::size_t left : {std::size_t{1}, whole->size() - 3}) {
      scripted& x = p.open();
      p.say(x, srmp_frame(0x01, 9, {}) + bytes(whole->begin(), whole->end() - static_cast<std::ptrdiff_t>(left)), true);
      EXPECT_TRUE(p.net.run([&] { return x.over; }));
      EXPECT_TRUE(x.reset);
      EXPECT_EQ(x.code, static_cast<std::uint64_t>(srmp_code::truncated));
      ASSERT_GE(x.got.size(), 4u);
      EXPECT_EQ(bytes(x.got.begin(), x.got.begin() + 4), srmp_frame(0x81, 9, {})) << "what was whole was answered";
      EXPECT_EQ(p.count().truncated.get(), ++count);
    }
  }
  EXPECT_TRUE(p.rests());
}

TEST(srmp_streams, closes_a_stream_that_leaves_a_frame_unfinished) {
  echo_handler echo;
  srmp_pair<echo_handler> p(echo);
  scripted& silent = p.open();
  scripted& drip = p.open();
  scripted& idle = p.open();
  EXPECT_TRUE(p.ask(idle, srmp_frame(0x01, 1, {}), 4));
  p.say(silent, bytes{0x01});
  const bytes slow = srmp_frame(0x01, 1, srmp_payload(500));
  for (std::size_t i = 0; i < 45 && !drip.reset; ++i) {
    p.say(drip, bytes{slow[i]});
    p.net.wait(second);
    if (i == 12) {
      EXPECT_TRUE(silent.reset);
      EXPECT_FALSE(drip.reset);
    }
  }
  EXPECT_TRUE(drip.reset);
  EXPECT_EQ(drip.code, static_cast<std::uint64_t>(srmp_code::too_slow));
  EXPECT_EQ(p.count().expired.get(), 2u);
  EXPECT_FALSE(idle.reset) << "between frames nobody is hurried";
}

TEST(srmp_streams, lets_go_of_everything_when_the_client_resets_or_stops) {
  echo_handler echo;
  srmp_options o;
  srmp_pair<echo_handler> p(echo, o);
  scripted& a = p.open();
  scripted& b = p.open();
  a.reads = b.reads = false;
  bytes ask;
  for (unsigned k = 0; k < 1000; ++k)
    ask = std::move(ask) + srmp_frame(0x01, static_cast<std::uint8_t>(k), srmp_payload(1000));
  p.say(a, ask);
  p.say(b, ask);
  p.net.wait(2 * second);
  EXPECT_GT(p.blocks.in_use(), 0u);
  p.connection->reset(*a.stream, 77);
  p.connection->stop(*b.stream, 78);
  p.net.client->endpoint->touch(*p.connection);
  p.net.wait(2 * second);
  EXPECT_EQ(p.count().reset_by_peer.get(), 1u);
  EXPECT_EQ(p.count().stopped_by_peer.get(), 1u);
  EXPECT_EQ(p.blocks.in_use(), 0u);
}

TEST(srmp_streams, refuses_streams_beyond_its_sessions_and_those_of_one_direction) {
  echo_handler echo;
  srmp_options o;
  o.settings.sessions = 2;
  srmp_pair<echo_handler> p(echo, o);
  const bytes one = srmp_frame(0x01, 1, srmp_payload(10));
  scripted& a = p.open();
  scripted& b = p.open();
  scripted& c = p.open();
  EXPECT_TRUE(p.ask(a, one, one.size()));
  EXPECT_TRUE(p.ask(b, one, one.size()));
  p.say(c, one);
  scripted& uni = p.open(quic::stream::direction::unidirectional);
  p.say(uni, one);
  EXPECT_TRUE(p.net.run([&] { return c.reset && uni.stopped; }));
  EXPECT_EQ(c.code, static_cast<std::uint64_t>(srmp_code::no_memory));
  EXPECT_EQ(p.count().refused.get(), 1u);
  EXPECT_EQ(p.count().not_served.get(), 1u);
}

TEST(srmp_streams, waits_when_no_block_is_free_and_goes_on_when_one_is) {
  echo_handler echo;
  srmp_options o;
  o.blocks = 8;
  srmp_pair<echo_handler> p(echo, o);
  scripted& other = p.open();
  std::vector<rte_mbuf*> taken;
  while (rte_mbuf* m = p.blocks.alloc()) taken.push_back(m);
  const bytes one = srmp_frame(0x01, 1, srmp_payload(10));
  p.say(other, one);
  p.net.wait(200 * ms);
  EXPECT_GE(p.count().starved.get(), 1u);
  EXPECT_TRUE(other.got.empty());
  for (rte_mbuf* m : taken) rte_pktmbuf_free(m);
  EXPECT_TRUE(p.net.run([&] { return other.got.size() == one.size(); }));
  EXPECT_EQ(p.count().out_of_memory.get(), 0u);
}

TEST(srmp_streams, a_reply_that_finds_no_memory_ends_the_stream_and_is_never_cut) {
  echo_handler echo;
  srmp_options o;
  o.blocks = 8;
  srmp_pair<echo_handler> p(echo, o);
  scripted& x = p.open();
  p.say(x, srmp_frame(0x01, 1, srmp_payload(5)) + srmp_frame(0x01, 2, srmp_payload(30'000)));
  EXPECT_TRUE(p.net.run([&] { return x.reset; }));
  EXPECT_EQ(x.code, static_cast<std::uint64_t>(srmp_code::no_memory));
  EXPECT_EQ(x.got, srmp_frame(0x81, 1, srmp_payload(5)));
  EXPECT_EQ(p.count().out_of_memory.get(), 1u);
}

}  // namespace
}  // namespace millrace::test
