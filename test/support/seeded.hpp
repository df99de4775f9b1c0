// test/support/seeded.hpp - random bytes that a failing test can name: the seed is in the message.
#pragma once

#include <random>
#include <vector>

#include "base/bytes.hpp"

namespace millrace::test {

class seeded {
  std::mt19937_64 engine_;

 public:
  explicit seeded(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t next() { return engine_(); }
  // 0 .. limit - 1
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(engine_() % limit); }
  std::vector<std::uint8_t> bytes(std::size_t size) {
    std::vector<std::uint8_t> out(size);
    for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(engine_());
    return out;
  }
};

}  // namespace millrace::test
