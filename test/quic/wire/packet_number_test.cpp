#include "quic/wire/packet_number.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace millrace::quic::wire {
namespace {

TEST(packet_number, takes_the_sizes_of_the_rfc) {  // RFC 9000 A.2
  EXPECT_EQ(packet_number_size(0xac5c02, 0xabe8b3), 2u);
  EXPECT_EQ(packet_number_size(0xace8fe, 0xabe8b3), 3u);
}

TEST(packet_number, completes_the_number_of_the_rfc) {  // RFC 9000 A.3
  EXPECT_EQ(decode_packet_number(0xa82f30ea, 0x9b32, 2), 0xa82f9b32u);
}

TEST(packet_number, needs_a_byte_more_at_half_of_each_window) {
  const std::pair<std::uint64_t, std::size_t> steps[] = {
      {1, 1}, {128, 1}, {129, 2}, {32768, 2}, {32769, 3}, {8388608, 3}, {8388609, 4}, {2147483648, 4}, {2147483649, 0}};
  for (const auto& [distance, size] : steps) {
    EXPECT_EQ(packet_number_size(1000 + distance, 1000), size) << distance;
    EXPECT_EQ(packet_number_size(distance - 1, no_packet_number), size) << "first packets, " << distance;
  }
}

TEST(packet_number, starts_at_zero_before_anything_was_opened) {
  for (std::size_t size = 1; size <= 4; ++size) {
    EXPECT_EQ(decode_packet_number(no_packet_number, 0, size), 0u);
    EXPECT_EQ(decode_packet_number(no_packet_number, 5, size), 5u);
    EXPECT_EQ(decode_packet_number(0, 0, size), 0u);
  }
  EXPECT_EQ(decode_packet_number(no_packet_number, 0xff, 1), 0xffu);
}

TEST(packet_number, never_leaves_the_range_of_packet_numbers) {
  EXPECT_EQ(decode_packet_number(max_packet_number, 0xff, 1), max_packet_number);
  EXPECT_EQ(decode_packet_number(max_packet_number - 1, 0x00, 1), max_packet_number - 0xff);
  EXPECT_EQ(decode_packet_number(0, 0xffffffff, 4), 0xffffffffu);
}

TEST(packet_number, comes_back_whole_from_the_size_that_was_chosen_for_it) {
  std::mt19937_64 random(9000);
  for (int round = 0; round < 200000; ++round) {
    const std::uint64_t acked = random() >> (2 + random() % 60);
    const std::uint64_t distance = 1 + (random() >> (33 + random() % 31));
    const std::uint64_t number = acked + distance;
    if (number > max_packet_number) continue;
    const std::size_t size = packet_number_size(number, acked);
    ASSERT_NE(size, 0u);
    const std::uint64_t truncated = number & ((std::uint64_t{1} << (8 * size)) - 1);
    // The receiver has opened something between what was acknowledged and what was sent before.
    const std::uint64_t opened = acked + random() % distance;
    ASSERT_EQ(decode_packet_number(opened, truncated, size), number) << acked << ' ' << opened;
  }
}

TEST(packet_number, is_written_and_read_in_as_many_bytes_as_there_are) {
  const std::uint64_t number = 0x11'2233'4455;
  std::array<std::uint8_t, 4> room{};
  for (std::size_t size = 1; size <= 4; ++size) {
    const base::byte_span field = base::byte_span(room).first(size);
    put_packet_number(field, number);
    EXPECT_EQ(read_packet_number(field), number & ((std::uint64_t{1} << (8 * size)) - 1));
    EXPECT_EQ(room[size - 1], 0x55);
    EXPECT_EQ(decode_packet_number(number - 1, read_packet_number(field), size), number);
  }
}

}  // namespace
}  // namespace millrace::quic::wire
