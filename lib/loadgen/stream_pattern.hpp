// loadgen/stream_pattern.hpp - the bytes of a test stream: what server and client of `srmp-stream` agree on.
//
// Shape    an item is its offset in the stream, 8 bytes little-endian, and the stream's bytes from there on. They
// repeat
//          with a period that divides no usual item size, so that an item with the bytes of another place is noticed.
// Units    bytes; offsets and sizes count the stream's, not those 8.
// Owner    the object holds 11 KB; views live as long. Errors  put_item(): 0 when the room is too small.
// Threads  read-only once made. Tests  test/loadgen/stream_load_test.cpp
#pragma once

#include <cstring>

#include "base/endian.hpp"
#include "loadgen/seeded_bytes.hpp"

namespace millrace::loadgen {

class stream_pattern {
 public:
  static constexpr std::size_t front_size = 8;
  static constexpr std::size_t max_item = 8192;

 private:
  static constexpr std::size_t period = 2039;
  std::array<std::uint8_t, period + max_item> bytes_;

 public:
  stream_pattern() noexcept {
    seeded_bytes random(0x5354'5245'414D);
    random.fill(base::byte_span(bytes_).first(period));
    for (std::size_t i = period; i < bytes_.size(); ++i) bytes_[i] = bytes_[i - period];
  }

  // `count` bytes of the stream from `offset`; at most max_item.
  [[nodiscard]] base::byte_view at(std::uint64_t offset, std::size_t count) const noexcept {
    return base::byte_view(bytes_).subspan(static_cast<std::size_t>(offset % period), count);
  }
  // An item of `count` bytes; answers the bytes written.
  [[nodiscard]] std::size_t put_item(base::byte_span room, std::uint64_t offset, std::size_t count) const noexcept {
    if (count > max_item || room.size() < front_size + count) return 0;
    base::store_le64(room.data(), offset);
    std::memcpy(room.data() + front_size, at(offset, count).data(), count);
    return front_size + count;
  }
  // Whether `item` is one of this stream; its place then.
  struct place {
    bool sound = false;
    std::uint64_t offset = 0;
    std::size_t count = 0;
  };
  [[nodiscard]] place read_item(base::byte_view item) const noexcept {
    if (item.size() <= front_size || item.size() > front_size + max_item) return {};
    const std::uint64_t offset = base::load_le64(item.data());
    const base::byte_view data = item.subspan(front_size);
    if (std::memcmp(data.data(), at(offset, data.size()).data(), data.size()) != 0) return {};
    return {true, offset, data.size()};
  }
};

}  // namespace millrace::loadgen
