#include "quic/wire/frame_ack.hpp"

#include <gtest/gtest.h>

#include <random>

#include "support/bytes.hpp"
#include "support/hostile.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_reader;
using base::byte_view;
using base::parse_errc;
using base::parse_status;
using test::byte_list;
using test::from_hex;

// Everything behind the type byte.
parse_status parse_body(std::string_view hex, ack_frame& f, frame_type type = frame_ack) {
  byte_reader in(test::keep(from_hex(hex)));
  return parse(in, type, f);
}

std::vector<packet_range> ranges_of(const ack_frame& f) {
  std::vector<packet_range> out;
  packet_range range;
  for (ack_range_reader reader(f); reader.next(range);) out.push_back(range);
  return out;
}

byte_list emitted(const ack_to_send& ack) {
  byte_list room(encoded_size(ack));
  base::byte_writer out(room);
  EXPECT_TRUE(emit(out, ack));
  EXPECT_EQ(out.room(), 0u);
  return room;
}

TEST(frame_ack, reads_one_range) {
  ack_frame f;
  ASSERT_TRUE(parse_body("0a 4064 00 03", f));
  EXPECT_EQ(f.largest, 10u);
  EXPECT_EQ(f.delay, 100u);
  EXPECT_EQ(f.range_count, 0u);
  EXPECT_FALSE(f.has_ecn);
  EXPECT_EQ(ranges_of(f), (std::vector<packet_range>{{7, 10}}));
}

TEST(frame_ack, reads_further_ranges_downwards) {  // RFC 9000 19.3.1: largest = smallest - gap - 2
  ack_frame f;
  ASSERT_TRUE(parse_body("14 00 02 02 00 01 03 05", f));
  EXPECT_EQ(ranges_of(f), (std::vector<packet_range>{{18, 20}, {15, 16}, {5, 10}}));
  EXPECT_EQ(f.range_count, 2u);
}

TEST(frame_ack, reads_ecn_counts_when_the_type_says_so) {
  ack_frame f;
  ASSERT_TRUE(parse_body("00 00 00 00 05 4100 07", f, frame_ack_ecn));
  EXPECT_TRUE(f.has_ecn);
  EXPECT_EQ(f.ecn, (ecn_counts{5, 256, 7}));
  EXPECT_EQ(parse_body("00 00 00 00 05 4100", f, frame_ack_ecn).code, parse_errc::truncated);
}

TEST(frame_ack, refuses_a_first_range_below_zero) {
  ack_frame f;
  ASSERT_TRUE(parse_body("05 00 00 05", f));
  const parse_status status = parse_body("05 00 00 06", f);
  EXPECT_EQ(status.code, parse_errc::bad_value);
  EXPECT_EQ(status.at, 3u);
  EXPECT_EQ(f.first_range, 5u) << "written although it failed";
}

TEST(frame_ack, refuses_a_range_below_zero) {
  ack_frame f;
  ASSERT_TRUE(parse_body("0a 00 01 05 03 00", f));  // 5..10, then 0
  EXPECT_EQ(ranges_of(f).back(), (packet_range{0, 0}));
  EXPECT_EQ(parse_body("0a 00 01 05 04 00", f).code, parse_errc::bad_value);  // a gap too wide
  EXPECT_EQ(parse_body("0a 00 01 05 03 01", f).code, parse_errc::bad_value);  // a length too long
  EXPECT_EQ(parse_body("0a 00 01 0a 00 00", f).code, parse_errc::bad_value);  // nothing left below packet 0
  EXPECT_EQ(parse_body("0a 00 01 09 00 00", f).code, parse_errc::bad_value);  // one packet left, two are needed
  EXPECT_EQ(parse_body("0a 00 01 05 ffffffffffffffff 00", f).code, parse_errc::bad_value);
  EXPECT_EQ(parse_body("0a 00 01 05 00 ffffffffffffffff", f).code, parse_errc::bad_value);
}

TEST(frame_ack, refuses_a_count_that_the_bytes_cannot_hold_before_reading_on) {
  ack_frame f;
  EXPECT_EQ(parse_body("3f 00 ffffffffffffffff 00 00 00", f).code, parse_errc::truncated);
  EXPECT_EQ(parse_body("3f 00 02 00 00 00", f).code, parse_errc::truncated);
}

