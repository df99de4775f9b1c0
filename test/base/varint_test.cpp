#include "base/varint.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace millrace::base {
namespace {

struct sample {
  std::vector<std::uint8_t> bytes;
  std::uint64_t value;
};

// RFC 9000 A.1
const std::vector<sample> rfc_samples = {{{0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c}, 151288809941952652ull},
                                         {{0x9d, 0x7f, 0x3e, 0x7d}, 494878333},
                                         {{0x7b, 0xbd}, 15293},
                                         {{0x25}, 37},
                                         {{0x40, 0x25}, 37}};

TEST(varint, decodes_the_samples_of_the_rfc) {
  for (const sample& s : rfc_samples) {
    std::uint64_t value{};
    EXPECT_EQ(decode_varint(s.bytes, value), s.bytes.size());
    EXPECT_EQ(value, s.value);
  }
}

TEST(varint, refuses_every_truncation) {
  for (const sample& s : rfc_samples)
    for (std::size_t size = 0; size < s.bytes.size(); ++size) {
      std::uint64_t value = 42;
      EXPECT_EQ(decode_varint(byte_view(s.bytes).first(size), value), 0u);
      EXPECT_EQ(value, 42u);
    }
}

TEST(varint, round_trips_at_every_boundary_in_the_shortest_form) {
  for (const std::uint64_t edge : {0ull, 0x3Full, 0x40ull, 0x3FFFull, 0x4000ull, 0x3FFF'FFFFull, 0x4000'0000ull,
                                   static_cast<unsigned long long>(varint_max)}) {
    std::array<std::uint8_t, max_varint_size> room{};
    const std::size_t size = encode_varint(room.data(), edge);
    EXPECT_EQ(size, varint_size(edge));
    std::uint64_t value{};
    EXPECT_EQ(decode_varint(room, value), size);
    EXPECT_EQ(value, edge);
  }
  EXPECT_EQ(varint_size(0x3F), 1u);
  EXPECT_EQ(varint_size(0x40), 2u);
  EXPECT_EQ(varint_size(0x4000), 4u);
  EXPECT_EQ(varint_size(0x4000'0000), 8u);
}

}  // namespace
}  // namespace millrace::base
