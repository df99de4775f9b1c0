#include "ws/wire/mask.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/guard_page.hpp"
#include "support/seeded.hpp"

namespace millrace::ws::wire {
namespace {

// RFC 6455 5.3, a byte at a time.
void mask_by_the_book(base::byte_span bytes, std::uint32_t key, unsigned phase) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(bytes[i] ^ key >> (8 * ((i + phase) & 3)));
}

TEST(ws_mask, unmasks_the_vectors) {
  auto w2 = test::from_hex("10 23 37 44 5E 52 56 2A");
  mask(w2, 0x44332211);
  EXPECT_EQ(test::to_hex(w2), "010104004f70656e");
  auto rfc = test::from_hex("7f 9f 4d 51 58");  // RFC 6455 5.7
  mask(rfc, 0x3d21fa37);
  EXPECT_EQ(base::as_text(rfc), "Hello");
}

TEST(ws_mask, agrees_with_the_book_for_every_size_phase_and_alignment) {
  test::seeded random(61);
  test::guard_page guard(600);
  for (std::size_t size = 0; size < 400; ++size) {
    for (unsigned phase = 0; phase < 4; ++phase) {
      const auto bytes = random.bytes(size);
      const auto key = static_cast<std::uint32_t>(random.next());
      test::byte_list expected = bytes;
      mask_by_the_book(expected, key, phase);
      const base::byte_span copy = guard.place(bytes);
      EXPECT_EQ(mask(copy, key, phase), (phase + size) & 3);
      ASSERT_TRUE(std::equal(copy.begin(), copy.end(), expected.begin())) << size << " bytes, phase " << phase;
    }
  }
}

TEST(ws_mask, touches_no_byte_outside) {
  for (std::size_t size = 0; size < 200; ++size) {
    test::byte_list all(size + 64, 0xEE);
    mask(base::byte_span(all).subspan(32, size), 0xFFFF'FFFF, 0);
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_EQ(all[i], i < 32 || i >= 32 + size ? 0xEE : 0x11) << size << " at " << i;
  }
}

TEST(ws_mask, gives_the_same_in_one_piece_and_in_many) {
  test::seeded random(62);
  for (int round = 0; round < 300; ++round) {
    test::byte_list whole = random.bytes(random.below(700));
    test::byte_list cut = whole;
    const auto key = static_cast<std::uint32_t>(random.next());
    std::vector<base::byte_span> parts;
    for (base::byte_span left(cut); !left.empty();) {
      const std::size_t take = random.below(std::min<std::size_t>(left.size(), 90) + 1);
      parts.push_back(left.first(take));
      left = left.subspan(take);
    }
    EXPECT_EQ(mask(parts, key), mask(whole, key, 0));
    ASSERT_EQ(cut, whole) << "seed 62 round " << round;
  }
}

}  // namespace
}  // namespace millrace::ws::wire
