#include "pipeline/frame_set.hpp"

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

TEST(frame_set, keeps_frames_of_any_size_in_order) {
  frame_set frames;
  EXPECT_TRUE(frames.empty());
  for (const std::size_t size : {std::size_t{60}, std::size_t{1}, max_frame_bytes, std::size_t{1514}}) {
    const std::vector<std::uint8_t> bytes(size, static_cast<std::uint8_t>(size));
    ASSERT_TRUE(frames.add(bytes));
  }
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_EQ(frames.largest(), max_frame_bytes);
  EXPECT_EQ(frames[0].size(), 60u);
  EXPECT_EQ(frames[1].size(), 1u);
  EXPECT_EQ(frames[3].size(), 1514u);
  EXPECT_EQ(frames[3][1513], static_cast<std::uint8_t>(1514));
  EXPECT_EQ(frames[0][59], 60);
}

TEST(frame_set, refuses_frames_that_no_buffer_holds) {
  frame_set frames;
  EXPECT_FALSE(frames.add({}));
  EXPECT_FALSE(frames.add(std::vector<std::uint8_t>(max_frame_bytes + 1)));
  EXPECT_TRUE(frames.empty());
}

}  // namespace
}  // namespace millrace::pipeline
