#include "pipeline/stage_generate.hpp"

#include <gtest/gtest.h>

#include <set>

#include "net/wire/checksum.hpp"
#include "pipeline/stage_parse.hpp"
#include "support/frames.hpp"
#include "support/packets.hpp"

namespace millrace::pipeline {
namespace {

using stats::drop_reason;
using test::byte_list;
using test::checked_pool;
using test::frame_of;

byte_list bytes_of(const buf::burst& packets, unsigned i) {
  const base::byte_view view = packets.first(i);
  return {view.begin(), view.end()};
}

std::string text_of(const byte_list& bytes) { return {bytes.begin(), bytes.end()}; }

drop_reason judge_fully(const byte_list& frame) {
  net::wire::decoded headers;
  return judge(frame, {}, verify_level::full, headers);
}

TEST(move_to_round, changes_the_source_address_and_keeps_every_checksum_right) {
  for (const bool ipv6 : {false, true})
    for (const bool tcp : {false, true}) {
      const byte_list before = frame_of({.ipv6 = ipv6, .tcp = tcp}, byte_list(31, 7));
      ASSERT_EQ(judge_fully(before), drop_reason::none);
      std::set<std::string> seen = {text_of(before)};
      for (const std::uint32_t round : {1u, 2u, 255u, 256u, 65535u, 0xFFFFFFu}) {
        byte_list frame = before;
        EXPECT_TRUE(move_to_round(frame, round));
        EXPECT_EQ(judge_fully(frame), drop_reason::none) << round;
        EXPECT_TRUE(seen.insert(text_of(frame)).second) << "round " << round << " repeats another";
      }
    }
}

TEST(move_to_round, never_writes_a_udp_checksum_of_zero) {
  // Among 65535 addresses one makes the sum come out as zero, which UDP writes as all ones (RFC 768).
  const byte_list before = test::udp_frame();
  unsigned all_ones = 0;
  for (std::uint32_t round = 1; round < 0x10000; ++round) {
    byte_list frame = before;
    ASSERT_TRUE(move_to_round(frame, round));
    const std::uint16_t checksum = base::load_be16(frame.data() + 14 + 20 + 6);
    ASSERT_NE(checksum, 0);
    if (checksum == 0xFFFF) ++all_ones;
    if (checksum == 0xFFFF || round % 4096 == 0) {
      ASSERT_EQ(judge_fully(frame), drop_reason::none) << round;
    }
  }
  EXPECT_GE(all_ones, 1u);
}

TEST(move_to_round, leaves_an_absent_udp_checksum_absent) {
  byte_list frame = test::udp_frame();
  base::store_be16(frame.data() + 14 + 20 + 6, 0);
  EXPECT_TRUE(move_to_round(frame, 5));
  EXPECT_EQ(base::load_be16(frame.data() + 14 + 20 + 6), 0);
  EXPECT_EQ(judge_fully(frame), drop_reason::none);
}

TEST(move_to_round, leaves_alone_what_it_does_not_know) {
  for (byte_list frame : {frame_of({.tagged = true}, byte_list(40, 1)), byte_list(20, 1), byte_list(100, 0xEE)}) {
    const byte_list before = frame;
    EXPECT_FALSE(move_to_round(frame, 1));
    EXPECT_EQ(frame, before);
  }
  byte_list plain = test::udp_frame();
  EXPECT_FALSE(move_to_round(plain, 0));
  for (std::size_t size = 0; size < plain.size(); ++size) {
    byte_list cut(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(size));
    (void)move_to_round(cut, 1);  // must not reach beyond the end: the sanitizer build sees it
  }
}

TEST(frame_cursor, repeats_the_set_in_order) {
  checked_pool pool;
  frame_set frames;
  for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(frames.add(test::udp_frame(20 + i)));
  frame_cursor cursor(frames, 0);
  buf::burst packets;
  EXPECT_EQ(cursor.fill(packets, *pool, 7), 2 * (62 + 63 + 64) + 62u);
  ASSERT_EQ(packets.size(), 7u);
  for (unsigned i = 0; i < 7; ++i) EXPECT_EQ(bytes_of(packets, i), test::udp_frame(20 + i % 3)) << i;
}

TEST(frame_cursor, makes_as_many_flows_as_asked_then_begins_again) {
  checked_pool pool;
  frame_set frames;
  ASSERT_TRUE(frames.add(frame_of({.dst_port = 1}, byte_list(20, 1))));
  ASSERT_TRUE(frames.add(frame_of({.dst_port = 2}, byte_list(20, 1))));
  for (const std::uint64_t flows : {2u, 3u, 5u, 64u}) {
    frame_cursor cursor(frames, flows);
    buf::burst packets;
    ASSERT_NE(cursor.fill(packets, *pool, static_cast<unsigned>(2 * flows)), 0u);
    std::set<std::string> distinct;
    for (unsigned i = 0; i < flows; ++i) {
      EXPECT_EQ(judge_fully(bytes_of(packets, i)), drop_reason::none);
      EXPECT_EQ(bytes_of(packets, i), bytes_of(packets, i + static_cast<unsigned>(flows)));
      distinct.insert(text_of(bytes_of(packets, i)));
    }
    EXPECT_EQ(distinct.size(), flows);
  }
}

TEST(frame_cursor, starts_where_it_is_told) {
  checked_pool pool;
  frame_set frames;
  for (std::size_t i = 0; i < 4; ++i) ASSERT_TRUE(frames.add(test::udp_frame(20 + i)));
  buf::burst from_zero;
  buf::burst from_five;
  frame_cursor zero(frames, 8);
  frame_cursor five(frames, 8, 13);
  ASSERT_NE(zero.fill(from_zero, *pool, 8), 0u);
  ASSERT_NE(five.fill(from_five, *pool, 8), 0u);
  for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(bytes_of(from_five, i), bytes_of(from_zero, (i + 5) % 8)) << i;
}

TEST(frame_cursor, answers_zero_when_the_pool_or_the_set_is_empty) {
  checked_pool pool(15);
  frame_set frames;
  buf::burst packets;
  frame_cursor nothing(frames, 10);
  EXPECT_EQ(nothing.fill(packets, *pool, 1), 0u);
  ASSERT_TRUE(frames.add(test::udp_frame()));
  frame_cursor cursor(frames, 0);
  EXPECT_EQ(cursor.fill(packets, *pool, 16), 0u);
  EXPECT_TRUE(packets.empty());
  EXPECT_EQ(pool->refused(), 16u);
}

}  // namespace
}  // namespace millrace::pipeline
