// h3/qpack/huffman_code.hpp - the code itself, as constants: lengths from the RFC, codes and decoding tables computed.
//
// The code of RFC 7541 appendix B is canonical: among codes of one length, values rise with the symbol, and each length
// begins where the one before it ended. So the lengths say everything, and that the tables below are the RFC's is shown
// by its vectors.
//
// Shape    encoder: huffman.codes[symbol]. decoder: make_huffman_pairs()[next 12 bits] gives up to two symbols, or says
//          that the code is longer; then huffman.levels and huffman.order find it.
// Source   RFC 7541 appendix B. Tests  test/h3/qpack/huffman_test.cpp
#pragma once

#include <array>
#include <cstdint>

namespace millrace::h3::qpack {

inline constexpr unsigned huffman_symbols = 257;  // 256 is EOS
inline constexpr unsigned huffman_longest = 30;
inline constexpr unsigned huffman_eos = 256;

// clang-format off
inline constexpr std::array<std::uint8_t, huffman_symbols> huffman_lengths = {
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,  // 0
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,  // 16
     6, 10, 10, 12, 13,  6,  8, 11, 10, 10,  8, 11,  8,  6,  6,  6,  // 32
     5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8, 15,  6, 12, 10,  // 48
    13,  6,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  // 64
     7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8, 13, 19, 13, 14,  6,  // 80
    15,  5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,  // 96
     6,  7,  6,  5,  5,  6,  7,  7,  7,  7,  7, 15, 11, 14, 13, 28,  // 112
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,  // 128
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,  // 144
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,  // 160
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,  // 176
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,  // 192
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,  // 208
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,  // 224
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,  // 240
    30,  // 256
};
// clang-format on

struct huffman_code {
  std::uint32_t bits = 0;  // right aligned
  std::uint32_t length = 0;
};

// One length of the canonical code.
struct huffman_level {
  std::uint32_t first = 0;   // its first code, right aligned
  std::uint16_t count = 0;   // codes of this length
  std::uint16_t symbol = 0;  // where their symbols begin in `order`
};

struct huffman_tables {
  std::array<huffman_code, huffman_symbols> codes{};
  std::array<std::uint16_t, huffman_symbols> order{};  // symbols by code
  std::array<huffman_level, huffman_longest + 1> levels{};
};

consteval huffman_tables make_huffman_tables() {
  huffman_tables t{};
  std::uint32_t code = 0;
  std::uint16_t at = 0;
  for (unsigned length = 1; length <= huffman_longest; ++length) {
    code <<= 1;
    t.levels[length] = {code, 0, at};
    for (unsigned symbol = 0; symbol < huffman_symbols; ++symbol) {
      if (huffman_lengths[symbol] != length) continue;
      t.codes[symbol] = {code++, length};
      t.order[at++] = static_cast<std::uint16_t>(symbol);
      ++t.levels[length].count;
    }
  }
  return t;
}

inline constexpr huffman_tables huffman = make_huffman_tables();
static_assert(huffman.codes[huffman_eos].bits == 0x3FFF'FFFF, "RFC 7541 appendix B: EOS is thirty ones");
static_assert(huffman.codes['a'].bits == 0x3 && huffman.codes['z'].bits == 0x7B, "RFC 7541 appendix B");

inline constexpr unsigned huffman_window = 12;  // bits one look-up sees: two of the usual characters

// What a window begins with: up to two whole symbols.
struct huffman_pair {
  std::uint8_t bits = 0;        // of all symbols here; 0: the first code is longer than the window
  std::uint8_t first_bits = 0;  // of the first symbol alone
  std::uint8_t first = 0;
  std::uint8_t second = 0;

  [[nodiscard]] constexpr unsigned count() const noexcept { return bits == first_bits ? 1 : 2; }
};

using huffman_pair_table = std::array<huffman_pair, std::size_t{1} << huffman_window>;

consteval huffman_pair_table make_huffman_pairs() {
  huffman_pair_table pairs{};
  std::array<std::uint8_t, std::size_t{1} << huffman_window> lengths{};  // of the window's first symbol
  for (unsigned symbol = 0; symbol < huffman_eos; ++symbol) {
    const huffman_code c = huffman.codes[symbol];
    if (c.length > huffman_window) continue;
    const unsigned spare = huffman_window - c.length;
    for (unsigned i = 0; i < (1U << spare); ++i) {
      const unsigned window = (c.bits << spare) + i;
      lengths[window] = static_cast<std::uint8_t>(c.length);
      pairs[window] = {lengths[window], lengths[window], static_cast<std::uint8_t>(symbol), 0};
    }
  }
  for (unsigned window = 0; window < pairs.size(); ++window) {
    huffman_pair& p = pairs[window];
    if (p.bits == 0) continue;
    const unsigned behind = (window << p.bits) & ((1U << huffman_window) - 1);
    if (lengths[behind] == 0 || p.first_bits + lengths[behind] > huffman_window) continue;
    p.second = pairs[behind].first;
    p.bits = static_cast<std::uint8_t>(p.first_bits + lengths[behind]);
  }
  return pairs;
}

}  // namespace millrace::h3::qpack
