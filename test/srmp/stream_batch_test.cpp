#include "srmp/stream_batch.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/plain_pool.hpp"

namespace millrace::srmp {
namespace {

std::vector<std::uint8_t> all_of(const buf::pipe& p) {
  std::vector<std::uint8_t> out(p.size());
  EXPECT_EQ(p.data().copy_out(0, out), out.size());
  return out;
}

TEST(stream_batch, lays_frames_where_they_are_sent_from_and_spills_what_fits_no_block) {
  test::plain_pool pool(64, 256);
  buf::pipe out({}, pool);
  std::vector<std::uint8_t> spill(stream_batch::spill_bytes);
  stream_batch b(out, pool.data_room(), spill);
  std::vector<std::uint8_t> expected;
  std::uint8_t seq = 0;
  for (const std::size_t size : {0, 1, 100, 252, 253, 1000, 3}) {
    const base::byte_span room = b.claim(size);
    ASSERT_EQ(room.size(), size);
    for (std::size_t i = 0; i < size; ++i) room[i] = static_cast<std::uint8_t>(i);
    ++seq;
    EXPECT_TRUE(b.commit(0x81, seq, size));
    expected.insert(expected.end(), {0x81, seq, static_cast<std::uint8_t>(size), static_cast<std::uint8_t>(size >> 8)});
    for (std::size_t i = 0; i < size; ++i) expected.push_back(static_cast<std::uint8_t>(i));
  }
  const base::byte_span any = b.claim_any();
  ASSERT_EQ(any.size(), wire::max_short_payload);
  any[0] = 9;
  EXPECT_TRUE(b.commit(0x81, 77, 1));
  expected.insert(expected.end(), {0x81, 77, 1, 0, 9});
  EXPECT_EQ(all_of(out), expected);
  EXPECT_EQ(b.frames(), 8u);
}

TEST(stream_batch, says_why_a_frame_does_not_go) {
  test::plain_pool pool(1, 256);
  buf::pipe out({}, pool);
  std::vector<std::uint8_t> spill(stream_batch::spill_bytes);
  stream_batch b(out, pool.data_room(), spill);
  EXPECT_EQ(b.claim(wire::max_short_payload + 1).data(), nullptr);
  EXPECT_EQ(b.lost(), lost_frame::too_large);
  EXPECT_FALSE(b.lost_memory());
  EXPECT_FALSE(b.commit(0x81, 1, 0)) << "nothing is claimed";
  ASSERT_EQ(b.claim(1000).size(), 1000u);
  EXPECT_FALSE(b.commit(0x81, 1, 1000)) << "four blocks, and there is one";
  EXPECT_TRUE(b.lost_memory());
  EXPECT_EQ(out.size(), 0u) << "nothing of it is sent";
}

}  // namespace
}  // namespace millrace::srmp
