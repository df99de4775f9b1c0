// base/body_pattern.hpp - bodies that need no file: one block of bytes, again and again.
//
// Shape    byte i of such a body is pattern_block()[i % pattern_bytes]; a client checks what it gets by its place.
// Tests    test/loadgen/hq_load_test.cpp
#pragma once

#include <array>

#include "base/bytes.hpp"

namespace millrace::base {

inline constexpr std::size_t pattern_bytes = 65'536;

[[nodiscard]] inline const std::array<std::uint8_t, pattern_bytes>& pattern_block() noexcept {
  static const std::array<std::uint8_t, pattern_bytes> block = [] {
    std::array<std::uint8_t, pattern_bytes> b{};
    std::uint64_t state = 0x6d696c6c72616365;
    for (std::uint8_t& byte : b) {
      state = state * 6364136223846793005 + 1442695040888963407;
      byte = static_cast<std::uint8_t>(state >> 56);
    }
    return b;
  }();
  return block;
}

}  // namespace millrace::base
