// quic/protect/packet_layout.hpp - the bits and distances of packet protection, and its nonce.
//
// Shape    for the .cpp files of this folder. Source  RFC 9001 5.3 5.4, RFC 9000 17.2 17.3
#pragma once

#include <bit>
#include <cstring>

#include "base/endian.hpp"
#include "quic/protect/packet_keys.hpp"

namespace millrace::quic::protect {

inline constexpr std::uint8_t long_form_bit = 0x80;  // RFC 8999 5.1
inline constexpr std::uint8_t key_phase_bit = 0x04;  // RFC 9000 17.3.1
inline constexpr std::uint8_t pn_size_mask = 0x03;
inline constexpr std::size_t pn_size_max = 4;
inline constexpr std::size_t sample_distance = 4;  // RFC 9001 5.4.2: the sample begins where a 4-byte number would end
inline constexpr std::size_t sample_end = sample_distance + crypto::header_sample_size;

// RFC 9001 5.4.1: what the mask covers of the first byte.
[[nodiscard]] constexpr std::uint8_t protected_bits(std::uint8_t first_byte) noexcept {
  return (first_byte & long_form_bit) != 0 ? 0x0f : 0x1f;
}
// RFC 9000 17.2, 17.3.1.
[[nodiscard]] constexpr std::uint8_t reserved_bits(std::uint8_t first_byte) noexcept {
  return (first_byte & long_form_bit) != 0 ? 0x0c : 0x18;
}

// RFC 9001 5.3: the IV with the packet number, big-endian, mixed into its last eight bytes. Written by one store,
// because the cipher reads it by one load, and a load that has to wait for several stores costs as much as a cipher
// block.
struct alignas(16) packet_nonce {
  std::array<std::uint8_t, 16> bytes;
  packet_nonce() noexcept {}  // not filled in
  packet_nonce(const packet_iv& iv, std::uint64_t packet_number) noexcept {
    static_assert(std::endian::native == std::endian::little);
    using two_words = std::uint64_t __attribute__((vector_size(16)));
    std::uint64_t low;
    std::uint32_t high;
    std::memcpy(&low, iv.data(), sizeof(low));
    std::memcpy(&high, iv.data() + sizeof(low), sizeof(high));
    const std::uint64_t number = __builtin_bswap64(packet_number);  // its first half is mixed into iv[4] to iv[7]
    const two_words words = {low ^ (number << 32), high ^ (number >> 32)};
    std::memcpy(bytes.data(), &words, sizeof(words));
  }
  [[nodiscard]] base::byte_view view() const noexcept { return base::byte_view(bytes).first(crypto::aead_nonce_size); }
};

}  // namespace millrace::quic::protect
