#include "inspect/crypto_reassembly.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace millrace::inspect {
namespace {

std::vector<std::uint8_t> pattern(std::size_t size) {
  std::vector<std::uint8_t> out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(i * 31 + (i >> 8) * 7);
  return out;
}

struct store {
  limits l;
  std::vector<std::byte> memory;
  crypto_reassembly reassembly;
  crypto_stream stream{};
  std::vector<std::uint8_t> all = pattern(65'536);

  explicit store(std::uint32_t blocks = 64, std::uint32_t bytes = 65'536) {
    l.hello_blocks = blocks;
    l.hello_bytes = bytes;
    carver measure;
    (void)crypto_reassembly(measure, l);
    memory.resize(measure.bytes());
    carver carve{std::span(memory)};
    reassembly = crypto_reassembly(carve, l);
  }
  reassembly_errc add(std::uint32_t begin, std::uint32_t end) {
    return reassembly.add(stream, begin, base::byte_view(all).subspan(begin, end - begin));
  }
  std::vector<std::uint8_t> out(std::uint32_t size) const {
    std::vector<std::uint8_t> copy(size);
    reassembly.copy_out(stream, size, copy.data());
    return copy;
  }
  bool is_right(std::uint32_t size) const {
    return stream.prefix() == size && std::ranges::equal(out(size), base::byte_view(all).first(size));
  }
};

TEST(crypto_reassembly, takes_frames_in_order) {
  store s;
  EXPECT_EQ(s.add(0, 100), reassembly_errc::ok);
  EXPECT_EQ(s.add(100, 300), reassembly_errc::ok);
  EXPECT_TRUE(s.is_right(300));
  EXPECT_EQ(s.stream.range_count, 1u);
}

TEST(crypto_reassembly, waits_for_the_hole_to_close) {
  store s;
  EXPECT_EQ(s.add(200, 300), reassembly_errc::ok);
  EXPECT_EQ(s.stream.prefix(), 0u);
  EXPECT_EQ(s.add(0, 100), reassembly_errc::ok);
  EXPECT_EQ(s.stream.prefix(), 100u);
  EXPECT_EQ(s.add(100, 200), reassembly_errc::ok);
  EXPECT_TRUE(s.is_right(300));
}

TEST(crypto_reassembly, gives_the_same_bytes_in_every_order_of_six_frames) {
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> frames = {{0, 50},      {40, 2100},   {2100, 2101},
                                                                       {2090, 4096}, {4096, 5000}, {4999, 5001}};
  std::vector<std::size_t> order = {0, 1, 2, 3, 4, 5};
  do {
    store s;
    for (const std::size_t i : order) ASSERT_EQ(s.add(frames[i].first, frames[i].second), reassembly_errc::ok);
    ASSERT_TRUE(s.is_right(5001));
    ASSERT_EQ(s.stream.range_count, 1u);
  } while (std::ranges::next_permutation(order).found);
}

TEST(crypto_reassembly, accepts_duplicates_and_overlaps_that_agree) {
  store s;
  EXPECT_EQ(s.add(10, 20), reassembly_errc::ok);
  EXPECT_EQ(s.add(10, 20), reassembly_errc::ok);
  EXPECT_EQ(s.add(5, 25), reassembly_errc::ok);
  EXPECT_EQ(s.add(0, 5), reassembly_errc::ok);
  EXPECT_TRUE(s.is_right(25));
}

TEST(crypto_reassembly, refuses_an_overlap_that_contradicts_and_keeps_what_came_first) {
  store s;
  ASSERT_EQ(s.add(0, 100), reassembly_errc::ok);
  std::vector<std::uint8_t> lie(s.all.begin() + 50, s.all.begin() + 150);
  lie[49] ^= 1;  // the last byte that is there already
  EXPECT_EQ(s.reassembly.add(s.stream, 50, lie), reassembly_errc::conflict);
  EXPECT_TRUE(s.is_right(100));
  EXPECT_EQ(s.add(50, 150), reassembly_errc::ok);
  EXPECT_TRUE(s.is_right(150));
}

TEST(crypto_reassembly, sees_a_contradiction_across_blocks_and_holes) {
  store s;
  ASSERT_EQ(s.add(0, 10), reassembly_errc::ok);
  ASSERT_EQ(s.add(4000, 4200), reassembly_errc::ok);
  std::vector<std::uint8_t> lie(s.all.begin(), s.all.begin() + 4200);
  lie[4150] ^= 0x80;
  EXPECT_EQ(s.reassembly.add(s.stream, 0, lie), reassembly_errc::conflict);
  EXPECT_EQ(s.stream.range_count, 2u);
  EXPECT_EQ(s.add(0, 4200), reassembly_errc::ok);
  EXPECT_TRUE(s.is_right(4200));
}

TEST(crypto_reassembly, refuses_offsets_beyond_what_is_kept) {
  store s(64, 4096);
  const std::vector<std::uint8_t> byte = {1};
  EXPECT_EQ(s.reassembly.add(s.stream, 4095, byte), reassembly_errc::ok);
  EXPECT_EQ(s.reassembly.add(s.stream, 4096, byte), reassembly_errc::too_far);
  EXPECT_EQ(s.reassembly.add(s.stream, (std::uint64_t{1} << 62) - 1, byte), reassembly_errc::too_far);
  EXPECT_EQ(s.reassembly.add(s.stream, ~std::uint64_t{0}, byte), reassembly_errc::too_far);
  EXPECT_EQ(s.add(4000, 4097), reassembly_errc::too_far);
  EXPECT_EQ(s.reassembly.blocks_in_use(), 1u);
}

TEST(crypto_reassembly, takes_an_empty_frame_for_nothing) {
  store s;
  EXPECT_EQ(s.add(77, 77), reassembly_errc::ok);
  EXPECT_EQ(s.stream.range_count, 0u);
  EXPECT_EQ(s.reassembly.blocks_in_use(), 0u);
}

TEST(crypto_reassembly, holds_a_stream_to_its_ranges) {
  store s;
  for (std::uint32_t i = 0; i < max_hello_ranges; ++i) ASSERT_EQ(s.add(4 * i, 4 * i + 1), reassembly_errc::ok);
  EXPECT_EQ(s.add(4 * max_hello_ranges, 4 * max_hello_ranges + 1), reassembly_errc::full);
  EXPECT_EQ(s.stream.range_count, max_hello_ranges);
  EXPECT_EQ(s.add(1, 4), reassembly_errc::ok) << "closing a hole needs no new range";
  EXPECT_EQ(s.add(0, 4 * max_hello_ranges), reassembly_errc::ok);
  EXPECT_TRUE(s.is_right(4 * max_hello_ranges));
}

TEST(crypto_reassembly, says_full_when_no_block_is_left_and_changes_nothing) {
  store s(2);
  ASSERT_EQ(s.add(0, 1), reassembly_errc::ok);
  EXPECT_EQ(s.add(100, 6000), reassembly_errc::full);
  EXPECT_EQ(s.stream.range_count, 1u);
  EXPECT_EQ(s.reassembly.blocks_in_use(), 1u);
  EXPECT_EQ(s.add(1, 4096), reassembly_errc::ok);
  EXPECT_TRUE(s.is_right(4096));
}

TEST(crypto_reassembly, gives_blocks_back_for_other_streams) {
  store s(2);
  ASSERT_EQ(s.add(0, 4096), reassembly_errc::ok);
  s.reassembly.release(s.stream);
  EXPECT_EQ(s.reassembly.blocks_in_use(), 0u);
  EXPECT_EQ(s.stream.prefix(), 0u);
  crypto_stream other{};
  EXPECT_EQ(s.reassembly.add(other, 0, base::byte_view(s.all).first(4096)), reassembly_errc::ok);
}

TEST(crypto_reassembly, takes_a_whole_stream_of_64_kib_byte_by_byte_from_both_ends) {
  store s;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(s.add(i, i + 1), reassembly_errc::ok);
    ASSERT_EQ(s.add(65'535 - i, 65'536 - i), reassembly_errc::ok);
    ASSERT_LE(s.stream.range_count, 2u);
  }
  EXPECT_EQ(s.add(1000, 64'536), reassembly_errc::ok);
  EXPECT_TRUE(s.is_right(65'536));
}

}  // namespace
}  // namespace millrace::inspect
