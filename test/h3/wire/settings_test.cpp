#include "h3/wire/settings.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/hostile.hpp"

namespace millrace::h3::wire {
namespace {

using test::from_hex;

struct outcome {
  error why = error::no_error;
  settings_values values;
  friend bool operator==(const outcome&, const outcome&) = default;
};

outcome read(base::byte_view payload, std::size_t piece) {
  settings_reader r;
  outcome out;
  while (!payload.empty() && out.why == error::no_error) {
    const std::size_t n = std::min(piece, payload.size());
    out.why = r.take(payload.first(n), out.values);
    payload = payload.subspan(n);
  }
  if (out.why == error::no_error) out.why = r.end();
  return out;
}

error why(std::string_view hex) { return read(from_hex(hex), 1000).why; }

TEST(h3_settings, reads_what_it_knows_and_passes_over_the_rest) {
  const outcome got = read(from_hex("01 5000  06 8001 0000  07 10  08 01  33 01  21 7f00  4f2a 00"), 1000);
  EXPECT_EQ(got.why, error::no_error);
  settings_values want;
  want.qpack_max_table_capacity = 4096;
  want.max_field_section_size = 65'536;
  want.qpack_blocked_streams = 16;
  want.enable_connect_protocol = want.h3_datagram = true;
  EXPECT_EQ(got.values, want);
}

TEST(h3_settings, an_empty_frame_leaves_the_defaults) {
  const outcome got = read({}, 1);
  EXPECT_EQ(got, outcome{});
  EXPECT_EQ(got.values.max_field_section_size, base::varint_max);
}

TEST(h3_settings, refuses_a_setting_that_comes_twice) {
  EXPECT_EQ(why("01 00 01 00"), error::settings_error);
  EXPECT_EQ(why("06 00 07 00 06 01"), error::settings_error);
  EXPECT_EQ(why("21 00 40 21"), error::frame_error);
  EXPECT_EQ(why("21 00 4021 01"), error::settings_error) << "the same number, written longer";
  EXPECT_EQ(why("08 01 08 01"), error::settings_error);
}

TEST(h3_settings, refuses_settings_of_http_2) {
  for (const char* hex : {"02 00", "03 01", "04 00", "05 01"}) EXPECT_EQ(why(hex), error::settings_error) << hex;
}

TEST(h3_settings, refuses_flags_that_are_neither_0_nor_1) {
  EXPECT_EQ(why("08 02"), error::settings_error);
  EXPECT_EQ(why("33 4040"), error::settings_error);
}

TEST(h3_settings, refuses_a_payload_that_ends_inside_a_setting) {
  EXPECT_EQ(why("01"), error::frame_error);
  EXPECT_EQ(why("01 00 07 40"), error::frame_error);
}

TEST(h3_settings, bounds_the_unknown_ones) {
  test::byte_list in;
  for (unsigned i = 0; i < most_unknown_settings; ++i)
    in = test::join({in, test::byte_list{static_cast<std::uint8_t>(0x10 + i), 0}});
  EXPECT_EQ(read(in, 1000).why, error::no_error);
  EXPECT_EQ(read(test::join({in, from_hex("39 00")}), 1000).why, error::excessive_load);
}

TEST(h3_settings, reads_in_pieces_what_it_reads_at_once) {
  const test::byte_list good = from_hex("01 5000  06 8001 0000  07 10  08 01  33 00  c000000000000055 1f");
  for (std::size_t piece = 1; piece < good.size(); ++piece) EXPECT_EQ(read(good, piece), read(good, 1000)) << piece;
  test::for_every_truncation(good, [](base::byte_view in) { EXPECT_EQ(read(in, 1).why, read(in, 1000).why); });
  test::for_every_byte_change(good, [](base::byte_view in) { EXPECT_EQ(read(in, 3), read(in, 1000)); });
}

TEST(h3_settings, writes_what_it_reads) {
  settings_values want;
  want.qpack_max_table_capacity = 65'536;
  want.max_field_section_size = 1u << 30;
  want.qpack_blocked_streams = 100;
  want.enable_connect_protocol = want.h3_datagram = true;
  for (const settings_values& v : {want, settings_values{}}) {
    std::array<std::uint8_t, max_settings_frame_size> room;
    const std::size_t size = emit_settings(room, v);
    ASSERT_NE(size, 0u);
    base::byte_view in = base::byte_view(room).first(size);
    pair_reader r;
    frame_header h;
    ASSERT_EQ(r.next(in, h), base::progress::done);
    EXPECT_EQ(h, header_of(frame_type::settings, in.size()));
    const outcome got = read(in, 1000);
    EXPECT_EQ(got.why, error::no_error);
    EXPECT_EQ(got.values, v);
    EXPECT_EQ(emit_settings(base::byte_span(room).first(size - 1), v), 0u);
  }
}

}  // namespace
}  // namespace millrace::h3::wire
