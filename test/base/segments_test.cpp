#include "base/segments.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace millrace::base {
namespace {

TEST(segments, read_the_same_bytes_however_they_are_cut) {
  std::vector<std::uint8_t> whole(64);
  for (std::size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<std::uint8_t>(i * 7);
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    const std::array<byte_view, 3> parts = {byte_view(whole).first(cut), byte_view{}, byte_view(whole).subspan(cut)};
    const segments all(parts);
    ASSERT_EQ(all.size(), whole.size());
    for (std::size_t from = 0; from <= whole.size(); ++from) {
      std::vector<std::uint8_t> out(whole.size() - from);
      ASSERT_EQ(all.copy_out(from, out), out.size());
      ASSERT_TRUE(std::equal(out.begin(), out.end(), whole.begin() + static_cast<std::ptrdiff_t>(from)));
    }
  }
}

TEST(segments, are_contiguous_only_inside_one_part) {
  const std::array<std::uint8_t, 4> a = {1, 2, 3, 4};
  const std::array<byte_view, 2> parts = {byte_view(a).first(2), byte_view(a).last(2)};
  const segments both(parts);
  EXPECT_EQ(both.contiguous(0, 2).size(), 2u);
  EXPECT_TRUE(both.contiguous(1, 2).empty());
  EXPECT_EQ(both.contiguous(2, 2)[0], 3);
  EXPECT_TRUE(both.contiguous(4, 1).empty());
}

TEST(segments, stop_at_the_end) {
  const std::array<std::uint8_t, 3> a = {1, 2, 3};
  const std::array<byte_view, 1> parts = {byte_view(a)};
  std::array<std::uint8_t, 8> out{};
  EXPECT_EQ(segments(parts).copy_out(1, out), 2u);
  EXPECT_EQ(segments(parts).copy_out(9, out), 0u);
}

}  // namespace
}  // namespace millrace::base
