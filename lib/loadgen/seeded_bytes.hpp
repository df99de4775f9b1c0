// loadgen/seeded_bytes.hpp - numbers and bytes that look random and are the same each time.
//
// Shape    splitmix64 from a seed that names what the bytes are for: any part of any frame can be made alone.
// Limits   nothing secret: use crypto/random for keys.
// Source   Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators (2014). Tests  through frame_generator
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "base/bytes.hpp"

namespace millrace::loadgen {

class seeded_bytes {
  std::uint64_t state_;

 public:
  // Equal arguments, equal numbers; one bit of difference, unrelated ones.
  explicit seeded_bytes(std::uint64_t seed, std::uint64_t what = 0, std::uint64_t which = 0) noexcept : state_(seed) {
    state_ = next() ^ what;
    state_ = next() ^ which;
  }

  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9E37'79B9'7F4A'7C15;
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
    return z ^ (z >> 31);
  }
  // 0 .. bound-1; the bias of the remainder does not matter here.
  std::uint32_t below(std::uint32_t bound) noexcept { return static_cast<std::uint32_t>(next() % bound); }
  void fill(base::byte_span out) noexcept {
    while (!out.empty()) {
      const std::uint64_t word = next();
      const std::size_t take = std::min(out.size(), sizeof word);
      std::memcpy(out.data(), &word, take);
      out = out.subspan(take);
    }
  }
  template <std::size_t Size>
  [[nodiscard]] std::array<std::uint8_t, Size> array() noexcept {
    std::array<std::uint8_t, Size> out;
    fill(out);
    return out;
  }
};

}  // namespace millrace::loadgen
