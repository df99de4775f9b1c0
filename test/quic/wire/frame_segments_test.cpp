#include "quic/wire/frame_segments.hpp"

#include <gtest/gtest.h>

#include "support/hostile.hpp"
#include "support/quic_payloads.hpp"
#include "support/quic_reference.hpp"
#include "support/seeded.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_view;
using base::parse_errc;
using base::segments;
using test::byte_list;
using test::from_hex;
using test::note_taker;

void expect_same(byte_view payload, const std::vector<byte_view>& parts, const frame_rules& rules) {
  note_taker whole;
  const walk_result expected = walk_frames(payload, rules, whole);
  note_taker cut;
  const walk_result result = walk_frames(segments(parts), rules, cut);
  EXPECT_EQ(result.fault, expected.fault) << test::to_hex(payload);
  EXPECT_EQ(result.status.code, expected.status.code) << test::to_hex(payload);
  EXPECT_EQ(result.status.at, expected.status.at) << test::to_hex(payload);
  EXPECT_EQ(result.type, expected.type);
  EXPECT_EQ(result.frames, expected.frames);
  EXPECT_EQ(result.ack_eliciting, expected.ack_eliciting);
  EXPECT_EQ(result.probing, expected.probing);
  EXPECT_EQ(cut.text(), whole.text()) << test::to_hex(payload);
}

const frame_rules one_rtt(packet_type::one_rtt, sender::server);

TEST(frame_segments, reads_the_same_wherever_one_cut_is) {
  const byte_list payload = test::every_frame();
  test::guard_page first;
  test::guard_page second;
  for (std::size_t cut = 0; cut <= payload.size(); ++cut)
    expect_same(payload, {first.place(byte_view(payload).first(cut)), second.place(byte_view(payload).subspan(cut))},
                one_rtt);
}

TEST(frame_segments, reads_the_same_wherever_two_cuts_are) {
  const byte_list payload = test::every_frame();
  const byte_view all(payload);
  for (std::size_t a = 0; a <= payload.size(); ++a)
    for (std::size_t b = a; b <= payload.size(); b += 3)
      expect_same(payload, {all.first(a), all.subspan(a, b - a), all.subspan(b)}, one_rtt);
}

TEST(frame_segments, reads_the_same_one_byte_at_a_time) {
  const byte_list payload = test::every_frame();
  std::vector<byte_view> parts;
  for (std::size_t i = 0; i < payload.size(); ++i) {
    parts.push_back(byte_view(payload).subspan(i, 1));
    if (i % 7 == 0) parts.push_back({});
  }
  expect_same(payload, parts, one_rtt);
}

TEST(frame_segments, reads_what_is_malformed_the_same_wherever_it_is_cut) {
  for (std::uint64_t seed = 1; seed <= 20000; ++seed) {
    test::seeded random(seed);
    byte_list payload = test::every_frame();
    payload = byte_list(payload.begin() + static_cast<std::ptrdiff_t>(random.below(payload.size())), payload.end());
    for (std::size_t i = random.below(3); i != 0; --i)
      payload[random.below(payload.size())] = static_cast<std::uint8_t>(random.next());
    payload.resize(random.below(payload.size() + 1));
    std::vector<byte_view> parts;
    for (byte_view rest(payload); !rest.empty();) {
      const std::size_t take = random.below(random.below(2) == 0 ? 4 : rest.size() + 1);
      parts.push_back(rest.first(std::min(take, rest.size())));
      rest = rest.subspan(parts.back().size());
    }
    SCOPED_TRACE(seed);
    expect_same(payload, parts,
                frame_rules(random.below(4) == 0 ? packet_type::zero_rtt : packet_type::one_rtt, sender::server,
                            random.below(2) == 0 ? base::varint_max : random.below(6)));
    if (testing::Test::HasFailure()) break;
  }
}

TEST(frame_segments, cuts_stream_data_where_the_segments_end_and_copies_none_of_it) {
  struct pieces : frame_visitor {
    using frame_visitor::on;
    std::vector<stream_frame> seen;
    bool on(const stream_frame& f) {
      seen.push_back(f);
      return true;
    }
  };
  const byte_list payload = from_hex("0f 08 4400 06 616263646566 01");
  const byte_view all(payload);
  const std::vector<byte_view> parts = {all.first(7), {}, all.subspan(7, 3), all.subspan(10)};
  pieces visitor;
  const walk_result result = walk_frames(segments(parts), packet_type::one_rtt, visitor);
  EXPECT_TRUE(result);
  EXPECT_EQ(result.frames, 2u);
  ASSERT_EQ(visitor.seen.size(), 3u);
  EXPECT_EQ(visitor.seen[0].offset, 1024u);
  EXPECT_EQ(visitor.seen[0].data.data(), payload.data() + 5);
  EXPECT_EQ(visitor.seen[0].data.size(), 2u);
  EXPECT_FALSE(visitor.seen[0].fin);
  EXPECT_EQ(visitor.seen[1].offset, 1026u);
  EXPECT_EQ(visitor.seen[1].data.data(), payload.data() + 7);
  EXPECT_FALSE(visitor.seen[1].fin);
  EXPECT_EQ(visitor.seen[2].offset, 1029u);
  EXPECT_EQ(visitor.seen[2].data.data(), payload.data() + 10);
  EXPECT_EQ(visitor.seen[2].data.size(), 1u);
  EXPECT_TRUE(visitor.seen[2].fin);
}

