#include "quic/path/cid_codec.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "support/bytes.hpp"
#include "support/seeded.hpp"

namespace millrace::quic::path {
namespace {

using test::seeded;

cid_codec codec_of(std::uint8_t first) {
  std::array<std::uint8_t, cid_key_size> key{};
  for (std::uint8_t& byte : key) byte = first++;
  return cid_codec(key);
}

TEST(connection_id, equals_another_of_the_same_bytes_and_size_only) {
  const std::array<std::uint8_t, 4> bytes{1, 2, 3, 0};
  const connection_id id = connection_id::of(bytes);
  EXPECT_EQ(id, connection_id::of(bytes));
  EXPECT_TRUE(id.is(bytes));
  EXPECT_NE(id, connection_id::of(base::byte_view(bytes).first(3)));  // the byte behind is zero in both
  EXPECT_FALSE(id.is(base::byte_view(bytes).first(3)));
  EXPECT_TRUE(connection_id{}.empty());
  EXPECT_TRUE(connection_id{}.is({}));
}

TEST(connection_id, holds_every_size_a_packet_may_carry) {  // RFC 9000 17.2
  seeded random(1);
  for (std::size_t size = 0; size <= wire::max_cid_size; ++size) {
    const std::vector<std::uint8_t> bytes = random.bytes(size);
    const connection_id id = connection_id::of(bytes);
    EXPECT_EQ(id.size, size);
    EXPECT_EQ(test::to_hex(id.view()), test::to_hex(bytes));
  }
}

TEST(cid_codec, reads_what_it_wrote) {
  const cid_codec codec = codec_of(1);
  seeded random(2);
  for (int i = 0; i < 20'000; ++i) {
    const cid_fields in{{static_cast<std::uint8_t>(random.next()), static_cast<std::uint8_t>(random.next())},
                        random.next() & max_cid_serial};
    const connection_id id = codec.encode(in);
    ASSERT_EQ(id.size, local_cid_size);
    ASSERT_EQ(codec.decode(id.view()), in);
  }
  for (const std::uint64_t serial : {std::uint64_t{0}, max_cid_serial}) {
    const cid_fields in{{255, 255}, serial};
    EXPECT_EQ(codec.decode(codec.encode(in).view()), in);
  }
}

TEST(cid_codec, is_a_permutation_any_eight_bytes_have_an_owner) {
  const cid_codec codec = codec_of(7);
  seeded random(3);
  for (int i = 0; i < 20'000; ++i) {
    const std::vector<std::uint8_t> strange = random.bytes(local_cid_size);
    const std::optional<cid_fields> read = codec.decode(strange);
    ASSERT_TRUE(read.has_value());
    ASSERT_LE(read->serial, max_cid_serial);
    ASSERT_EQ(test::to_hex(codec.encode(*read).view()), test::to_hex(strange));
  }
}

TEST(cid_codec, refuses_other_sizes) {
  const cid_codec codec = codec_of(1);
  const std::vector<std::uint8_t> bytes(20);
  for (std::size_t size = 0; size <= bytes.size(); ++size)
    EXPECT_EQ(codec.decode(base::byte_view(bytes).first(size)).has_value(), size == local_cid_size);
}

TEST(cid_codec, shows_nothing_of_order_or_owner) {  // RFC 9000 5.1
  const cid_codec codec = codec_of(9);
  std::set<std::string> seen;
  std::array<int, 64> ones{};
  std::uint64_t flips = 0;
  constexpr int count = 4096;
  for (int i = 0; i < count; ++i) {
    const connection_id id = codec.encode({{1, 2}, static_cast<std::uint64_t>(i)});
    const connection_id next = codec.encode({{1, 2}, static_cast<std::uint64_t>(i) + 1});
    EXPECT_TRUE(seen.insert(test::to_hex(id.view())).second);
    for (std::size_t bit = 0; bit < 64; ++bit) ones[bit] += id.octets[bit / 8] >> (bit % 8) & 1;
    for (std::size_t byte = 0; byte < 8; ++byte)
      flips += static_cast<std::uint64_t>(std::popcount(static_cast<unsigned>(id.octets[byte] ^ next.octets[byte])));
  }
  // Fair bits: 2048 of 4096, standard deviation 32; six of them is chance no more.
  for (const int n : ones) EXPECT_NEAR(n, count / 2, 6 * 32);
  EXPECT_NEAR(static_cast<double>(flips) / count, 32, 1);
}

TEST(cid_codec, changes_half_the_bits_with_any_bit_of_the_fields) {
  const cid_codec codec = codec_of(11);
  for (unsigned bit = 0; bit < 64; ++bit) {
    int flips = 0;
    for (std::uint64_t serial = 0; serial < 64; ++serial) {
      cid_fields a{{3, 4}, serial};
      cid_fields b = a;
      if (bit < 48)
        b.serial ^= std::uint64_t{1} << bit;
      else if (bit < 56)
        b.owner.lcore = static_cast<std::uint8_t>(b.owner.lcore ^ 1u << (bit - 48));
      else
        b.owner.instance = static_cast<std::uint8_t>(b.owner.instance ^ 1u << (bit - 56));
      const connection_id of_a = codec.encode(a);
      const connection_id of_b = codec.encode(b);
      for (std::size_t i = 0; i < 8; ++i)
        flips += std::popcount(static_cast<unsigned>(of_a.octets[i] ^ of_b.octets[i]));
    }
    EXPECT_NEAR(flips / 64.0, 32, 3.5) << bit;  // the mean's standard deviation is a half
  }
}

TEST(cid_codec, reads_nothing_under_another_key) {
  const cid_codec ours = codec_of(1);
  int same_owner = 0;
  for (unsigned bit = 0; bit < 128; ++bit) {
    std::array<std::uint8_t, cid_key_size> key{};
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(1 + i);
    key[bit / 8] = static_cast<std::uint8_t>(key[bit / 8] ^ 1u << (bit % 8));
    const cid_codec other{std::span<const std::uint8_t, cid_key_size>(key)};
    const cid_fields in{{5, 6}, 77};
    const std::optional<cid_fields> read = other.decode(ours.encode(in).view());
    ASSERT_TRUE(read.has_value());
    EXPECT_NE(*read, in) << bit;
    if (read->owner == in.owner) ++same_owner;
  }
  EXPECT_LE(same_owner, 1);  // one in 65536
}

}  // namespace
}  // namespace millrace::quic::path
