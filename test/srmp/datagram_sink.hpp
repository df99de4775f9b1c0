// test/srmp/datagram_sink.hpp - a sink that keeps the datagrams it was given, in rooms that end at a guard page.
#pragma once

#include <vector>

#include "srmp/frame_batch.hpp"
#include "support/guard_page.hpp"

namespace millrace::srmp::test_support {

struct kept_datagrams {
  std::size_t room_bytes;
  std::size_t buffers = SIZE_MAX;  // how many more may be opened
  std::vector<std::vector<std::uint8_t>> sent;
  std::size_t unused = 0;  // opened and given back
  test::guard_page guard;
  base::byte_span opened;

  explicit kept_datagrams(std::size_t room) : room_bytes(room), guard(room + 1) {}

  base::byte_span open() noexcept {
    EXPECT_TRUE(opened.empty()) << "one at a time";
    if (buffers == 0) return {};
    --buffers;
    opened = guard.room(room_bytes);
    return opened;
  }
  void close(std::size_t size) noexcept {
    EXPECT_FALSE(opened.empty());
    EXPECT_LE(size, opened.size());
    if (size == 0) {
      ++unused;
      ++buffers;
    } else {
      sent.emplace_back(opened.begin(), opened.begin() + static_cast<std::ptrdiff_t>(size));
    }
    opened = {};
  }
};

}  // namespace millrace::srmp::test_support
