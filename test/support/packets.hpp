// test/support/packets.hpp - packet buffers for tests under EAL, and the leak check every fixture ends with.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "buf/packet.hpp"
#include "mem/packet_pool.hpp"

namespace millrace::test {

// A pool that must be whole again when the test ends: a leak is a red test.
class checked_pool {
  mem::packet_pool pool_;

  static mem::packet_pool must_make(const mem::packet_pool_config& config) {
    auto made = mem::packet_pool::make(config);
    if (!made) {
      std::fprintf(stderr, "%s\n", made.error().what.c_str());
      std::abort();
    }
    return std::move(made.value());
  }

 public:
  explicit checked_pool(std::uint32_t packets = 1023, std::uint16_t data_room = mem::default_data_room)
      : pool_(must_make(
            {.name = "test" + std::to_string(counter()++), .packets = packets, .cache = 32, .data_room = data_room})) {}
  ~checked_pool() { EXPECT_EQ(pool_.in_use(), 0u) << "packets of " << pool_.name() << " leaked"; }
  checked_pool(const checked_pool&) = delete;
  checked_pool& operator=(const checked_pool&) = delete;

  mem::packet_pool& operator*() { return pool_; }
  mem::packet_pool* operator->() { return &pool_; }

 private:
  static unsigned& counter() {
    static unsigned made = 0;
    return made;
  }
};

inline std::vector<std::uint8_t> counting_bytes(std::size_t count, std::uint8_t first = 0) {
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < count) bytes.push_back(static_cast<std::uint8_t>(first + bytes.size()));
  return bytes;
}

inline buf::packet packet_of(mem::packet_pool& pool, base::byte_view bytes) {
  buf::packet one = buf::packet::alloc(pool);
  EXPECT_TRUE(one && one.append_copy(bytes));
  return one;
}

}  // namespace millrace::test
