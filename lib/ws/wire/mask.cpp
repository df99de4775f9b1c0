// The key is turned so that its first byte meets the first byte handed in; from there on every step is a multiple of
// four bytes long and the same key fits. Four registers of 32 bytes a turn keep both the load and the store port busy;
// a single one would wait for its own loop.
#include "ws/wire/mask.hpp"

#include <immintrin.h>

#include <bit>
#include <cstring>

namespace millrace::ws::wire {
namespace {

void combine_32(std::uint8_t* p, __m256i key) noexcept {
  auto* at = reinterpret_cast<__m256i*>(p);
  _mm256_storeu_si256(at, _mm256_xor_si256(_mm256_loadu_si256(at), key));
}

template <class Int>
void combine(std::uint8_t* p, Int key) noexcept {
  Int value;
  std::memcpy(&value, p, sizeof value);
  value = static_cast<Int>(value ^ key);
  std::memcpy(p, &value, sizeof value);
}

}  // namespace

unsigned mask(base::byte_span bytes, std::uint32_t key, unsigned phase) noexcept {
  const auto end_phase = static_cast<unsigned>((phase + bytes.size()) & 3);
  const std::uint32_t turned = std::rotr(key, static_cast<int>(8 * (phase & 3)));
  const __m256i wide = _mm256_set1_epi32(static_cast<int>(turned));
  std::uint8_t* p = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 128; left -= 128, p += 128) {
    combine_32(p, wide);
    combine_32(p + 32, wide);
    combine_32(p + 64, wide);
    combine_32(p + 96, wide);
  }
  for (; left >= 32; left -= 32, p += 32) combine_32(p, wide);
  const std::uint64_t twice = turned | std::uint64_t{turned} << 32;
  if ((left & 16) != 0) {
    combine(p, twice);
    combine(p + 8, twice);
    p += 16;
  }
  if ((left & 8) != 0) {
    combine(p, twice);
    p += 8;
  }
  if ((left & 4) != 0) {
    combine(p, turned);
    p += 4;
  }
  for (std::size_t i = 0; i < (left & 3); ++i) p[i] = static_cast<std::uint8_t>(p[i] ^ turned >> (8 * i));
  return end_phase;
}

}  // namespace millrace::ws::wire
