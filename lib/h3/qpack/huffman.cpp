// How it works. Encoding gathers codes in a 64-bit word and writes its upper bytes when they are whole. Decoding keeps
// the next bits left aligned in a 64-bit word and looks twelve of them up at once, which gives two characters for most
// text. The way from one look-up to the next is what costs (a load and two shifts), so nothing else may hang on it:
// symbols are stored two at a time wherever they end, and the next eight bytes are fetched from where the last refill
// left off, not from where the last symbol ended.
//
// What could go wrong. Bits behind the end are zeros, and zeros are a character: so near the end every symbol is held
// against the bits that are really there. Codes beyond twelve bits (no character that text is made of) take the slow
// way. EOS inside text decodes as symbol 256 and is refused there.
#include "h3/qpack/huffman.hpp"

#include <algorithm>

#include "base/endian.hpp"
#include "h3/qpack/huffman_code.hpp"

namespace millrace::h3::qpack {

namespace {

constexpr huffman_pair_table pairs = make_huffman_pairs();

// Bits not yet decoded, left aligned; behind the `valid` ones stand more of the input or zeros.
struct bit_window {
  std::uint64_t bits = 0;
  unsigned valid = 0;

  void drop(unsigned count) noexcept {
    bits <<= count;
    valid -= count;
  }
};

struct long_symbol {
  unsigned symbol = huffman_eos;
  unsigned length = huffman_longest;
};

// The first symbol of `bits`, which is longer than a window. Every bit string begins with some code.
long_symbol find_long(std::uint64_t bits) noexcept {
  for (unsigned length = huffman_window + 1; length < huffman_longest; ++length) {
    const huffman_level& level = huffman.levels[length];
    const auto code = static_cast<std::uint32_t>(bits >> (64 - length));
    if (code - level.first < level.count && code >= level.first) {
      return {huffman.order[level.symbol + (code - level.first)], length};
    }
  }
  const huffman_level& level = huffman.levels[huffman_longest];
  const auto code = static_cast<std::uint32_t>(bits >> (64 - huffman_longest));
  return {huffman.order[level.symbol + (code - level.first)], huffman_longest};
}

// One symbol where the end may be near: ok, or no_room for one whose bits are not all there.
huffman_status take_symbol(bit_window& w, char& out) noexcept {
  const huffman_pair pair = pairs[w.bits >> (64 - huffman_window)];
  long_symbol s{pair.first, pair.first_bits};
  if (pair.bits == 0) s = find_long(w.bits);
  if (s.length > w.valid) return huffman_status::no_room;
  if (s.symbol == huffman_eos) return huffman_status::malformed;
  out = static_cast<char>(s.symbol);
  w.drop(s.length);
  return huffman_status::ok;
}

bool is_padding(const bit_window& w) noexcept {
  return w.valid == 0 || (w.valid < 8 && (~w.bits >> (64 - w.valid)) == 0);  // RFC 7541 5.2: the first bits of EOS
}

// The input as a cursor that fills bit_windows.
struct bit_input {
  const std::uint8_t* at;
  const std::uint8_t* end;

