#include "h3/qpack/integer.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/guard_page.hpp"

namespace {

using namespace millrace;
using namespace millrace::h3;
using base::progress;

std::vector<std::uint8_t> emitted(std::uint8_t high, unsigned prefix_bits, std::uint64_t value) {
  std::vector<std::uint8_t> out(qpack::integer_size(value, prefix_bits));
  EXPECT_EQ(qpack::emit_integer(out.data(), high, prefix_bits, value), out.data() + out.size());
  return out;
}

TEST(prefix_integer, is_what_rfc_7541_c_1_prints) {
  EXPECT_EQ(emitted(0, 5, 10), (std::vector<std::uint8_t>{0x0a}));
  EXPECT_EQ(emitted(0, 5, 1337), (std::vector<std::uint8_t>{0x1f, 0x9a, 0x0a}));
  EXPECT_EQ(emitted(0, 8, 42), (std::vector<std::uint8_t>{0x2a}));
}

TEST(prefix_integer, comes_back_whatever_prefix_and_value_and_needs_every_byte) {
  test::guard_page guard;
  for (unsigned bits = 1; bits <= 8; ++bits) {
    for (unsigned power = 0; power < 62; ++power) {
      for (const std::uint64_t value :
           {(std::uint64_t{1} << power) - 1, std::uint64_t{1} << power, qpack::max_integer}) {
        const auto high = static_cast<std::uint8_t>(0xFF << bits);
        const std::vector<std::uint8_t> wire = emitted(high, bits, value);
        ASSERT_LE(wire.size(), qpack::max_integer_size);
        EXPECT_EQ(wire[0] & high, high);
        std::uint64_t back = 7;
        for (std::size_t size = 0; size < wire.size(); ++size) {
          base::byte_reader cut(guard.place(base::byte_view(wire).first(size)));
          EXPECT_EQ(qpack::parse_integer(cut, bits, back), progress::need_more);
          EXPECT_EQ(cut.offset(), 0u);
          EXPECT_EQ(back, 7u);
        }
        base::byte_reader whole(guard.place(wire));
        ASSERT_EQ(qpack::parse_integer(whole, bits, back), progress::done);
        EXPECT_EQ(back, value);
        EXPECT_TRUE(whole.empty());
      }
    }
  }
}

TEST(prefix_integer, beyond_62_bits_is_malformed_and_not_taken) {
  std::vector<std::uint8_t> wire = emitted(0, 8, qpack::max_integer);
  ++wire[1];  // one more than the largest
  base::byte_reader in(wire);
  std::uint64_t value = 7;
  EXPECT_EQ(qpack::parse_integer(in, 8, value), progress::malformed);
  EXPECT_EQ(in.offset(), 0u);
  EXPECT_EQ(value, 7u);
}

TEST(prefix_integer, padded_with_groups_of_zero_ends_before_it_is_work) {
  std::vector<std::uint8_t> wire(4096, 0x80);
  wire[0] = 0xFF;
  for (std::size_t size = 1; size <= qpack::max_integer_size; ++size) {
    base::byte_reader in(base::byte_view(wire).first(size));
    std::uint64_t value = 0;
    EXPECT_EQ(qpack::parse_integer(in, 8, value), progress::need_more) << size;
  }
  base::byte_reader in(base::byte_view(wire).first(qpack::max_integer_size + 1));
  std::uint64_t value = 0;
  EXPECT_EQ(qpack::parse_integer(in, 8, value), progress::malformed);
}

}  // namespace
