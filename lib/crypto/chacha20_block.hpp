// crypto/chacha20_block.hpp - the first two words of ChaCha20 blocks: what header protection needs of the cipher.
//
// Shape    a template over the word: 32 bits for one block, a vector of them for as many blocks side by side.
//          For the .cpp files of this room only.
// Source   RFC 8439 2.1 2.3. Tests  test/crypto/header_protection_test.cpp
#pragma once

#include <array>
#include <cstdint>

namespace millrace::crypto {

template <class Word>
struct chacha20_state {
  std::array<Word, 16> words;
};

// RFC 8439 2.3 without its last 14 additions, which nobody reads here.
template <class Word>
inline void chacha20_first_two(const chacha20_state<Word>& start, Word& first, Word& second) noexcept {
  const auto quarter_round = [](Word& a, Word& b, Word& c, Word& d) {  // RFC 8439 2.1
    a += b, d ^= a, d = (d << 16) | (d >> 16);
    c += d, b ^= c, b = (b << 12) | (b >> 20);
    a += b, d ^= a, d = (d << 8) | (d >> 24);
    c += d, b ^= c, b = (b << 7) | (b >> 25);
  };
  auto [x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15] = start.words;
  for (int i = 0; i < 10; ++i) {
    quarter_round(x0, x4, x8, x12);
    quarter_round(x1, x5, x9, x13);
    quarter_round(x2, x6, x10, x14);
    quarter_round(x3, x7, x11, x15);
    quarter_round(x0, x5, x10, x15);
    quarter_round(x1, x6, x11, x12);
    quarter_round(x2, x7, x8, x13);
    quarter_round(x3, x4, x9, x14);
  }
  first = x0 + start.words[0];
  second = x1 + start.words[1];
}

}  // namespace millrace::crypto
