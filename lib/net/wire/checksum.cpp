// The sum is one's complement over 16-bit words, so 32-bit words may be added instead and folded at the end (RFC 1071
// 2 C), and so may lanes of them. Each 32-bit word lands in a 64-bit lane: a lane overflows after 2^32 words, 16 GiB.
// Whatever the width, the result is congruent modulo 0xFFFF, and folding maps equal residues to equal values, except
// that 0 and 0xFFFF are one residue: the sum is 0 only where every byte is, so folding never confuses them.

#include "net/wire/checksum.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "base/assert.hpp"
#include "net/wire/numbers.hpp"

namespace millrace::net::wire {
namespace {

[[nodiscard]] std::uint64_t sum_tail(const std::uint8_t* p, std::size_t size) noexcept {
  std::uint64_t sum = 0;
  for (; size >= 4; p += 4, size -= 4) sum += base::load_le32(p);
  if (size >= 2) {
    sum += base::load_le16(p);
    p += 2;
    size -= 2;
  }
  return size == 0 ? sum : sum + *p;  // RFC 1071 1: the odd byte is the first of its word
}

#if defined(__AVX2__)
// Two halves of each load go into lanes of 64 bits; two accumulators hide the latency of the adds.
[[nodiscard]] std::uint64_t sum_blocks(const std::uint8_t* p, std::size_t blocks) noexcept {
  const __m256i low_half = _mm256_set1_epi64x(0xFFFF'FFFF);
  __m256i low = _mm256_setzero_si256();
  __m256i high = _mm256_setzero_si256();
  for (; blocks != 0; --blocks, p += 32) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    low = _mm256_add_epi64(low, _mm256_and_si256(words, low_half));
    high = _mm256_add_epi64(high, _mm256_srli_epi64(words, 32));
  }
  const __m256i both = _mm256_add_epi64(low, high);
  const __m128i pair = _mm_add_epi64(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(pair)) + static_cast<std::uint64_t>(_mm_extract_epi64(pair, 1));
}
#else
[[nodiscard]] std::uint64_t sum_blocks(const std::uint8_t* p, std::size_t blocks) noexcept {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (blocks *= 4; blocks != 0; --blocks, p += 8) {
    const std::uint64_t words = base::load_le64(p);
    low += words & 0xFFFF'FFFF;
    high += words >> 32;
  }
  return low + high;
}
#endif

[[nodiscard]] internet_sum start(const base::ip_address& src, const base::ip_address& dst, std::uint8_t protocol,
                                 const base::segments& packet) noexcept {
  internet_sum sum;
  sum.add_pseudo_header(src, dst, protocol, static_cast<std::uint32_t>(packet.size()));
  sum.add(packet);
  return sum;
}

}  // namespace

std::uint64_t sum_words(base::byte_view in) noexcept {
  const std::size_t blocks = in.size() / 32;
  const std::uint64_t sum = blocks == 0 ? 0 : sum_blocks(in.data(), blocks);
  return sum + sum_tail(in.data() + blocks * 32, in.size() % 32);
}

std::uint64_t sum_words_plain(base::byte_view in) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + 1 < in.size(); at += 2) sum += base::load_le16(in.data() + at);
  return in.size() % 2 == 0 ? sum : sum + in.back();
}

void internet_sum::add_pseudo_header(const base::ip_address& src, const base::ip_address& dst, std::uint8_t protocol,
                                     std::uint32_t length) noexcept {
  MILLRACE_ASSERT(src.family == dst.family && src.family != base::ip_family::none);
  // RFC 768, RFC 8200 8.1: both end in length and protocol, widths apart, which the sum does not see. An IPv4 address
  // has zeros behind its four bytes, so that one reading fits both.
  for (std::size_t at = 0; at < src.octets.size(); at += 4)
    sum_ += std::uint64_t{base::load_le32(src.octets.data() + at)} + base::load_le32(dst.octets.data() + at);
  sum_ += __builtin_bswap32(length);
  sum_ += __builtin_bswap16(protocol);
}

std::uint16_t internet_checksum(base::byte_view in) noexcept {
  return static_cast<std::uint16_t>(~__builtin_bswap16(fold_sum(sum_words(in))));
}

std::uint16_t internet_checksum(const base::segments& in) noexcept {
  internet_sum sum;
  sum.add(in);
  return sum.checksum();
}

std::uint16_t update_checksum(std::uint16_t checksum, base::byte_view old_bytes, base::byte_view new_bytes) noexcept {
  MILLRACE_ASSERT(old_bytes.size() == new_bytes.size() && old_bytes.size() % 2 == 0);
  const std::uint16_t left = fold_sum(sum_words(old_bytes));
  const std::uint16_t came = fold_sum(sum_words(new_bytes));
  return update_checksum(checksum, __builtin_bswap16(left), __builtin_bswap16(came));
}

std::uint16_t update_checksum(std::uint16_t checksum, std::uint16_t old_word, std::uint16_t new_word) noexcept {
  const std::uint64_t sum =
      std::uint64_t{static_cast<std::uint16_t>(~checksum)} + static_cast<std::uint16_t>(~old_word) + new_word;
  return static_cast<std::uint16_t>(~fold_sum(sum));
}

std::uint16_t udp_checksum(const base::ip_address& src, const base::ip_address& dst,
                           const base::segments& packet) noexcept {
  const std::uint16_t checksum = start(src, dst, ip_protocol::udp, packet).checksum();
  return checksum == 0 ? 0xFFFF : checksum;
}

std::uint16_t tcp_checksum(const base::ip_address& src, const base::ip_address& dst,
                           const base::segments& packet) noexcept {
  return start(src, dst, ip_protocol::tcp, packet).checksum();
}

bool is_udp_sound(const base::ip_address& src, const base::ip_address& dst, const base::segments& packet) noexcept {
  constexpr std::size_t checksum_offset = 6;
  std::uint8_t field[2];
  if (packet.copy_out(checksum_offset, field) != sizeof field) return false;
  if ((field[0] | field[1]) == 0) return src.family == base::ip_family::v4;
  return start(src, dst, ip_protocol::udp, packet).checksum() == 0;
}

bool is_tcp_sound(const base::ip_address& src, const base::ip_address& dst, const base::segments& packet) noexcept {
  return packet.size() >= 20 && start(src, dst, ip_protocol::tcp, packet).checksum() == 0;
}

}  // namespace millrace::net::wire
