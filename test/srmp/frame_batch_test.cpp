#include "srmp/frame_batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "srmp/datagram_sink.hpp"
#include "srmp/wire/datagram.hpp"
#include "support/seeded.hpp"

namespace millrace::srmp {
namespace {

using test_support::kept_datagrams;

std::string text_of(base::byte_view datagram) {
  std::string out;
  wire::datagram_frames frames(datagram);
  for (wire::frame f; frames.next(f) == base::progress::done;)
    out += std::to_string(f.header.seq) + ":" + std::string(base::as_text(f.payload)) + " ";
  EXPECT_TRUE(frames.at_end());
  return out;
}

template <class Batch>
bool put(Batch& batch, std::uint8_t seq, std::string_view text, bool any = false) {
  const base::byte_span room = any ? batch.claim_any() : batch.claim(text.size());
  if (room.data() == nullptr) return false;
  std::ranges::copy(base::as_bytes(text), room.begin());
  return batch.commit(0x81, seq, text.size());
}

TEST(frame_batch, gathers_frames_until_the_datagram_is_full) {
  kept_datagrams sink(32);
  std::array<std::uint8_t, 32> spill;
  {
    frame_batch batch(sink, 32, spill);
    EXPECT_TRUE(put(batch, 1, "ten bytes."));  // 14
    EXPECT_TRUE(put(batch, 2, "ten more.."));  // 28
    EXPECT_TRUE(put(batch, 3, "x"));           // 5 more do not fit
    EXPECT_TRUE(sink.sent.size() == 1);
    EXPECT_TRUE(put(batch, 4, std::string(23, 'y')));  // fills it to the last byte
    EXPECT_EQ(batch.datagrams(), 2u);
  }
  ASSERT_EQ(sink.sent.size(), 2u);
  EXPECT_EQ(text_of(sink.sent[0]), "1:ten bytes. 2:ten more.. ");
  EXPECT_EQ(text_of(sink.sent[1]), "3:x 4:" + std::string(23, 'y') + " ");
}

TEST(frame_batch, sends_what_is_left_when_flushed_and_when_it_dies) {
  kept_datagrams sink(64);
  {
    frame_batch batch(sink, 64, {});
    EXPECT_TRUE(put(batch, 1, "a"));
    batch.flush();
    EXPECT_EQ(sink.sent.size(), 1u);
    batch.flush();
    EXPECT_TRUE(put(batch, 2, "b"));
  }
  ASSERT_EQ(sink.sent.size(), 2u);
  EXPECT_EQ(text_of(sink.sent[1]), "2:b ");
}

TEST(frame_batch, gives_back_a_datagram_without_a_frame) {
  kept_datagrams sink(64);
  {
    frame_batch batch(sink, 64, {});
    EXPECT_FALSE(batch.claim(10).empty());
  }
  EXPECT_EQ(sink.unused, 1u);
  EXPECT_TRUE(sink.sent.empty());
}

TEST(frame_batch, sends_one_frame_a_datagram_on_demand) {
  kept_datagrams sink(64);
  frame_batch batch(sink, 0, {});
  EXPECT_TRUE(put(batch, 1, "a"));
  EXPECT_TRUE(put(batch, 2, "b"));
  EXPECT_EQ(sink.sent.size(), 2u);
}

TEST(frame_batch, lets_one_large_frame_use_all_the_room_of_a_datagram) {
  kept_datagrams sink(100);
  frame_batch batch(sink, 40, {});
  EXPECT_TRUE(put(batch, 1, "small"));
  EXPECT_TRUE(put(batch, 2, std::string(96, 'L')));
  ASSERT_EQ(sink.sent.size(), 2u);
  EXPECT_EQ(sink.sent[1].size(), 100u);
  EXPECT_FALSE(put(batch, 3, std::string(97, 'L')));
  EXPECT_EQ(batch.lost(), lost_frame::too_large);
  EXPECT_TRUE(put(batch, 4, "on"));
}

TEST(frame_batch, copies_a_frame_of_unknown_size_behind_the_ones_there_or_into_the_next) {
  kept_datagrams sink(64);
  std::array<std::uint8_t, 64> spill;
  frame_batch batch(sink, 64, spill);
  EXPECT_TRUE(put(batch, 1, "first", true));
  EXPECT_EQ(batch.claim_any().size(), 60u);  // as much as a datagram of its own holds
  EXPECT_TRUE(put(batch, 2, "second", true));
  EXPECT_TRUE(put(batch, 3, std::string(50, 'x'), true));
  EXPECT_TRUE(put(batch, 4, std::string(60, 'y'), true));
  batch.flush();
  ASSERT_EQ(sink.sent.size(), 3u);
  EXPECT_EQ(text_of(sink.sent[0]), "1:first 2:second ");
  EXPECT_EQ(text_of(sink.sent[1]), "3:" + std::string(50, 'x') + " ");
  EXPECT_EQ(text_of(sink.sent[2]), "4:" + std::string(60, 'y') + " ");
}

TEST(frame_batch, answers_that_no_buffer_is_free) {
  kept_datagrams sink(32);
  sink.buffers = 1;
  std::array<std::uint8_t, 32> spill;
  frame_batch batch(sink, 32, spill);
  EXPECT_TRUE(put(batch, 1, std::string(20, 'a')));
  EXPECT_FALSE(put(batch, 2, std::string(20, 'b'), true));  // fits no more, and there is no other
  EXPECT_EQ(batch.lost(), lost_frame::no_buffer);
  EXPECT_FALSE(put(batch, 3, "c"));
  EXPECT_EQ(batch.lost(), lost_frame::no_buffer);
  sink.buffers = 1;
  EXPECT_TRUE(put(batch, 4, "d"));
}

TEST(frame_batch, refuses_commits_beyond_the_claim) {
  kept_datagrams sink(64);
  frame_batch batch(sink, 64, {});
  EXPECT_FALSE(batch.commit(0x81, 1, 0));
  ASSERT_EQ(batch.claim(4).size(), 4u);
  EXPECT_FALSE(batch.commit(0x81, 1, 5));
  EXPECT_TRUE(batch.commit(0x81, 1, 4));
  EXPECT_FALSE(batch.commit(0x81, 1, 4)) << "a claim is committed once";
  EXPECT_NE(batch.claim(0).data(), nullptr);
  EXPECT_TRUE(batch.commit(0x81, 2, 0));
  EXPECT_EQ(batch.claim(65'535).data(), nullptr);
}

TEST(frame_batch, loses_nothing_in_any_mixture_of_sizes) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::seeded random(seed);
    kept_datagrams sink(200);
    std::array<std::uint8_t, 200> spill;
    std::string expected;
    {
      frame_batch batch(sink, 150, spill);
      for (int i = 0; i < 300; ++i) {
        const std::string text(random.below(197), static_cast<char>('a' + i % 26));
        ASSERT_TRUE(put(batch, static_cast<std::uint8_t>(i), text, random.below(2) == 0));
        expected += std::to_string(static_cast<std::uint8_t>(i)) + ":" + text + " ";
      }
    }
    std::string got;
    for (const auto& datagram : sink.sent) {
      got += text_of(datagram);
      wire::datagram_summary seen = wire::classify_datagram(datagram);
      ASSERT_TRUE(datagram.size() <= 150 || seen.frames == 1);
    }
    EXPECT_EQ(got, expected);
  }
}

}  // namespace
}  // namespace millrace::srmp
