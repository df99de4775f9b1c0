// test/support/emitted.hpp - what emit() makes of a frame, and that it makes nothing where there is no room.
#pragma once

#include "base/byte_writer.hpp"
#include "support/bytes.hpp"

namespace millrace::test {

// The bytes of `f`; fails the test when encoded_size() is not exact, or a smaller room takes anything.
template <class Frame>
byte_list emitted(const Frame& f) {
  byte_list room(encoded_size(f));
  base::byte_writer out(room);
  EXPECT_TRUE(emit(out, f));
  EXPECT_EQ(out.room(), 0u);
  byte_list tight(room.size());
  for (std::size_t less = 0; less < room.size(); ++less) {
    base::byte_writer no_room(base::byte_span(tight).first(less));
    EXPECT_FALSE(emit(no_room, f));
    EXPECT_EQ(no_room.size(), 0u);
  }
  return room;
}

// A frame that emit() refuses, however much room there is.
template <class Frame>
bool refuses_to_emit(const Frame& f) {
  byte_list room(200);
  base::byte_writer out(room);
  return !emit(out, f) && out.size() == 0;
}

}  // namespace millrace::test
