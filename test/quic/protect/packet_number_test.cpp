#include "quic/protect/packet_number.hpp"

#include <gtest/gtest.h>

#include "support/seeded.hpp"

using namespace millrace;
using quic::protect::decode_packet_number;
using quic::protect::no_packet_number;
using quic::protect::packet_number_max;
using quic::protect::packet_number_size;

namespace {

// RFC 9000 17.1 in words: of all numbers with these low bits, the one closest to the next expected; the smaller when
// two are as close (A.3 keeps a candidate that is exactly half a window ahead).
std::uint64_t nearest(std::uint64_t largest, std::uint64_t truncated, unsigned size) {
  const std::uint64_t expected = largest + 1;
  const std::uint64_t window = std::uint64_t{1} << (8 * size);
  std::uint64_t best = truncated;
  std::uint64_t best_distance = ~std::uint64_t{0};
  const std::uint64_t from = expected / window < 3 ? 0 : expected / window - 3;
  for (std::uint64_t k = from; k < from + 8; ++k) {
    const std::uint64_t candidate = k * window + truncated;
    if (candidate > packet_number_max) break;
    const std::uint64_t distance = candidate > expected ? candidate - expected : expected - candidate;
    const bool tie_goes_up = distance == best_distance && candidate > expected;
    if (distance < best_distance || tie_goes_up) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace

TEST(packet_number, decodes_the_example_of_rfc_9000_a_3) {
  EXPECT_EQ(decode_packet_number(0xa82f30ea, 0x9b32, 2), 0xa82f9b32u);
}

TEST(packet_number, takes_the_first_numbers_of_a_space_as_they_are) {
  for (unsigned size = 1; size <= 4; ++size) {
    EXPECT_EQ(decode_packet_number(no_packet_number, 0, size), 0u);
    EXPECT_EQ(decode_packet_number(no_packet_number, 5, size), 5u);
    EXPECT_EQ(decode_packet_number(0, 1, size), 1u);
  }
  EXPECT_EQ(decode_packet_number(no_packet_number, 0xff, 1), 0xffu) << "nothing lies below zero";
}

TEST(packet_number, decodes_to_the_nearest_number_of_all) {
  test::seeded random(9000);
  for (unsigned size = 1; size <= 4; ++size) {
    const std::uint64_t window = std::uint64_t{1} << (8 * size);
    for (int i = 0; i < 20'000; ++i) {
      std::uint64_t largest = random.next() & packet_number_max;
      if (i % 3 == 0) largest = random.below(4 * window);
      if (i % 3 == 1) largest = packet_number_max - random.below(4 * window);
      const std::uint64_t truncated = random.next() & (window - 1);
      ASSERT_EQ(decode_packet_number(largest, truncated, size), nearest(largest, truncated, size))
          << std::hex << largest << ' ' << truncated << ' ' << size;
    }
  }
}

TEST(packet_number, needs_the_sizes_of_rfc_9000_a_2) {
  EXPECT_EQ(packet_number_size(0xac5c02, 0xabe8b3), 2u);
  EXPECT_EQ(packet_number_size(0xace8fe, 0xabe8b3), 3u);
  EXPECT_EQ(packet_number_size(0, no_packet_number), 1u);
  EXPECT_EQ(packet_number_size(126, no_packet_number), 1u);
  EXPECT_EQ(packet_number_size(127, no_packet_number), 2u) << "128 in flight are half of a byte, not less";
  EXPECT_EQ(packet_number_size(std::uint64_t{1} << 40, 0), 4u);
}

TEST(packet_number, written_in_that_size_it_comes_back_whatever_arrived_before) {
  test::seeded random(17);
  for (int i = 0; i < 50'000; ++i) {
    const std::uint64_t acked = random.next() & (packet_number_max >> 1);
    const std::uint64_t distance = 1 + random.below(std::size_t{1} << random.below(31));
    const std::uint64_t number = acked + distance;
    const unsigned size = packet_number_size(number, acked);
    const std::uint64_t truncated = number & ((std::uint64_t{1} << (8 * size)) - 1);
    // The receiver has at least what it acknowledged and at most all that was sent before.
    const std::uint64_t largest = acked + random.below(distance);
    ASSERT_EQ(decode_packet_number(largest, truncated, size), number) << std::hex << acked << ' ' << number;
  }
}
