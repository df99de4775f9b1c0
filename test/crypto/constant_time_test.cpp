#include "crypto/constant_time.hpp"

#include <gtest/gtest.h>

#include <vector>

using namespace millrace;

TEST(equal_secret, tells_equal_from_unequal_at_every_byte_and_bit) {
  for (std::size_t size = 0; size <= 40; ++size) {
    const std::vector<std::uint8_t> a(size, 0xa5);
    std::vector<std::uint8_t> b = a;
    EXPECT_TRUE(crypto::equal_secret(a, b));
    for (std::size_t i = 0; i < size; ++i) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        b[i] = static_cast<std::uint8_t>(b[i] ^ (1u << bit));
        EXPECT_FALSE(crypto::equal_secret(a, b)) << i << ' ' << bit;
        b[i] = a[i];
      }
    }
  }
}

TEST(equal_secret, takes_different_sizes_for_unequal) {
  const std::vector<std::uint8_t> a(16, 0);
  EXPECT_FALSE(crypto::equal_secret(a, base::byte_view(a).first(15)));
  EXPECT_FALSE(crypto::equal_secret({}, a));
}
