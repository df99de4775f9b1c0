#include "quic/wire/frame_stream.hpp"

#include <gtest/gtest.h>

#include "support/emitted.hpp"
#include "support/hostile.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_reader;
using base::byte_view;
using base::parse_errc;
using base::parse_status;
using base::varint_max;
using test::byte_list;
using test::emitted;
using test::from_hex;
using test::refuses_to_emit;
using test::to_hex;

parse_status read(byte_view body, frame_type type, stream_frame& f) {
  byte_reader in(body);
  return parse(in, type, f);
}
parse_errc code_of(std::string_view hex, frame_type type) {
  stream_frame f;
  return read(test::keep(from_hex(hex)), type, f).code;
}

TEST(frame_stream, reads_all_eight_forms) {  // RFC 9000 19.8
  for (frame_type type = frame_stream_first; type <= frame_stream_last; ++type) {
    const bool has_offset = (type & 4) != 0;
    const bool has_length = (type & 2) != 0;
    byte_list body = from_hex("4104");
    if (has_offset) body = test::join({body, from_hex("4400")});
    if (has_length) body = test::join({body, from_hex("02")});
    const std::size_t data_at = body.size();
    body = test::join({body, from_hex("616263")});
    byte_reader in(body);
    stream_frame f;
    ASSERT_TRUE(parse(in, type, f)) << type;
    EXPECT_EQ(f.stream_id, 260u);
    EXPECT_EQ(f.offset, has_offset ? 1024u : 0u);
    EXPECT_EQ(f.data.data(), body.data() + data_at) << "a slice, not a copy";
    EXPECT_EQ(f.data.size(), has_length ? 2u : 3u);
    EXPECT_EQ(in.remaining(), has_length ? 1u : 0u);
    EXPECT_EQ(f.fin, (type & 1) != 0);
    EXPECT_EQ(f.has_length, has_length);
    EXPECT_EQ(f.has_offset, has_offset);
    const byte_list again = emitted(f);
    EXPECT_EQ(again[0], type);
    EXPECT_EQ(to_hex(byte_view(again).subspan(1)), to_hex(byte_view(body).first(body.size() - in.remaining())));
  }
}

TEST(frame_stream, reads_empty_pieces) {
  stream_frame f;
  ASSERT_TRUE(read(test::keep(from_hex("04")), 0x09, f));
  EXPECT_TRUE(f.data.empty());
  EXPECT_TRUE(f.fin);
  ASSERT_TRUE(read(test::keep(from_hex("04 00")), 0x0b, f));
  EXPECT_TRUE(f.data.empty());
}

TEST(frame_stream, refuses_a_piece_that_would_end_beyond_the_largest_offset) {  // RFC 9000 19.8
  EXPECT_EQ(code_of("00 ffffffffffffffff 01 aa", 0x0e), parse_errc::bad_value);
  EXPECT_EQ(code_of("00 fffffffffffffffe 01 aa", 0x0e), parse_errc::ok);
  EXPECT_EQ(code_of("00 ffffffffffffffff 00", 0x0f), parse_errc::ok);
  EXPECT_EQ(code_of("00 ffffffffffffffff", 0x0d), parse_errc::ok);
  EXPECT_EQ(code_of("00 fffffffffffffffe aabb", 0x0c), parse_errc::bad_value);
  EXPECT_EQ(code_of("00 fffffffffffffffe aa", 0x0c), parse_errc::ok);
  EXPECT_EQ(code_of("00 c000000000000001 ffffffffffffffff aa", 0x0e), parse_errc::bad_value);
  EXPECT_EQ(code_of("00 00 ffffffffffffffff aa", 0x0e), parse_errc::truncated);
}

TEST(frame_stream, refuses_every_truncation_and_leaves_the_output_alone) {
  test::for_every_truncation(from_hex("4104 4400 03 616263"), [](byte_view body) {
    stream_frame f{.stream_id = 77};
    EXPECT_EQ(read(body, 0x0e, f).code, parse_errc::truncated);
    EXPECT_EQ(f.stream_id, 77u);
  });
  test::for_every_truncation(from_hex("4104 4400"), [](byte_view body) {
    stream_frame f;
    EXPECT_EQ(read(body, 0x0c, f).code, parse_errc::truncated);
  });
}

TEST(frame_stream, counts_the_bytes_of_other_segments_as_there) {
  const byte_list body = from_hex("04 05 6162");
  byte_reader two(body);
  stream_header h;
  EXPECT_EQ(parse(two, 0x0a, 2, h).code, parse_errc::truncated);
  byte_reader three(body);
  ASSERT_TRUE(parse(three, 0x0a, 3, h));
  EXPECT_EQ(h.size, 5u);
  EXPECT_EQ(three.offset(), 2u) << "in front of the data";
  byte_reader all(body);
  ASSERT_TRUE(parse(all, 0x08, 100, h));
  EXPECT_EQ(h.size, 103u);
}

