#include "h3/wire/frame.hpp"

#include <gtest/gtest.h>

#include <set>

#include "support/bytes.hpp"
#include "support/hostile.hpp"
#include "support/seeded.hpp"

namespace millrace::h3::wire {
namespace {

using base::progress;
using test::from_hex;

TEST(h3_frame, reads_a_header_in_one_piece_and_leaves_what_follows) {
  const test::byte_list in = from_hex("00 05 68656c6c6f");
  base::byte_view left = in;
  pair_reader r;
  frame_header h;
  ASSERT_EQ(r.next(left, h), progress::done);
  EXPECT_EQ(h, (frame_header{0, 5}));
  EXPECT_EQ(left.size(), 5u);
  EXPECT_FALSE(r.is_inside());
}

TEST(h3_frame, reads_headers_in_any_two_pieces_the_same) {
  for (const frame_header want : {frame_header{0, 0}, frame_header{1, 63}, frame_header{0x40, 64},
                                  frame_header{0xf0700, 16'384}, frame_header{base::varint_max, base::varint_max}}) {
    std::array<std::uint8_t, max_frame_header_size> room;
    const std::size_t size = emit(room.data(), want);
    ASSERT_EQ(size, encoded_size(want));
    for (std::size_t cut = 0; cut <= size; ++cut) {
      pair_reader r;
      frame_header got;
      base::byte_view first = base::byte_view(room).first(cut);
      const progress p = r.next(first, got);
      EXPECT_TRUE(first.empty());
      EXPECT_EQ(r.is_inside(), cut != 0 && cut != size);
      if (cut == size) {
        ASSERT_EQ(p, progress::done);
      } else {
        ASSERT_EQ(p, progress::need_more);
        base::byte_view second = base::byte_view(room).subspan(cut, size - cut);
        ASSERT_EQ(r.next(second, got), progress::done);
        EXPECT_TRUE(second.empty());
      }
      EXPECT_EQ(got, want);
    }
  }
}

TEST(h3_frame, reads_any_bytes_byte_by_byte_as_it_does_at_once) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    test::seeded random(seed);
    const test::byte_list in = random.bytes(300);
    std::vector<frame_header> whole, single;
    pair_reader a, b;
    frame_header h;
    base::byte_view left = in;
    while (a.next(left, h) == progress::done) whole.push_back(h);
    for (const std::uint8_t byte : in) {
      base::byte_view one(&byte, 1);
      if (b.next(one, h) == progress::done) single.push_back(h);
    }
    EXPECT_EQ(whole, single) << seed;
    EXPECT_EQ(a.is_inside(), b.is_inside()) << seed;
  }
}

TEST(h3_frame, never_reads_beyond_what_is_there) {
  const test::byte_list longest = from_hex("c0000000000f0700 ffffffffffffffff");
  test::for_every_truncation(longest, [](base::byte_view in) {
    pair_reader r;
    frame_header h;
    EXPECT_EQ(r.next(in, h), progress::need_more);
    EXPECT_TRUE(in.empty());
  });
  test::for_every_byte_change(longest, [](base::byte_view in) {
    pair_reader r;
    frame_header h;
    while (r.next(in, h) == progress::done) continue;
    EXPECT_TRUE(in.empty());
  });
}

TEST(h3_frame, knows_reserved_numbers) {
  EXPECT_TRUE(is_reserved(0x21));
  EXPECT_TRUE(is_reserved(0x40));
  EXPECT_TRUE(is_reserved(0x1f * 1000 + 0x21));
  for (const std::uint64_t n : {0, 1, 2, 3, 0x1f, 0x20, 0x22, 0xf0700}) EXPECT_FALSE(is_reserved(n)) << n;
}

// Every place, both sides, every type: against a list written the other way round, by type.
TEST(h3_frame, judges_every_type_in_every_place) {
  using p = frame_place;
  struct rule {
    std::uint64_t type;
    std::set<p> server, client;
  };
  const rule rules[] = {
      {0x00, {p::body, p::tunnel}, {p::body, p::tunnel}},
      {0x01, {p::head, p::body}, {p::head, p::body}},
      {0x03, {p::control}, {p::control}},
      {0x04, {p::control_first}, {p::control_first}},
      {0x07, {p::control}, {p::control}},
      {0x0d, {p::control}, {}},
      {0xf0700, {p::control}, {}},
      {0xf0701, {p::control}, {}},
      {0x02, {}, {}},
      {0x05, {}, {}},
      {0x06, {}, {}},
      {0x08, {}, {}},
      {0x09, {}, {}},
  };
  for (const p place : {p::control_first, p::control, p::head, p::body, p::trailers, p::tunnel}) {
    for (const bool is_server : {true, false}) {
      for (const rule& r : rules) {
        const bool may = (is_server ? r.server : r.client).contains(place);
        const verdict got = judge(place, is_server, r.type);
        EXPECT_EQ(got == verdict::take, may) << static_cast<int>(place) << ' ' << is_server << ' ' << r.type;
        EXPECT_NE(got, verdict::skip);
        if (may) continue;
        const bool is_push =
            r.type == 5 && !is_server && (place == p::head || place == p::body || place == p::trailers);
        const error want = place == p::control_first ? error::missing_settings
                           : is_push                 ? error::id_error
                                                     : error::frame_unexpected;
        EXPECT_EQ(error_of(got), want) << static_cast<int>(place) << ' ' << is_server << ' ' << r.type;
      }
      for (const std::uint64_t unknown :
           {std::uint64_t{0x0a}, std::uint64_t{0x21}, std::uint64_t{0xf0702}, base::varint_max})
        EXPECT_EQ(judge(place, is_server, unknown),
                  place == p::control_first ? verdict::missing_settings : verdict::skip);
    }
  }
}

TEST(h3_error, has_the_names_of_the_rfc) {
  EXPECT_EQ(to_string(error::no_error), "H3_NO_ERROR");
  EXPECT_EQ(number(error::no_error), 0x100u);
  EXPECT_EQ(to_string(error::version_fallback), "H3_VERSION_FALLBACK");
  EXPECT_EQ(number(error::version_fallback), 0x110u);
  EXPECT_EQ(to_string(error::qpack_decoder_stream_error), "QPACK_DECODER_STREAM_ERROR");
  EXPECT_EQ(number(error::qpack_decoder_stream_error), 0x202u);
  for (std::uint64_t n = 0x100; n <= 0x110; ++n) EXPECT_FALSE(to_string(static_cast<error>(n)).empty()) << n;
  EXPECT_EQ(to_string(static_cast<error>(0x111)), "");
}

}  // namespace
}  // namespace millrace::h3::wire