  [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(end - at); }
  // To at least 56 valid bits; eight bytes must be left. What does not fit whole is read again next time, and is the
  // same bits in the same place.
  void refill(bit_window& w) noexcept {
    w.bits |= base::load_be64(at) >> w.valid;
    at += (63 - w.valid) >> 3;
    w.valid |= 56;
  }
  // As many whole bytes as fit. `whole`: whether the eight bytes before `end` are the input's.
  void refill_last(bit_window& w, bool whole) noexcept {
    if (left() == 0) return;
    std::uint64_t word = 0;
    if (left() >= 8) {
      word = base::load_be64(at);
    } else if (whole) {
      word = base::load_be64(end - 8) << (64 - 8 * left());
    } else {
      for (std::size_t i = 0; i < left(); ++i) word |= std::uint64_t{at[i]} << (56 - 8 * i);
    }
    const std::size_t take = std::min<std::size_t>(left(), (64 - w.valid) >> 3);
    if (take == 0) return;
    word &= ~std::uint64_t{0} << (64 - 8 * take);
    w.bits |= word >> w.valid;
    w.valid += static_cast<unsigned>(8 * take);
    at += take;
  }
};

// The last bytes: every symbol is checked against the bits and the room there are.
huffman_result decode_end(bit_input& in, bit_window& w, std::span<char> out, std::size_t size, bool whole) noexcept {
  // What refill() left behind the valid bits belongs to bytes that refill_last() brings again.
  w.bits &= w.valid == 0 ? 0 : ~std::uint64_t{0} << (64 - w.valid);
  for (;;) {
    if (w.valid < huffman_longest) in.refill_last(w, whole);
    const huffman_pair pair = pairs[w.bits >> (64 - huffman_window)];
    if (pair.bits != 0 && pair.bits <= w.valid && size + 2 <= out.size()) [[likely]] {
      out[size] = static_cast<char>(pair.first);
      out[size + 1] = static_cast<char>(pair.second);
      size += pair.count();
      w.drop(pair.bits);
      continue;
    }
    if (w.valid == 0) return {huffman_status::ok, size};
    char symbol = 0;
    const huffman_status s = take_symbol(w, symbol);
    if (s == huffman_status::malformed) return {s, 0};
    if (s == huffman_status::no_room) return {is_padding(w) ? huffman_status::ok : huffman_status::malformed, size};
    if (size == out.size()) return {huffman_status::no_room, 0};
    out[size++] = symbol;
  }
}

}  // namespace

std::size_t huffman_size(std::string_view text) noexcept {
  std::size_t bits = 0;
  for (const char c : text) bits += huffman_lengths[static_cast<std::uint8_t>(c)];
  return (bits + 7) / 8;
}

std::uint8_t* huffman_encode(std::string_view text, std::uint8_t* out) noexcept {
  std::uint64_t word = 0;
  unsigned filled = 0;  // below 32 between characters, so that the longest code fits
  for (const char c : text) {
    const huffman_code code = huffman.codes[static_cast<std::uint8_t>(c)];
    word = (word << code.length) | code.bits;
    filled += code.length;
    if (filled >= 32) {
      filled -= 32;
      base::store_be32(out, static_cast<std::uint32_t>(word >> filled));
      out += 4;
    }
  }
  if (filled % 8 != 0) {
    const unsigned padding = 8 - filled % 8;
    word = (word << padding) | ((1U << padding) - 1);
    filled += padding;
  }
  while (filled != 0) {
    filled -= 8;
    *out++ = static_cast<std::uint8_t>(word >> filled);
  }
  return out;
}

huffman_result huffman_decode(base::byte_view in, std::span<char> out) noexcept {
  bit_input input{in.data(), in.data() + in.size()};
  bit_window w;
  std::size_t size = 0;
  constexpr std::size_t round = 4;  // look-ups a refill feeds: 4 x 12 bits of 56
  while (input.left() >= 8 && out.size() - size >= 2 * round) {
    input.refill(w);
    char* at = out.data() + size;
    bool is_long = false;
    for (std::size_t i = 0; i < round; ++i) {
      const huffman_pair pair = pairs[w.bits >> (64 - huffman_window)];
      if (pair.bits == 0) [[unlikely]] {
        is_long = true;
        break;
      }
      at[0] = static_cast<char>(pair.first);
      at[1] = static_cast<char>(pair.second);
      at += pair.count();
      w.drop(pair.bits);
    }
    size = static_cast<std::size_t>(at - out.data());
    if (!is_long) continue;
    if (w.valid < huffman_longest) {
      if (input.left() < 8) break;
      input.refill(w);
    }
    if (size == out.size()) break;
    const huffman_status s = take_symbol(w, out[size]);
    if (s != huffman_status::ok) return {huffman_status::malformed, 0};
    ++size;
  }
  return decode_end(input, w, out, size, in.size() >= 8);
}

huffman_status huffman_reader::add(base::byte_view in, std::span<char> out, std::size_t& size) noexcept {
  bit_window w{bits_, valid_};
  for (const std::uint8_t byte : in) {
    w.bits |= std::uint64_t{byte} << (56 - w.valid);
    w.valid += 8;
    for (;;) {
      char symbol = 0;
      const huffman_status s = take_symbol(w, symbol);
      if (s == huffman_status::malformed) return s;
      if (s == huffman_status::no_room) break;  // the rest of the code is in the next byte
      if (size == out.size()) return huffman_status::no_room;
      out[size++] = symbol;
    }
  }
  bits_ = w.bits;
  valid_ = w.valid;
  return huffman_status::ok;
}

}  // namespace millrace::h3::qpack