TEST(frame_stream, is_written_as_the_published_benchmark_has_it) {
  const byte_list payload(256, 0x5A);
  const stream_frame f{.stream_id = 4, .data = payload, .has_offset = true};
  const byte_list out = emitted(f);
  EXPECT_EQ(out.size(), 261u);
  EXPECT_EQ(to_hex(byte_view(out).first(5)), "0e04004100");
}

TEST(frame_stream, leaves_out_an_offset_of_0_unless_told_otherwise) {
  EXPECT_EQ(to_hex(emitted(stream_frame{.stream_id = 4, .data = test::keep(from_hex("aa"))})), "0a0401aa");
  EXPECT_EQ(to_hex(emitted(stream_frame{.stream_id = 4, .has_offset = true})), "0e040000");
  EXPECT_EQ(to_hex(emitted(stream_frame{.stream_id = 4, .offset = 64, .fin = true, .has_length = false})), "0d044040");
}

TEST(frame_stream, writes_its_header_alone_for_data_that_stays_where_it_is) {
  EXPECT_EQ(to_hex(emitted(stream_header{.stream_id = 4, .offset = 70000, .size = 1200, .fin = true})),
            "0f048001117044b0");
  EXPECT_EQ(to_hex(emitted(stream_header{.stream_id = 4, .size = 1200, .has_length = false})), "0804");
}

TEST(frame_stream, is_not_written_beyond_the_largest_offset) {
  const byte_view one = test::keep(from_hex("aa"));
  EXPECT_TRUE(refuses_to_emit(stream_frame{.offset = varint_max, .data = one}));
  EXPECT_FALSE(refuses_to_emit(stream_frame{.offset = varint_max - 1, .data = one}));
  EXPECT_TRUE(refuses_to_emit(stream_header{.stream_id = varint_max + 1}));
  EXPECT_TRUE(refuses_to_emit(stream_header{.offset = varint_max + 1}));
  EXPECT_TRUE(refuses_to_emit(stream_header{.offset = 2, .size = varint_max - 1}));
}

// Whatever the room: the frame fits, and not one byte more would have.
TEST(frame_stream, fills_a_room_of_any_size_as_far_as_it_can) {
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{63}, std::uint64_t{20000}})
    for (const std::uint64_t available : {1u, 2u, 62u, 63u, 64u, 65u, 66u, 1200u, 16383u, 16384u, 16390u, 1000000u})
      for (std::size_t room = 0; room < 16500; room += room < 200 ? 1 : 61) {
        const stream_fit fit = fit_stream(room, 4, offset, available);
        const stream_header h{.stream_id = 4, .offset = offset, .size = fit.size, .has_length = fit.has_length};
        const std::size_t least = encoded_size(stream_header{.stream_id = 4, .offset = offset, .has_length = false});
        if (!fit.fits) {
          ASSERT_LE(room, least);
          continue;
        }
        ASSERT_GT(fit.size, 0u);
        ASSERT_LE(encoded_size(h) + fit.size, room);
        if (fit.size < available) {
          ASSERT_FALSE(fit.has_length);
          ASSERT_EQ(encoded_size(h) + fit.size, room);  // to the last byte
        }
        if (!fit.has_length) {
          // With it, less would have fitted.
          const stream_header with{.stream_id = 4, .offset = offset, .size = fit.size};
          ASSERT_GT(encoded_size(with) + fit.size, room);
        }
      }
}

TEST(frame_stream, fits_an_empty_piece_for_a_lone_fin) {
  EXPECT_FALSE(fit_stream(0, 4, 0, 0).fits);
  EXPECT_FALSE(fit_stream(1, 4, 0, 0).fits);
  const stream_fit last = fit_stream(2, 4, 0, 0);
  EXPECT_TRUE(last.fits);
  EXPECT_FALSE(last.has_length);
  EXPECT_TRUE(fit_stream(3, 4, 0, 0).fits);
  EXPECT_TRUE(fit_stream(3, 4, 0, 0).has_length);
}

TEST(frame_stream, offers_no_more_than_the_largest_offset_leaves) {
  const stream_fit fit = fit_stream(1200, 4, varint_max - 3, 100);
  EXPECT_TRUE(fit.fits);
  EXPECT_EQ(fit.size, 3u);
}

}  // namespace
}  // namespace millrace::quic::wire