TEST(frame_ack, takes_more_ranges_than_anybody_acts_on) {  // a valid packet is no error, however silly
  const std::size_t count = 700;
  std::vector<packet_range> many;
  for (std::uint64_t i = 0; i < count; ++i) many.push_back({2 * (count - i), 2 * (count - i)});
  const byte_list bytes = emitted({.ranges = many});
  byte_reader in(byte_view(bytes).subspan(1));
  ack_frame f;
  ASSERT_TRUE(parse(in, frame_ack, f));
  EXPECT_TRUE(in.empty());
  EXPECT_EQ(ranges_of(f), many);
  EXPECT_GT(count, max_acted_ack_ranges);
}

TEST(frame_ack, writes_what_it_reads) {
  const ecn_counts ecn{1, 2, 300};
  const packet_range ranges[] = {{90, 100}, {80, 88}, {3, 3}};
  EXPECT_EQ(test::to_hex(emitted({.ranges = ranges, .delay = 5})), "02406405020a0008404b00");
  EXPECT_EQ(test::to_hex(emitted({.ranges = ranges, .delay = 5, .ecn = &ecn})), "03406405020a0008404b000102412c");
}

TEST(frame_ack, writes_nothing_where_there_is_no_room) {
  const packet_range ranges[] = {{90, 100}, {80, 88}};
  const ack_to_send ack{.ranges = ranges, .delay = 5};
  for (std::size_t size = 0; size < encoded_size(ack); ++size) {
    byte_list room(size, 0xEE);
    base::byte_writer out(room);
    EXPECT_FALSE(emit(out, ack));
    EXPECT_EQ(out.size(), 0u);
    EXPECT_EQ(room, byte_list(size, 0xEE));
  }
}

TEST(frame_ack, returns_any_set_of_ranges_unchanged) {
  std::mt19937_64 random(193);
  for (int round = 0; round < 2000; ++round) {
    std::vector<packet_range> ranges;
    std::uint64_t top = random() >> (2 + random() % 50);
    while (ranges.size() < 40 && top > 4) {
      const std::uint64_t length = std::min<std::uint64_t>(random() >> (40 + random() % 24), top);
      ranges.push_back({top - length, top});
      const std::uint64_t gap = 2 + (random() >> (40 + random() % 24));
      if (ranges.back().smallest < gap) break;
      top = ranges.back().smallest - gap;
    }
    if (ranges.empty()) continue;
    const ecn_counts ecn{random() >> 2, random() >> 10, random() >> 40};
    const ack_to_send ack{.ranges = ranges, .delay = random() >> 30, .ecn = round % 2 == 0 ? nullptr : &ecn};
    const byte_list bytes = emitted(ack);
    byte_reader in(byte_view(bytes).subspan(1));
    ack_frame f;
    ASSERT_TRUE(parse(in, bytes[0], f));
    ASSERT_TRUE(in.empty());
    ASSERT_EQ(ranges_of(f), ranges);
    ASSERT_EQ(f.delay, ack.delay);
    ASSERT_EQ(f.has_ecn, ack.ecn != nullptr);
    if (f.has_ecn) {
      ASSERT_EQ(f.ecn, ecn);
    }
  }
}

// Whatever parse() accepts, the reader gives ranges in order, apart, and above zero.
void expect_sound(byte_view body, frame_type type) {
  byte_reader in(body);
  ack_frame f;
  const parse_status status = parse(in, type, f);
  EXPECT_LE(status.at, body.size());
  if (!status) return;
  const std::vector<packet_range> ranges = ranges_of(f);
  ASSERT_EQ(ranges.size(), f.range_count + 1);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_LE(ranges[i].smallest, ranges[i].largest);
    if (i != 0) {
      EXPECT_LT(ranges[i].largest + 1, ranges[i - 1].smallest);
    }
  }
}

TEST(frame_ack, survives_every_truncation_and_every_change_of_one_byte) {
  const byte_list plain = from_hex("4114 00 03 02 00 01 03 05 4040 10");
  const byte_list ecn = from_hex("4114 00 03 02 00 01 03 05 4040 10 05 4100 07");
  test::for_every_truncation(plain, [](byte_view in) {
    ack_frame f;
    byte_reader reader(in);
    EXPECT_EQ(parse(reader, frame_ack, f).code, parse_errc::truncated) << in.size();
  });
  test::for_every_truncation(ecn, [](byte_view in) {
    ack_frame f;
    byte_reader reader(in);
    EXPECT_EQ(parse(reader, frame_ack_ecn, f).code, parse_errc::truncated) << in.size();
  });
  test::for_every_byte_change(plain, [](byte_view in) { expect_sound(in, frame_ack); });
  test::for_every_byte_change(ecn, [](byte_view in) { expect_sound(in, frame_ack_ecn); });
}

}  // namespace
}  // namespace millrace::quic::wire
