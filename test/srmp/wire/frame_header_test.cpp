#include "srmp/wire/frame_header.hpp"

#include <gtest/gtest.h>

#include <array>

#include "srmp/from_hex.hpp"
#include "support/guard_page.hpp"

namespace millrace::srmp::wire {
namespace {

using base::progress;
using test_support::from_hex;

frame_header expect_header(std::string_view text, std::uint32_t ceiling = max_payload) {
  frame_header header;
  const header_result got = parse_header(from_hex(text), ceiling, header);
  EXPECT_EQ(got.outcome, progress::done) << text;
  return header;
}

void expect_need(std::string_view text, unsigned need) {
  frame_header header{1, 2, 3, 4};
  const header_result got = parse_header(from_hex(text), max_payload, header);
  EXPECT_EQ(got.outcome, progress::need_more) << text;
  EXPECT_EQ(got.need, need) << text;
  EXPECT_EQ(header, (frame_header{1, 2, 3, 4})) << text;
}

void expect_malformed(std::string_view text, header_errc why, std::uint32_t ceiling = max_payload) {
  frame_header header{1, 2, 3, 4};
  const header_result got = parse_header(from_hex(text), ceiling, header);
  EXPECT_EQ(got.outcome, progress::malformed) << text;
  EXPECT_EQ(got.why, why) << text << ": " << to_string(got.why);
  EXPECT_EQ(header, (frame_header{1, 2, 3, 4})) << text;
}

// The vectors S1..S22 of the reference sheet, section 10.
struct vector {
  const char* id;
  const char* opening;
  frame_kind kind;
  unsigned data;
  unsigned seq;
  std::uint32_t payload_size;
  unsigned header_size;
};

constexpr vector whole_frames[] = {
    {"S1", "01 01 04 00 4F 70 65 6E", frame_kind::request, 1, 1, 4, 4},
    {"S2", "81 01 02 00 4F 4B", frame_kind::reply, 1, 1, 2, 4},
    {"S3", "43 2A 02 00 7B 7D", frame_kind::one_way, 3, 42, 2, 4},
    {"S4", "C1 07 01 00 78", frame_kind::error_reply, 1, 7, 1, 4},
    {"S5", "01 05 00 00", frame_kind::request, 1, 5, 0, 4},
    {"S6", "3F FF 01 00 AA", frame_kind::request, 63, 255, 1, 4},
    {"S6 reply", "BF FF 01 00 AA", frame_kind::reply, 63, 255, 1, 4},
    {"S7", "01 09 FE FF", frame_kind::request, 1, 9, 65534, 4},
    {"S8", "01 0A FF FF FF FF 00 00", frame_kind::request, 1, 10, 65535, 8},
    {"S9", "01 0B FF FF 00 00 01 00", frame_kind::request, 1, 11, 65536, 8},
    {"S13", "01 01 FF FF 01 00 00 00 41", frame_kind::request, 1, 1, 1, 8},
    {"S14", "01 01 FF FF 00 00 00 00", frame_kind::request, 1, 1, 0, 8},
    {"S15", "01 01 FF FF FB FF 00 00", frame_kind::request, 1, 1, 65531, 8},
    {"S20", "01 01 FF FF FF FF FF 7F", frame_kind::request, 1, 1, 2147483647, 8},
    {"S21", "01 01 FF FF F7 FF FF 7F", frame_kind::request, 1, 1, 2147483639, 8},
    {"S22", "47 45 54 20 2F 20 48 54 54 50 2F 31 2E 31 0D 0A", frame_kind::one_way, 7, 69, 8276, 4},
};

TEST(frame_header, reads_the_reference_vectors) {
  for (const vector& v : whole_frames) {
    const frame_header got = expect_header(v.opening);
    EXPECT_EQ(got.kind(), v.kind) << v.id;
    EXPECT_EQ(got.data(), v.data) << v.id;
    EXPECT_EQ(got.seq, v.seq) << v.id;
    EXPECT_EQ(got.payload_size, v.payload_size) << v.id;
    EXPECT_EQ(got.header_size, v.header_size) << v.id;
    EXPECT_EQ(got.frame_size(), v.payload_size + v.header_size) << v.id;
  }
}

TEST(frame_header, asks_for_the_bytes_it_needs) {
  expect_need("", 4);  // S10
  expect_need("01", 4);
  expect_need("01 01 04", 4);
  expect_need("01 01 FF FF 05 00", 8);  // S11
  expect_need("01 01 FF FF", 8);
  EXPECT_EQ(expect_header("01 01 04 00 4F 70").frame_size(), 8u);  // S12: known, and 8 bytes are needed in all
  EXPECT_EQ(expect_header("47 45 54 20").frame_size(), 8280u);     // S22
}

TEST(frame_header, refuses_a_length_with_its_top_bit_set) {
  expect_malformed("01 01 FF FF FF FF FF FF", header_errc::negative_length);  // S16
  expect_malformed("01 01 FF FF F9 FF FF FF", header_errc::negative_length);  // S17
  expect_malformed("01 01 FF FF F8 FF FF FF", header_errc::negative_length);  // S18
  expect_malformed("01 01 FF FF 00 00 00 80", header_errc::negative_length);  // S19
}

TEST(frame_header, refuses_what_is_above_its_ceiling) {
  expect_malformed("01 01 FF FF FF FF FF 7F", header_errc::too_large, default_ceiling);  // S20
  expect_malformed("01 01 FF FF F7 FF FF 7F", header_errc::too_large, default_ceiling);  // S21
  expect_malformed("01 01 05 00", header_errc::too_large, 4);
  EXPECT_EQ(expect_header("01 01 04 00", 4).payload_size, 4u);
  EXPECT_EQ(expect_header("01 01 FF FF 00 00 00 01", default_ceiling).payload_size, default_ceiling);
  expect_malformed("01 01 FF FF 01 00 00 01", header_errc::too_large, default_ceiling);
  // The sign is judged first: what is negative is not merely large.
  expect_malformed("01 01 FF FF FF FF FF FF", header_errc::negative_length, 4);
}

TEST(frame_header, writes_the_short_form_whenever_it_can) {
  const auto emitted = [](std::uint32_t size) {
    std::vector<std::uint8_t> out(8, 0xEE);
    out.resize(emit_header(out.data(), 0x01, 0x0A, size));
    EXPECT_EQ(out.size(), header_size_for(size));
    return out;
  };
  EXPECT_EQ(emitted(0), from_hex("01 0A 00 00"));
  EXPECT_EQ(emitted(4), from_hex("01 0A 04 00"));
  EXPECT_EQ(emitted(65534), from_hex("01 0A FE FF"));
  EXPECT_EQ(emitted(65535), from_hex("01 0A FF FF FF FF 00 00"));
  EXPECT_EQ(emitted(65536), from_hex("01 0A FF FF 00 00 01 00"));
  EXPECT_EQ(emitted(max_payload), from_hex("01 0A FF FF FF FF FF 7F"));
}

TEST(frame_header, reads_back_whatever_it_writes) {
  for (unsigned flags = 0; flags < 256; ++flags) {
    for (const std::uint32_t size : {0u, 1u, 65533u, 65534u, 65535u, 65536u, 1u << 24, max_payload}) {
      std::array<std::uint8_t, 8> room{};
      const auto seq = static_cast<std::uint8_t>(flags * 7);
      const std::size_t used = emit_header(room.data(), static_cast<std::uint8_t>(flags), seq, size);
      frame_header got;
      ASSERT_EQ(parse_header(base::byte_view(room).first(used), max_payload, got).outcome, progress::done);
      EXPECT_EQ(got, (frame_header{static_cast<std::uint8_t>(flags), seq, static_cast<std::uint16_t>(used), size}));
      EXPECT_EQ(make_flags(got.kind(), got.data()), flags);
    }
  }
}

TEST(frame_header, keeps_bits_that_have_no_meaning_here) {
  EXPECT_EQ(make_flags(frame_kind::error_reply, data_kind::json), 0xC3);
  EXPECT_EQ(make_flags(frame_kind::request, std::uint8_t{0xFF}), 0x3F);  // a data kind cannot spill into the kind
  EXPECT_EQ(expect_header("31 01 00 00").data(), 0x31);                  // bits 5 and 4: carried, never interpreted
}

TEST(frame_header, answers_the_same_however_the_bytes_are_cut) {
  for (const char* text : {"01 01 04 00 4F 70 65 6E", "01 0A FF FF FF FF 00 00 AA BB", "01 01 FF FF FF FF FF FF",
                           "01 01 FF FF 05", "01 01", ""}) {
    const std::vector<std::uint8_t> all = from_hex(text);
    frame_header expected;
    const header_result whole = parse_header(all, default_ceiling, expected);
    for (std::size_t a = 0; a <= all.size(); ++a) {
      for (std::size_t b = a; b <= all.size(); ++b) {
        const base::byte_view view(all);
        const std::array<base::byte_view, 4> parts = {view.first(a), view.subspan(a, b - a), base::byte_view{},
                                                      view.subspan(b)};
        frame_header got;
        const header_result cut = parse_header(base::segments(parts), 0, default_ceiling, got);
        EXPECT_EQ(cut.outcome, whole.outcome);
        EXPECT_EQ(cut.why, whole.why);
        EXPECT_EQ(cut.need, whole.need);
        EXPECT_EQ(got, expected);
      }
    }
  }
}

TEST(frame_header, parses_at_an_offset_into_segments) {
  const std::vector<std::uint8_t> all = from_hex("01 01 01 00 41 01 02 FF FF 00 00 01 00");
  const std::array<base::byte_view, 2> parts = {base::byte_view(all).first(7), base::byte_view(all).subspan(7)};
  frame_header got;
  EXPECT_EQ(parse_header(base::segments(parts), 5, max_payload, got).outcome, progress::done);
  EXPECT_EQ(got.payload_size, 65536u);
  const header_result end = parse_header(base::segments(parts), all.size(), max_payload, got);
  EXPECT_EQ(end.outcome, progress::need_more);
  EXPECT_EQ(parse_header(base::segments(parts), all.size() + 9, max_payload, got).need, 4);
}

TEST(frame_header, reads_nothing_behind_its_input) {
  test::guard_page guard(16);
  for (const char* text : {"01 0A FF FF FF FF 00 00", "01 01 FF FF FF FF FF FF", "01 01 04 00 4F"}) {
    const std::vector<std::uint8_t> all = from_hex(text);
    for (std::size_t size = 0; size <= all.size(); ++size) {
      const base::byte_view in = guard.place(base::byte_view(all).first(size));
      frame_header got;
      const progress outcome = parse_header(in, max_payload, got).outcome;
      EXPECT_EQ(outcome == progress::need_more, size < 4 || (all[2] == 0xFF && size < 8));
    }
  }
}

}  // namespace
}  // namespace millrace::srmp::wire
