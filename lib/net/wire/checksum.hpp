// net/wire/checksum.hpp - the Internet checksum of IPv4, ICMP, UDP and TCP.
//
// Shape    internet_sum gathers pieces in any order of kinds (pseudo-header, bytes, segments), each piece as long as it
//          likes: an odd one shifts the next by a byte, as on the wire. checksum() answers what the header field holds.
// Units    checksum values in host order, as store_be16 takes them.
// Errors   none: sums have no failure. is_sound() answers false on a wrong checksum.
// Source   RFC 1071, RFC 1624, RFC 768, RFC 9293 3.1, RFC 8200 8.1.
// Tests    test/net/wire/checksum_test.cpp        Bench  bench/net/wire/checksum_bench.cpp
#pragma once

#include "base/endian.hpp"
#include "base/ip_address.hpp"
#include "base/segments.hpp"

namespace millrace::net::wire {

// One's complement sum of the 16-bit words of `in`, a last odd byte padded with zero, as the CPU's byte order loads
// them (RFC 1071 2 B: the order cancels out); not folded. Below 2^63 for any view that fits an address space.
[[nodiscard]] std::uint64_t sum_words(base::byte_view in) noexcept;
// The same, one word at a time: what sum_words is tested against.
[[nodiscard]] std::uint64_t sum_words_plain(base::byte_view in) noexcept;

// 64 bits of end-around carry down to 16.
[[nodiscard]] constexpr std::uint16_t fold_sum(std::uint64_t sum) noexcept {
  sum = (sum & 0xFFFF'FFFF) + (sum >> 32);
  sum = (sum & 0xFFFF) + ((sum >> 16) & 0xFFFF) + (sum >> 32);
  sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>((sum & 0xFFFF) + (sum >> 16));
}

class internet_sum {
  std::uint64_t sum_ = 0;  // words in the CPU's byte order
  bool odd_ = false;       // the bytes so far end inside a word

  void gather(std::uint16_t folded) noexcept { sum_ += odd_ ? __builtin_bswap16(folded) : folded; }

 public:
  void add(base::byte_view in) noexcept {
    gather(fold_sum(sum_words(in)));
    odd_ ^= (in.size() & 1) != 0;
  }
  void add(const base::segments& in) noexcept {
    for (const base::byte_view part : in.parts()) add(part);
  }
  // One more 16-bit word, in host order; where the bytes so far end inside a word it does not shift what comes next.
  void add_word(std::uint16_t word) noexcept { sum_ += __builtin_bswap16(word); }
  // The pseudo-header of the addresses' family (both the same, not none). `length`: of the transport header and what
  // follows it. Does not shift what comes next.
  void add_pseudo_header(const base::ip_address& src, const base::ip_address& dst, std::uint8_t protocol,
                         std::uint32_t length) noexcept;

  // 0 over bytes that already hold their right checksum.
  [[nodiscard]] std::uint16_t checksum() const noexcept {
    return static_cast<std::uint16_t>(~__builtin_bswap16(fold_sum(sum_)));
  }
};

[[nodiscard]] std::uint16_t internet_checksum(base::byte_view in) noexcept;
[[nodiscard]] std::uint16_t internet_checksum(const base::segments& in) noexcept;

// What stands in the header when words change under it: RFC 1624 3, equation 3, which unlike RFC 1141's never turns
// 0x0000 into 0xFFFF. `old_bytes` and `new_bytes` have one even size and start at an even offset of what is summed.
[[nodiscard]] std::uint16_t update_checksum(std::uint16_t checksum, base::byte_view old_bytes,
                                            base::byte_view new_bytes) noexcept;
[[nodiscard]] std::uint16_t update_checksum(std::uint16_t checksum, std::uint16_t old_word,
                                            std::uint16_t new_word) noexcept;

// `packet`: from the UDP or TCP header on, its checksum field zero. UDP's answer is never 0, which would mean "none"
// (RFC 768).
[[nodiscard]] std::uint16_t udp_checksum(const base::ip_address& src, const base::ip_address& dst,
                                         const base::segments& packet) noexcept;
[[nodiscard]] std::uint16_t tcp_checksum(const base::ip_address& src, const base::ip_address& dst,
                                         const base::segments& packet) noexcept;

// As received, checksum field included. `packet`: UDP by its length field, TCP by the IP length. A UDP checksum of 0
// is sound over IPv4 (RFC 768) and not over IPv6 (RFC 8200 8.1; the tunnels that RFC 6935 excepts are not ours).
[[nodiscard]] bool is_udp_sound(const base::ip_address& src, const base::ip_address& dst,
                                const base::segments& packet) noexcept;
[[nodiscard]] bool is_tcp_sound(const base::ip_address& src, const base::ip_address& dst,
                                const base::segments& packet) noexcept;

}  // namespace millrace::net::wire
