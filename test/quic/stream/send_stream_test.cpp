// The sending part: by cases, and as a whole over a path that loses, repeats and reorders.
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "quic/stream/send_stream.hpp"
#include "support/seeded.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic::stream;

chunk send(send_stream& s, std::uint64_t most, std::uint64_t connection = UINT64_MAX) {
  const chunk c = s.next_chunk(most, connection);
  if (!c.is_nothing()) s.on_sent(c);
  return c;
}

TEST(send_stream, sends_what_was_written_and_then_its_end) {
  send_stream s(10'000);
  EXPECT_TRUE(send(s, 1000).is_nothing());
  EXPECT_TRUE(s.write(1500));
  chunk c = send(s, 1000);
  EXPECT_EQ(c.offset, 0u);
  EXPECT_EQ(c.size, 1000u);
  EXPECT_TRUE(c.is_new);
  EXPECT_FALSE(c.fin);
  s.finish();
  EXPECT_FALSE(s.write(1));
  c = send(s, 1000);
  EXPECT_EQ(c.offset, 1000u);
  EXPECT_EQ(c.size, 500u);
  EXPECT_TRUE(c.fin);
  EXPECT_EQ(s.state(), send_state::data_sent);
  EXPECT_TRUE(send(s, 1000).is_nothing());
  EXPECT_TRUE(s.on_acked(1000, 500, true) == false);  // nothing in front of it yet
  EXPECT_TRUE(s.on_acked(0, 1000, false));
  EXPECT_EQ(s.state(), send_state::data_recvd);
}

TEST(send_stream, ends_an_empty_stream_too) {
  send_stream s(0);
  s.finish();
  const chunk c = send(s, 0, 0);
  EXPECT_TRUE(c.fin);
  EXPECT_EQ(c.size, 0u);
  s.on_lost(0, 0, true);
  EXPECT_TRUE(send(s, 100).fin);
  EXPECT_TRUE(s.on_acked(0, 0, true));
  EXPECT_TRUE(s.is_over());
}

TEST(send_stream, keeps_to_the_credit_of_stream_and_connection) {
  send_stream s(1000);
  EXPECT_TRUE(s.write(5000));
  EXPECT_EQ(send(s, 800, 300).size, 300u);
  EXPECT_EQ(send(s, 800).size, 700u);
  EXPECT_TRUE(s.is_blocked());
  EXPECT_TRUE(send(s, 800).is_nothing());
  s.on_lost(0, 300, false);
  EXPECT_EQ(send(s, 800, 0).size, 300u);  // sent again: it costs nothing
  EXPECT_TRUE(s.credit().on_limit(2000));
  EXPECT_FALSE(s.is_blocked());
  EXPECT_EQ(send(s, 5000).size, 1000u);
}

TEST(send_stream, sends_lost_bytes_first_and_only_once) {
  send_stream s(100'000);
  EXPECT_TRUE(s.write(10'000));
  for (int i = 0; i < 5; ++i) send(s, 1000);
  s.on_lost(1000, 1000, false);
  s.on_lost(3000, 1000, false);
  EXPECT_TRUE(s.has_lost());
  chunk c = send(s, 600);
  EXPECT_EQ(c.offset, 1000u);
  EXPECT_FALSE(c.is_new);
  EXPECT_EQ(send(s, 600).size, 400u);
  EXPECT_EQ(send(s, 5000).offset, 3000u);
  EXPECT_EQ(send(s, 1000).offset, 5000u);
}

TEST(send_stream, never_sends_again_what_was_acknowledged) {
  send_stream s(100'000);
  EXPECT_TRUE(s.write(4000));
  for (int i = 0; i < 4; ++i) send(s, 1000);
  s.on_acked(1000, 1000, false);
  s.on_lost(0, 3000, false);  // a copy that spanned all of them
  EXPECT_EQ(send(s, 5000).size, 1000u);
  EXPECT_EQ(send(s, 5000).offset, 2000u);
  s.on_lost(2000, 1000, false);
  s.on_acked(2000, 1000, false);  // the first one came after all
  EXPECT_TRUE(send(s, 5000).is_nothing());
}

TEST(send_stream, gives_credit_to_the_producer_as_acknowledgements_close_up) {
  send_stream s(100'000);
  EXPECT_TRUE(s.write(3000));
  for (int i = 0; i < 3; ++i) send(s, 1000);
  EXPECT_FALSE(s.on_acked(2000, 1000, false));
  EXPECT_FALSE(s.on_acked(1000, 1000, false));
  EXPECT_EQ(s.acked(), 0u);
  EXPECT_TRUE(s.on_acked(0, 1000, false));
  EXPECT_EQ(s.acked(), 3000u);
}

TEST(send_stream, gives_up_when_reset_and_repeats_that) {
  send_stream s(100'000);
  EXPECT_TRUE(s.write(3000));
  send(s, 1000);
  s.on_lost(0, 1000, false);
  EXPECT_TRUE(s.reset(7));
  EXPECT_FALSE(s.reset(8));
  EXPECT_EQ(s.reset_code(), 7u);
  EXPECT_EQ(s.sent(), 1000u);  // the final size
  EXPECT_TRUE(send(s, 1000).is_nothing());
  EXPECT_TRUE(s.reset_due());
  s.on_reset_sent();
  EXPECT_FALSE(s.reset_due());
  s.on_reset_lost();
  EXPECT_TRUE(s.reset_due());
  s.on_reset_sent();
  s.on_reset_acked();
  EXPECT_TRUE(s.is_over());
  s.on_reset_lost();  // of the first one, late
  EXPECT_FALSE(s.reset_due());
  EXPECT_FALSE(s.write(1));
}

TEST(send_stream, cannot_be_reset_once_all_has_arrived) {
  send_stream s(100);
  s.finish();
  send(s, 10);
  s.on_acked(0, 0, true);
  EXPECT_FALSE(s.reset(1));
}

// What a receiver has, and what packets are under way; each packet is acknowledged, lost, or both in turn.
// Answers the most that was sent, in percent of the stream.
template <class Stream>
std::uint64_t deliver_every_byte(std::uint64_t seeds) {
  std::uint64_t most_again = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    test::seeded random(seed);
    const std::uint64_t size = random.below(40'000);
    Stream s(random.below(5000));
    std::uint64_t connection = random.below(5000);
    std::vector<bool> have(size, false);
    bool have_fin = false;
    std::deque<chunk> under_way;
    std::uint64_t bytes = 0;
    for (int step = 0; step < 20'000 && !s.is_over(); ++step) {
      if (s.written() < size) {
        EXPECT_TRUE(s.write(std::min<std::uint64_t>(size - s.written(), random.below(3000))));
      } else {
        s.finish();
      }
      if (random.below(3) == 0) {
        s.credit().on_limit(s.credit().limit() + random.below(3000));
        connection += random.below(3000);
      }
      for (auto n = random.below(6); n != 0; --n) {
        const chunk c = s.next_chunk(1 + random.below(1200), connection);
        if (c.is_nothing()) break;
        EXPECT_LE(c.offset + c.size, s.written());
        if (c.is_new) {
          EXPECT_LE(c.offset + c.size, s.credit().limit());
          connection -= c.size;
        }
        EXPECT_GE(c.offset, s.acked());  // what is below may be gone
        s.on_sent(c);
        under_way.push_back(c);
        bytes += c.size;
      }
      for (auto n = random.below(8); n != 0 && !under_way.empty(); --n) {
        const std::size_t i = random.below(std::min<std::size_t>(under_way.size(), 40));
        const chunk c = under_way[i];
        under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(i));
        if (random.below(4) == 0) {
          s.on_lost(c.offset, c.size, c.fin);
        } else {
          for (std::uint64_t b = c.offset; b < c.offset + c.size; ++b) have[b] = true;
          have_fin |= c.fin;
          s.on_acked(c.offset, c.size, c.fin);
        }
      }
      for (std::uint64_t b = 0; b < s.acked(); b += 97) EXPECT_TRUE(have[b]);
    }
    EXPECT_TRUE(s.is_over());
    EXPECT_TRUE(have_fin);
    EXPECT_TRUE(std::ranges::all_of(have, [](bool b) { return b; }));
    if (size > 10'000) most_again = std::max(most_again, bytes * 100 / size);
  }
  return most_again;
}

TEST(send_stream, delivers_every_byte_over_any_path) {
  // A quarter of all packets is lost; what the sets could not hold is sent again.
  EXPECT_LT(deliver_every_byte<send_stream>(300), 300u);
}

TEST(send_stream, a_small_one_delivers_every_byte_too) { EXPECT_LT(deliver_every_byte<small_send_stream>(100), 600u); }

}  // namespace
