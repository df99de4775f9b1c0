#include "srmp/wire/frame.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/guard_page.hpp"
#include "support/seeded.hpp"

namespace millrace::srmp::wire {
namespace {

using base::progress;
using test::from_hex;
using test::from_text;

struct whole_vector {
  const char* id;
  const char* header;
  frame_kind kind;
  unsigned data;
  unsigned seq;
  test::byte_list payload;
};

// The reference sheet's S1-S9 and S13-S15 with their payloads.
std::vector<whole_vector> whole_vectors() {
  const auto zeros = [](std::size_t size) { return test::byte_list(size, 0); };
  return {
      {"S1", "01 01 04 00", frame_kind::request, 1, 1, from_text("Open")},
      {"S2", "81 01 02 00", frame_kind::reply, 1, 1, from_text("OK")},
      {"S3", "43 2A 02 00", frame_kind::one_way, 3, 42, from_text("{}")},
      {"S4", "C1 07 01 00", frame_kind::error_reply, 1, 7, from_text("x")},
      {"S5", "01 05 00 00", frame_kind::request, 1, 5, {}},
      {"S6", "3F FF 01 00", frame_kind::request, 63, 255, {0xAA}},
      {"S7", "01 09 FE FF", frame_kind::request, 1, 9, zeros(65534)},
      {"S8", "01 0A FF FF FF FF 00 00", frame_kind::request, 1, 10, zeros(65535)},
      {"S9", "01 0B FF FF 00 00 01 00", frame_kind::request, 1, 11, zeros(65536)},
      {"S13", "01 01 FF FF 01 00 00 00", frame_kind::request, 1, 1, from_text("A")},
      {"S14", "01 01 FF FF 00 00 00 00", frame_kind::request, 1, 1, {}},
      {"S15", "01 01 FF FF FB FF 00 00", frame_kind::request, 1, 1, zeros(65531)},
  };
}

TEST(srmp_frame, cuts_the_reference_vectors) {
  for (const whole_vector& v : whole_vectors()) {
    const auto bytes = test::join({from_hex(v.header), v.payload});
    frame got;
    ASSERT_EQ(parse_frame(bytes, default_ceiling, got).outcome, progress::done) << v.id;
    EXPECT_EQ(got.header.kind(), v.kind) << v.id;
    EXPECT_EQ(got.header.data(), v.data) << v.id;
    EXPECT_EQ(got.header.seq, v.seq) << v.id;
    EXPECT_TRUE(std::equal(got.payload.begin(), got.payload.end(), v.payload.begin(), v.payload.end())) << v.id;
    EXPECT_EQ(got.header.frame_size(), bytes.size()) << v.id;
  }
}

TEST(srmp_frame, builds_the_reference_vectors_in_their_shortest_form) {
  for (const whole_vector& v : whole_vectors()) {
    if (std::string_view(v.id) == "S13" || std::string_view(v.id) == "S14" || std::string_view(v.id) == "S15") continue;
    const auto expected = test::join({from_hex(v.header), v.payload});
    test::guard_page guard(expected.size());
    const base::byte_span room = guard.room(expected.size());
    ASSERT_EQ(emit_frame(room, expected[0], expected[1], v.payload), expected.size()) << v.id;
    EXPECT_TRUE(std::equal(room.begin(), room.end(), expected.begin())) << v.id;
    EXPECT_EQ(frame_size_for(static_cast<std::uint32_t>(v.payload.size())), expected.size()) << v.id;
    EXPECT_EQ(emit_frame(room.first(room.size() - 1), 1, 1, v.payload), 0u) << v.id << " does not fit";
  }
}

void expect_frame_need(std::string_view text, std::uint32_t need) {
  frame got;
  const frame_result result = parse_frame(from_hex(text), max_payload, got);
  EXPECT_EQ(result.outcome, progress::need_more) << text;
  EXPECT_EQ(result.need, need) << text;
}

TEST(srmp_frame, asks_for_the_header_and_then_for_the_frame) {
  expect_frame_need("", 4);                                                    // S10
  expect_frame_need("01", 4);                                                  // S10
  expect_frame_need("01 01 04", 4);                                            // S10
  expect_frame_need("01 01 FF FF 05 00", 8);                                   // S11
  expect_frame_need("01 01 04 00 4F 70", 8);                                   // S12
  expect_frame_need("01 01 FF FF FF FF FF 7F", 2147483655);                    // S20
  expect_frame_need("01 01 FF FF F7 FF FF 7F", 2147483647);                    // S21
  expect_frame_need("47 45 54 20 2F 20 48 54 54 50 2F 31 2E 31 0D 0A", 8280);  // S22, were it fed here
}

TEST(srmp_frame, refuses_what_cannot_be_and_what_is_above_the_ceiling) {
  const auto reason = [](std::string_view text, std::uint32_t ceiling) {
    frame got;
    const frame_result result = parse_frame(from_hex(text), ceiling, got);
    EXPECT_EQ(result.outcome, progress::malformed) << text;
    return result.why;
  };
  EXPECT_EQ(reason("01 01 FF FF FF FF FF FF", default_ceiling), header_errc::negative_length);  // S16
  EXPECT_EQ(reason("01 01 FF FF F9 FF FF FF", default_ceiling), header_errc::negative_length);  // S17
  EXPECT_EQ(reason("01 01 FF FF F8 FF FF FF", default_ceiling), header_errc::negative_length);  // S18
  EXPECT_EQ(reason("01 01 FF FF 00 00 00 80", default_ceiling), header_errc::negative_length);  // S19
  EXPECT_EQ(reason("01 01 FF FF FF FF FF 7F", default_ceiling), header_errc::too_large);        // S20
  EXPECT_EQ(reason("01 01 FF FF F7 FF FF 7F", default_ceiling), header_errc::too_large);        // S21
}

// All frames of a stream that arrives in chunks; what is left is kept, as a connection would.
struct stream {
  test::byte_list kept;
  std::vector<std::string> frames;

