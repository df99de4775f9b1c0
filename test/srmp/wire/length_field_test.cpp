#include "srmp/wire/length_field.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/guard_page.hpp"
#include "support/hostile.hpp"
#include "support/seeded.hpp"

namespace millrace::srmp::wire {
namespace {

using base::progress;
using test::from_hex;

constexpr std::uint32_t ceiling = 16u << 20;

length_format of(int size, std::size_t offset = 0) {
  const auto made = length_format::make(size, offset);
  EXPECT_TRUE(made.has_value()) << size << " at " << offset;
  return made.value_or(length_format{});
}

length_header expect_length(std::string_view text, length_format format) {
  length_header out;
  EXPECT_EQ(parse_length_field(from_hex(text), format, ceiling, out).outcome, progress::done) << text;
  return out;
}

unsigned needed(std::string_view text, length_format format) {
  length_header out;
  const length_result got = parse_length_field(from_hex(text), format, ceiling, out);
  EXPECT_EQ(got.outcome, progress::need_more) << text;
  return got.need;
}

length_errc reason(std::string_view text, length_format format, std::uint32_t most = ceiling) {
  length_header out{7, 7};
  const length_result got = parse_length_field(from_hex(text), format, most, out);
  EXPECT_EQ(got.outcome, progress::malformed) << text;
  EXPECT_EQ(out, (length_header{7, 7})) << text;
  return got.why;
}

std::string emitted(length_format format, std::uint32_t size) {
  test::guard_page guard(max_length_header);
  const base::byte_span room = guard.room(length_header_size(format, size));
  EXPECT_EQ(emit_length_field(room, format, size), room.size());
  if (!room.empty()) {
    EXPECT_EQ(emit_length_field(room.first(room.size() - 1), format, size), 0u);
  }
  return test::to_hex(room);
}

TEST(length_field, reads_and_writes_the_reference_vectors) {  // L1
  EXPECT_EQ(expect_length("02 00 68 69", of(2)), (length_header{2, 2}));
  EXPECT_EQ(expect_length("00 02 68 69", of(-2)), (length_header{2, 2}));
  EXPECT_EQ(expect_length("C8 01", of(0)), (length_header{200, 2}));
  EXPECT_EQ(emitted(of(2), 2), "0200");
  EXPECT_EQ(emitted(of(-2), 2), "0002");
  EXPECT_EQ(emitted(of(0), 200), "c801");
}

TEST(length_field, waits_for_a_length_that_is_cut) {  // L2
  EXPECT_EQ(needed("02", of(2)), 2u);
  EXPECT_EQ(needed("", of(1)), 1u);
  EXPECT_EQ(needed("00 00 01", of(-4)), 4u);
  EXPECT_EQ(needed("C8", of(0)), 2u);
  EXPECT_EQ(needed("80 80 80 80", of(0)), 5u);
  EXPECT_EQ(needed("00 00", of(2, 3)), 5u);
  EXPECT_EQ(needed("", of(0, 3)), 4u);
}

TEST(length_field, reads_every_width_in_both_orders_behind_its_offset) {
  EXPECT_EQ(expect_length("FE", of(1)), (length_header{254, 1}));
  EXPECT_EQ(expect_length("FE", of(-1)), (length_header{254, 1}));
  EXPECT_EQ(expect_length("01 02 03 00", of(4)), (length_header{0x030201, 4}));
  EXPECT_EQ(expect_length("00 03 02 01", of(-4)), (length_header{0x030201, 4}));
  EXPECT_EQ(expect_length("AA BB 01 02", of(-2, 2)), (length_header{0x0102, 4}));
  EXPECT_EQ(expect_length("AA 80 00", of(0, 1)), (length_header{0, 3})) << "a longer varint than needed is read";
  EXPECT_EQ(emitted(of(4, 2), 0x030201), "000001020300");
  EXPECT_EQ(emitted(of(-4), 0x030201), "00030201");
  EXPECT_EQ(emitted(of(0, 1), 127), "007f");
  EXPECT_EQ(emitted(of(0), max_length_payload), "ffffffff07");
}

TEST(length_field, refuses_what_cannot_be_and_what_is_above_the_ceiling) {
  EXPECT_EQ(reason("00 00 00 80", of(4)), length_errc::negative_length);
  EXPECT_EQ(reason("FF FF FF FF", of(-4)), length_errc::negative_length);
  EXPECT_EQ(reason("01 00 00 01", of(4)), length_errc::too_large);
  EXPECT_EQ(expect_length("00 00 00 01", of(4)).payload_size, ceiling);
  EXPECT_EQ(reason("65", of(1), 100), length_errc::too_large);
  EXPECT_EQ(reason("80 80 80 80 80", of(0)), length_errc::bad_varint);
  EXPECT_EQ(reason("FF FF FF FF 08", of(0)), length_errc::bad_varint);
  EXPECT_EQ(reason("FF FF FF FF 07", of(0)), length_errc::too_large);
}

TEST(length_field, writes_no_length_its_form_cannot_say) {
  std::uint8_t room[8];
  EXPECT_EQ(emit_length_field(room, of(1), 256), 0u);
  EXPECT_EQ(emit_length_field(room, of(-2), 65536), 0u);
  EXPECT_EQ(emit_length_field(room, of(4), 0x8000'0000), 0u);
  EXPECT_EQ(emit_length_field(room, of(0), 0x8000'0000), 0u);
}

TEST(length_field, knows_no_other_form) {
  for (const int size : {3, -3, 5, 8, -8}) EXPECT_FALSE(length_format::make(size).has_value()) << size;
  EXPECT_FALSE(length_format::make(2, max_length_offset + 1).has_value());
  EXPECT_TRUE(length_format::make(2, max_length_offset).has_value());
}

TEST(length_field, reads_back_what_it_writes_however_it_is_cut) {
  test::seeded random(31);
  for (int round = 0; round < 3000; ++round) {
    const int sizes[] = {0, 1, 2, 4, -1, -2, -4};
    const length_format format = of(sizes[random.below(7)], random.below(max_length_offset + 1));
    const auto size = static_cast<std::uint32_t>(random.next() >> (33 + random.below(31))) &
                      std::min(format.max_payload(), max_length_payload);
    std::uint8_t room[max_length_header];
    const std::size_t used = emit_length_field(room, format, size);
    ASSERT_EQ(used, length_header_size(format, size));
    const base::byte_view whole = base::byte_view(room).first(used);
    length_header flat;
    ASSERT_EQ(parse_length_field(whole, format, max_length_payload, flat).outcome, progress::done);
    EXPECT_EQ(flat, (length_header{size, static_cast<std::uint32_t>(used)}));
    const std::size_t a = random.below(used + 1);
    const std::size_t b = a + random.below(used - a + 1);
    const base::byte_view parts[] = {whole.first(a), whole.subspan(a, b - a), {}, whole.subspan(b)};
    length_header cut;
    ASSERT_EQ(parse_length_field(base::segments(parts), 0, format, max_length_payload, cut).outcome, progress::done);
    EXPECT_EQ(cut, flat);
    if (round >= 40) continue;  // truncations map pages: enough of them
    test::for_every_truncation(whole, [&](base::byte_view less) {
      length_header none;
      const length_result got = parse_length_field(less, format, max_length_payload, none);
      EXPECT_EQ(got.outcome, progress::need_more);
      EXPECT_GT(got.need, less.size());
      EXPECT_LE(got.need, used);
    });
  }
}

TEST(length_field, survives_every_changed_byte) {
  for (const int size : {0, 4, -4, 2, 1}) {
    test::for_every_byte_change(from_hex("00 C8 81 82 03 04"), [&](base::byte_view changed) {
      length_header out;
      const length_result got = parse_length_field(changed, of(size, 1), ceiling, out);
      if (got.outcome == progress::done) {
        EXPECT_LE(out.payload_size, ceiling);
      }
      EXPECT_EQ(got.outcome == progress::malformed, got.why != length_errc::ok) << to_string(got.why);
    });
  }
}

}  // namespace
}  // namespace millrace::srmp::wire
