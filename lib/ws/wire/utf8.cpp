// Two machines answer together. Pieces shorter than 32 bytes, and the few bytes at the edges of longer ones, go through
// step(), which keeps how many bytes a character lacks and which values the next one may have (RFC 3629 4).
//
// Blocks of 32 bytes are judged at once, after the observation of Keiser and Lemire that all errors but one kind show
// in the high half of a byte, the low half of the byte before it and the high half of that byte, together: each error
// is a bit; three tables of 16 entries say which errors the three halves allow; an error is real where all three allow
// it. The tables are made at compile time from the list of errors below. What that leaves is whether the third and
// fourth byte of a character are continuations, which is seen from the bytes two and three places before.
//
// A block may end inside a character; the next one sees it through `before`. Behind the last block the text is taken up
// again by step() at the beginning of that unfinished character.
#include "ws/wire/utf8.hpp"

#include <immintrin.h>

#include <algorithm>
#include <array>

namespace millrace::ws::wire {
namespace {

// An error of two bytes in a row: halves are sets, one bit a value.
struct pair_error {
  std::uint8_t bit;
  std::uint16_t first_high;
  std::uint16_t first_low;
  std::uint16_t second_high;
};

constexpr std::uint16_t halves(unsigned from, unsigned to) noexcept {
  return static_cast<std::uint16_t>((1u << (to + 1)) - (1u << from));
}

constexpr std::uint16_t any = 0xFFFF;
constexpr std::uint16_t ascii = halves(0, 7);
constexpr std::uint16_t continuation = halves(8, 11);
constexpr std::uint16_t lead = halves(12, 15);
constexpr std::uint8_t two_continuations = 0x80;  // no error where the place before the first wants them

// RFC 3629 4: what each lead byte forbids behind it.
constexpr std::array<pair_error, 8> pair_errors = {{
    {0x01, lead, any, static_cast<std::uint16_t>(ascii | lead)},                // a character breaks off
    {0x02, ascii, any, continuation},                                           // one begins in its middle
    {0x04, 1u << 14, 1u << 0, halves(8, 9)},                                    // E0 80..9F: too long
    {0x08, 1u << 15, halves(4, 15), halves(9, 11)},                             // F4 90 and on: beyond 10FFFF
    {0x10, 1u << 14, 1u << 13, halves(10, 11)},                                 // ED A0..BF: surrogates
    {0x20, 1u << 12, halves(0, 1), continuation},                               // C0, C1: too long
    {0x40, 1u << 15, static_cast<std::uint16_t>(1u | halves(5, 15)), 1u << 8},  // F0 80..8F; F5 and on, 80..8F
    {two_continuations, continuation, any, continuation},
}};

struct table {
  alignas(16) std::array<std::uint8_t, 16> entry{};
};

constexpr table make_table(std::uint16_t pair_error::* half) noexcept {
  table out;
  for (const pair_error& e : pair_errors)
    for (unsigned value = 0; value < 16; ++value)
      if ((e.*half >> value & 1) != 0) out.entry[value] = static_cast<std::uint8_t>(out.entry[value] | e.bit);
  return out;
}

constexpr table first_high_table = make_table(&pair_error::first_high);
constexpr table first_low_table = make_table(&pair_error::first_low);
constexpr table second_high_table = make_table(&pair_error::second_high);

__m256i load(const table& t) noexcept {
  return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(t.entry.data())));
}

__m256i high_half(__m256i v) noexcept { return _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(0x0F)); }

// The block as it would be `Back` bytes earlier in the text.
template <int Back>
__m256i earlier(__m256i block, __m256i before) noexcept {
  return _mm256_alignr_epi8(block, _mm256_permute2x128_si256(before, block, 0x21), 16 - Back);
}