  void arrive(base::byte_view chunk) {
    kept.insert(kept.end(), chunk.begin(), chunk.end());
    frame got;
    std::size_t at = 0;
    while (parse_frame(base::byte_view(kept).subspan(at), default_ceiling, got).outcome == progress::done) {
      frames.push_back(std::to_string(got.header.seq) + " " + std::string(base::as_text(got.payload)));
      at += got.header.frame_size();
    }
    kept.erase(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(at));
  }
};

TEST(srmp_frame, takes_frames_glued_together_and_cut_apart) {
  stream q1;
  q1.arrive(from_hex("01 01 01 00 41 01 02 02 00 42 43 01 03 01"));
  EXPECT_EQ(q1.frames, (std::vector<std::string>{"1 A", "2 BC"}));
  q1.arrive(from_hex("00 44"));
  EXPECT_EQ(q1.frames.back(), "3 D");
  stream q5;
  q5.arrive(from_hex("01 01 FF FF 01 00 00 00 41 01 02 02 00 6F 6B"));
  EXPECT_EQ(q5.frames, (std::vector<std::string>{"1 A", "2 ok"}));
  EXPECT_TRUE(q5.kept.empty());
}

TEST(srmp_frame, answers_the_same_in_one_buffer_and_in_many) {
  test::seeded random(21);
  const std::vector<test::byte_list> samples = {
      from_hex("01 01 04 00 4F 70 65 6E"),    from_hex("01 0A FF FF 03 00 00 00 AA BB CC DD"),
      from_hex("01 01 FF FF FF FF FF FF"),    from_hex("01 01 FF FF 05"),
      from_hex("01 01 FF FF FF FF FF 7F 00"), {}};
  for (int round = 0; round < 4000; ++round) {
    const test::byte_list& all = samples[random.below(samples.size())];
    std::vector<base::byte_view> parts;
    for (base::byte_view left(all); !left.empty();) {
      const std::size_t take = random.below(left.size() + 1);
      parts.push_back(left.first(take));
      left = left.subspan(take);
    }
    const std::size_t from = random.below(all.size() + 3);
    frame one;
    frame_header other;
    const base::byte_view rest = base::byte_view(all).subspan(std::min(from, all.size()));
    const frame_result a = parse_frame(rest, default_ceiling, one);
    const frame_result b = parse_frame(base::segments(parts), from, default_ceiling, other);
    ASSERT_EQ(a.outcome, b.outcome) << "seed 21 round " << round;
    ASSERT_EQ(a.why, b.why) << "seed 21 round " << round;
    ASSERT_EQ(a.need, b.need) << "seed 21 round " << round;
    if (a.outcome == progress::done) {
      ASSERT_EQ(one.header, other) << "seed 21 round " << round;
    }
  }
}

TEST(srmp_frame, the_fast_header_and_the_stepwise_one_agree_on_any_bytes) {
  test::seeded random(22);
  for (int round = 0; round < 20000; ++round) {
    test::byte_list bytes = random.bytes(random.below(12));
    if (bytes.size() >= 4 && random.below(2) == 0) bytes[2] = bytes[3] = 0xFF;
    if (bytes.size() >= 8 && random.below(2) == 0) bytes[7] = static_cast<std::uint8_t>(random.below(2));
    for (const std::uint32_t ceiling : {0u, 100u, default_ceiling, max_payload, 0xFFFF'FFFFu}) {
      frame_header fast;
      frame_header slow;
      const header_result a = parse_header(bytes, ceiling, fast);
      const header_result b = parse_header_stepwise(bytes, ceiling, slow);
      ASSERT_EQ(a.outcome, b.outcome);
      ASSERT_EQ(a.why, b.why);
      ASSERT_EQ(a.need, b.need);
      ASSERT_EQ(fast, slow);
    }
  }
}

TEST(srmp_frame, writes_exactly_its_header) {
  test::guard_page guard(8);
  for (const std::uint32_t size : {0u, 65534u, 65535u, max_payload}) {
    const base::byte_span room = guard.room(header_size_for(size));
    EXPECT_EQ(emit_header(room.data(), 1, 1, size), room.size());
  }
}

}  // namespace
}  // namespace millrace::srmp::wire