TEST(frame_segments, says_of_a_datagram_how_much_is_still_to_come) {
  struct pieces : frame_visitor {
    using frame_visitor::on;
    std::vector<std::pair<std::size_t, std::size_t>> seen;
    bool on(const datagram_frame& f) {
      seen.emplace_back(f.data.size(), f.more);
      return true;
    }
  };
  const byte_list payload = from_hex("31 06 616263646566");
  const byte_view all(payload);
  const std::vector<byte_view> parts = {all.first(1), all.subspan(1, 3), all.subspan(4)};
  pieces visitor;
  EXPECT_TRUE(walk_frames(segments(parts), packet_type::one_rtt, visitor));
  EXPECT_EQ(visitor.seen, (std::vector<std::pair<std::size_t, std::size_t>>{{2, 4}, {4, 0}}));
}

TEST(frame_segments, shows_no_piece_of_a_frame_that_is_not_all_there) {
  const byte_list payload = from_hex("01 0a 04 08 616263646566");
  const byte_view all(payload);
  const std::vector<byte_view> parts = {all.first(6), all.subspan(6)};
  note_taker taker;
  const walk_result result = walk_frames(segments(parts), packet_type::one_rtt, taker);
  EXPECT_EQ(result.fault, frame_fault::malformed);
  EXPECT_EQ(result.status.code, parse_errc::truncated);
  EXPECT_EQ(result.status.at, 4u);
  EXPECT_EQ(taker.text(), "ping");
}

TEST(frame_segments, stops_in_the_middle_of_a_frame_when_the_visitor_has_seen_enough) {
  struct first_piece : frame_visitor {
    using frame_visitor::on;
    int seen = 0;
    bool on(const crypto_frame&) {
      ++seen;
      return false;
    }
  };
  const byte_list payload = from_hex("06 00 04 61626364 01");
  const byte_view all(payload);
  const std::vector<byte_view> parts = {all.first(5), all.subspan(5)};
  first_piece visitor;
  const walk_result result = walk_frames(segments(parts), packet_type::one_rtt, visitor);
  EXPECT_EQ(visitor.seen, 1);
  EXPECT_EQ(result.fault, frame_fault::stopped);
  EXPECT_EQ(result.frames, 1u);
  EXPECT_EQ(result.status.at, 7u);
}

TEST(frame_segments, puts_together_an_ack_of_many_ranges) {
  std::vector<packet_range> ranges;
  for (std::uint64_t i = 4000; i != 0; --i) ranges.push_back({10 * i, 10 * i + i % 7});
  byte_list payload(encoded_size(ack_to_send{.ranges = ranges}));
  base::byte_writer out(payload);
  ASSERT_TRUE(emit(out, ack_to_send{.ranges = ranges}));
  payload.push_back(0x01);
  for (const std::size_t cut : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65}, payload.size() - 2})
    expect_same(payload, {byte_view(payload).first(cut), byte_view(payload).subspan(cut)}, one_rtt);
}

TEST(frame_segments, refuses_what_no_datagram_could_hold) {
  byte_list payload = from_hex("07 80020000");  // a token of 128 KiB
  payload.resize(payload.size() + 128 * 1024, 0x70);
  const byte_view all(payload);
  EXPECT_TRUE(walk_frames(all, one_rtt, frame_visitor{}));
  const std::vector<byte_view> parts = {all.first(100), all.subspan(100)};
  const walk_result result = walk_frames(segments(parts), one_rtt, frame_visitor{});
  EXPECT_EQ(result.fault, frame_fault::malformed);
  EXPECT_EQ(result.status.code, parse_errc::too_long);
}

TEST(frame_segments, refuses_a_payload_of_nothing_in_any_number_of_parts) {  // RFC 9000 12.4
  for (const std::size_t count : {0u, 1u, 3u}) {
    const std::vector<byte_view> parts(count);
    EXPECT_EQ(walk_frames(segments(parts), one_rtt, frame_visitor{}).fault, frame_fault::no_frames);
    EXPECT_EQ(walk_frames(segments(parts), packet_type::retry, frame_visitor{}).fault, frame_fault::not_allowed);
  }
}

}  // namespace
}  // namespace millrace::quic::wire
