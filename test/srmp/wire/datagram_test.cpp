#include "srmp/wire/datagram.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "srmp/from_hex.hpp"
#include "support/guard_page.hpp"

namespace millrace::srmp::wire {
namespace {

using base::progress;
using test_support::from_hex;

// What the frames of `datagram` say, as "kind seq payload" lines, and how the walk ended.
struct walked {
  std::vector<std::string> frames;
  progress end = progress::done;
  bool at_end = false;
};

walked walk(base::byte_view datagram) {
  walked out;
  datagram_frames frames(datagram);
  frame f;
  while ((out.end = frames.next(f)) == progress::done) {
    out.frames.push_back(std::to_string(static_cast<int>(f.header.kind())) + " " + std::to_string(f.header.seq) + " " +
                         std::string(base::as_text(f.payload)));
  }
  out.at_end = frames.at_end();
  EXPECT_EQ(frames.next(f), out.end) << "the end is an end";
  return out;
}

std::vector<std::string> list(std::initializer_list<std::string> items) { return items; }

TEST(srmp_datagram, walks_several_frames_that_fill_it) {  // Q7, and the first chunk of Q1 made whole
  const walked q7 = walk(from_hex("01 01 01 00 41 01 02 01 00 42"));
  EXPECT_EQ(q7.frames, list({"0 1 A", "0 2 B"}));
  EXPECT_TRUE(q7.at_end);
  EXPECT_EQ(q7.end, progress::need_more);
  EXPECT_EQ(walk(from_hex("01 01 01 00 41 01 02 02 00 42 43 01 03 01 00 44")).frames,
            list({"0 1 A", "0 2 BC", "0 3 D"}));
}

TEST(srmp_datagram, reads_a_long_form_of_a_short_length_and_goes_on_behind_it) {  // Q5
  EXPECT_EQ(walk(from_hex("01 01 FF FF 01 00 00 00 41 01 02 02 00 6F 6B")).frames, list({"0 1 A", "0 2 ok"}));
}

TEST(srmp_datagram, drops_a_cut_frame_and_never_continues_it) {  // Q1's first chunk, Q6
  const walked q1 = walk(from_hex("01 01 01 00 41 01 02 02 00 42 43 01 03 01"));
  EXPECT_EQ(q1.frames, list({"0 1 A", "0 2 BC"}));
  EXPECT_FALSE(q1.at_end);
  EXPECT_TRUE(walk(from_hex("01 01 04 00 41")).frames.empty());
  EXPECT_EQ(walk(from_hex("01 02 01 00 42")).frames, list({"0 2 B"}));
}

TEST(srmp_datagram, stops_for_good_at_a_length_that_cannot_be) {
  const walked bad = walk(from_hex("01 01 01 00 41 01 01 FF FF FF FF FF FF 01 02 01 00 42"));
  EXPECT_EQ(bad.frames, list({"0 1 A"}));
  EXPECT_EQ(bad.end, progress::malformed);
}

TEST(srmp_datagram, says_which_frames_fill_it_exactly) {
  struct {
    const char* text;
    datagram_kind kind;
    std::uint32_t frames;
    std::uint32_t size;
  } const cases[] = {
      {"", datagram_kind::empty, 0, 0},
      {"01 05 00 00", datagram_kind::exact, 1, 4},
      {"01 01 01 00 41 01 02 01 00 42", datagram_kind::exact, 2, 10},
      {"01 01 FF FF 01 00 00 00 41 01 02 02 00 6F 6B", datagram_kind::exact, 2, 15},
      {"01 01 04 00 41", datagram_kind::truncated, 0, 0},
      {"01 01 01 00 41 01", datagram_kind::truncated, 1, 5},
      {"01 01 01 00 41 01 02 FF FF 01 00", datagram_kind::truncated, 1, 5},
      {"01 01 FF FF FF FF FF 7F 41", datagram_kind::truncated, 0, 0},
      {"01 01 01 00 41 01 01 FF FF 00 00 00 80", datagram_kind::malformed, 1, 5},
      {"47 45 54 20 2F 20 48 54 54 50 2F 31 2E 31 0D 0A", datagram_kind::truncated, 0, 0},
  };
  for (const auto& c : cases) {
    const auto bytes = from_hex(c.text);
    const datagram_summary got = classify_datagram(bytes);
    EXPECT_EQ(got.kind, c.kind) << c.text << ": " << to_string(got.kind);
    EXPECT_EQ(got.frames, c.frames) << c.text;
    EXPECT_EQ(got.size, c.size) << c.text;
    EXPECT_EQ(fills_exactly(bytes), c.kind == datagram_kind::exact) << c.text;
  }
  EXPECT_EQ(classify_datagram(from_hex("C1 07 01 00 78 01 05 00 00")).first.kind(), frame_kind::error_reply);
}

// Frames of every size class, random, back to back; sometimes cut.
std::vector<std::uint8_t> random_datagram(std::mt19937& random) {
  std::vector<std::uint8_t> out;
  const auto frames = static_cast<unsigned>(random() % 6);
  for (unsigned i = 0; i < frames; ++i) {
    std::array<std::uint8_t, 8> header{};
    const auto size = static_cast<std::uint32_t>(random() % 4 == 0 ? 65533 + random() % 5 : random() % 30);
    const std::size_t used = emit_header(header.data(), static_cast<std::uint8_t>(random()), 7, size);
    out.insert(out.end(), header.begin(), header.begin() + static_cast<std::ptrdiff_t>(used));
    out.resize(out.size() + size, 0x55);
  }
  if (random() % 3 == 0 && !out.empty()) out.resize(random() % out.size());
  if (random() % 5 == 0 && !out.empty()) out[random() % out.size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
  return out;
}

TEST(srmp_datagram, answers_the_same_in_one_buffer_and_in_many) {
  std::mt19937 random(11);
  for (int i = 0; i < 2000; ++i) {
    const std::vector<std::uint8_t> all = random_datagram(random);
    std::vector<base::byte_view> parts;
    base::byte_view left(all);
    while (!left.empty()) {
      const std::size_t take = std::min<std::size_t>(left.size(), random() % 3 == 0 ? 0 : 1 + random() % 40);
      parts.push_back(left.first(take));
      left = left.subspan(take);
    }
    if (random() % 2 == 0) parts.push_back({});
    const datagram_summary flat = classify_datagram(all);
    const datagram_summary split = classify_datagram(base::segments(parts));
    ASSERT_EQ(split.kind, flat.kind) << i;
    ASSERT_EQ(split.frames, flat.frames) << i;
    ASSERT_EQ(split.size, flat.size) << i;
    ASSERT_EQ(split.first, flat.first) << i;
    datagram_frames frames(all);
    std::uint32_t count = 0;
    for (frame f; frames.next(f) == progress::done;) ++count;
    ASSERT_EQ(count, flat.frames) << i;
    ASSERT_EQ(frames.at_end(), flat.kind == datagram_kind::exact || all.empty()) << i;
  }
}

TEST(srmp_datagram, survives_every_cut_and_every_changed_byte) {
  const auto good = from_hex("01 01 01 00 41 43 2A 02 00 7B 7D 01 0A FF FF 03 00 00 00 61 62 63");
  ASSERT_TRUE(fills_exactly(good));
  const auto consistent = [](base::byte_view bytes) {
    const datagram_summary got = classify_datagram(bytes);
    EXPECT_LE(got.size, bytes.size());
    EXPECT_EQ(got.kind == datagram_kind::exact, got.size == bytes.size() && got.frames != 0);
  };
  test::guard_page guard(good.size());
  for (std::size_t size = 0; size < good.size(); ++size) {
    const base::byte_view cut = guard.place(base::byte_view(good).first(size));
    consistent(cut);
    EXPECT_EQ(fills_exactly(cut), size == 5 || size == 11) << size;
  }
  const base::byte_span changed = guard.place(good);
  for (std::uint8_t& byte : changed) {
    for (unsigned by = 1; by < 256; ++by) {
      byte = static_cast<std::uint8_t>(byte ^ by);
      consistent(changed);
      byte = static_cast<std::uint8_t>(byte ^ by);
    }
  }
}

}  // namespace
}  // namespace millrace::srmp::wire