__m256i errors_of(__m256i block, __m256i before) noexcept {
  const __m256i first = earlier<1>(block, before);
  const __m256i by_first_high = _mm256_shuffle_epi8(load(first_high_table), high_half(first));
  const __m256i by_first_low =
      _mm256_shuffle_epi8(load(first_low_table), _mm256_and_si256(first, _mm256_set1_epi8(0x0F)));
  const __m256i by_second_high = _mm256_shuffle_epi8(load(second_high_table), high_half(block));
  const __m256i pairs = _mm256_and_si256(_mm256_and_si256(by_first_high, by_first_low), by_second_high);
  // Bit 7 is set where a byte two places after E0..FF, or three after F0..FF, stands: exactly there two continuations
  // follow each other, so the two must cancel out.
  const __m256i third = _mm256_subs_epu8(earlier<2>(block, before), _mm256_set1_epi8(0xE0 - 0x80));
  const __m256i fourth = _mm256_subs_epu8(earlier<3>(block, before), _mm256_set1_epi8(0xF0 - 0x80));
  const __m256i wanted =
      _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(static_cast<char>(two_continuations)));
  return _mm256_xor_si256(pairs, wanted);
}

// Non-zero where the block ends inside a character: a lead byte among its last three that wants more than follows.
__m256i unfinished(__m256i block) noexcept {
  const __m256i most =
      _mm256_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                       -1, -1, -1, -1, -1, static_cast<char>(0xEF), static_cast<char>(0xDF), static_cast<char>(0xBF));
  return _mm256_subs_epu8(block, most);
}

// Judges whole blocks from a character's beginning on. Answers the bytes judged, up to where the last character that
// may be unfinished begins; or SIZE_MAX for an error.
std::size_t judge_blocks(base::byte_view in) noexcept {
  const std::uint8_t* p = in.data();
  const std::size_t blocks = in.size() / 32;
  __m256i before = _mm256_setzero_si256();
  __m256i open = _mm256_setzero_si256();
  __m256i bad = _mm256_setzero_si256();
  for (std::size_t i = 0; i < blocks;) {
    const auto* at = reinterpret_cast<const __m256i*>(p + 32 * i);
    const std::size_t run = std::min<std::size_t>(blocks - i, 4);
    i += run;
    if (run == 4) {
      const __m256i joined = _mm256_or_si256(_mm256_or_si256(_mm256_loadu_si256(at), _mm256_loadu_si256(at + 1)),
                                             _mm256_or_si256(_mm256_loadu_si256(at + 2), _mm256_loadu_si256(at + 3)));
      if (_mm256_movemask_epi8(joined) == 0) {  // ASCII: only what was open before it can be wrong
        bad = _mm256_or_si256(bad, open);
        open = _mm256_setzero_si256();
        before = _mm256_setzero_si256();
        continue;
      }
    }
    for (std::size_t k = 0; k < run; ++k) {
      const __m256i block = _mm256_loadu_si256(at + k);
      bad = _mm256_or_si256(bad, errors_of(block, before));
      before = block;
    }
    open = unfinished(before);
  }
  if (_mm256_testz_si256(bad, bad) == 0) return SIZE_MAX;
  std::size_t end = 32 * blocks;
  for (std::size_t back = 1; back <= 3 && back <= end; ++back) {
    const std::uint8_t byte = p[end - back];
    if (byte < 0x80) break;
    if (byte >= 0xC0) return end - back;  // the last character's lead byte: step() takes it from here
  }
  return end;
}

}  // namespace

bool utf8_validator::step(std::uint8_t byte) noexcept {
  if (missing_ != 0) {
    if (byte < low_ || byte > high_) return false;
    low_ = 0x80;
    high_ = 0xBF;
    --missing_;
    return true;
  }
  if (byte < 0x80) return true;
  if (byte < 0xC2 || byte > 0xF4) return false;
  missing_ = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
  low_ = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
  high_ = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
  return true;
}

bool utf8_validator::on_bytes(base::byte_view in) noexcept {
  if (!is_valid_) return false;
  std::size_t at = 0;
  for (; at < in.size() && missing_ != 0; ++at)
    if (!step(in[at])) return is_valid_ = false;
  if (in.size() - at >= 32) {
    const std::size_t judged = judge_blocks(in.subspan(at));
    if (judged == SIZE_MAX) return is_valid_ = false;
    at += judged;
  }
  for (; at < in.size(); ++at)
    if (!step(in[at])) return is_valid_ = false;
  return true;
}

}  // namespace millrace::ws::wire
