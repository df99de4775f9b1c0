#include "crypto/wiped.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>

#include "crypto/header_protection.hpp"

using namespace millrace;

TEST(wiped, leaves_zeros_where_its_value_was) {
  using secret = crypto::wiped<crypto::aead_key>;
  alignas(secret) std::array<std::uint8_t, sizeof(secret)> place;
  auto* const held = new (place.data()) secret;
  (*held)->schedule.fill(0x5a);
  held->~secret();
  // The bytes are looked at where they were, past the object's end: that is the point.
  asm volatile("" : : "r"(place.data()) : "memory");
  EXPECT_TRUE(std::all_of(place.begin(), place.end(), [](std::uint8_t b) { return b == 0; }));
}

TEST(wiped, clears_when_asked) {
  crypto::wiped<std::array<std::uint8_t, 32>> held;
  held->fill(0x77);
  held.clear();
  EXPECT_EQ(*held, (std::array<std::uint8_t, 32>{}));
}

TEST(wipe, clears_bytes_and_takes_none) {
  std::array<std::uint8_t, 5> bytes{1, 2, 3, 4, 5};
  crypto::wipe(base::byte_span(bytes).first(3));
  EXPECT_EQ(bytes, (std::array<std::uint8_t, 5>{0, 0, 0, 4, 5}));
  crypto::wipe({});
}
