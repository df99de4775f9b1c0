// quic/protect/unmasked.hpp - a packet between its two protections: header plain, payload sealed.
//
// Shape    for the .cpp files of this folder: remove_mask() looks at the header only, so that who has several keys can
//          choose one before open_payload() decrypts.
// Owner    views die with the packet. Errors  as open.hpp. Source  RFC 9001 5.3 5.4
#pragma once

#include "quic/protect/open.hpp"
#include "quic/protect/packet_layout.hpp"

namespace millrace::quic::protect {

// A packet in one run, in place.
struct unmasked {
  std::uint8_t* packet = nullptr;
  std::size_t size = 0;
  std::size_t header_size = 0;
  std::uint64_t packet_number = 0;
};
// A packet in parts. The header lies in parts[0].to, or here when it does not fit there.
struct unmasked_parts {
  std::span<const crypto::text_part> parts;
  std::size_t size = 0;
  std::size_t header_size = 0;
  std::uint64_t packet_number = 0;
  const std::uint8_t* header = nullptr;
  std::array<std::uint8_t, split_header_max> gathered;
};

[[nodiscard]] inline bool holds_sample(std::size_t size, std::size_t pn_offset) noexcept {
  return pn_offset != 0 && size >= pn_offset + sample_end;
}
// A packet number as the header has it.
struct cut_number {
  std::uint32_t size = 0;
  std::uint32_t truncated = 0;
};
// `mask` as crypto/header_protection.hpp gives it; the packet holds a sample. Takes it off the first byte and the
// number, in place. Who opens many packets does this to all of them first: the cipher reads the header at once, and
// right behind the stores it would wait for them.
[[nodiscard]] inline cut_number unmask_header(std::uint8_t* header, std::size_t pn_offset,
                                              const std::uint8_t* mask) noexcept {
  const auto first = static_cast<std::uint8_t>(header[0] ^ (mask[0] & protected_bits(header[0])));
  header[0] = first;
  const std::uint32_t size = (first & pn_size_mask) + 1u;
  // All four bytes at once: those behind the number are ciphertext and keep their value under a mask of zero.
  const std::uint32_t covered = ~std::uint32_t{0} << (8 * (pn_size_max - size));
  const std::uint32_t bytes = base::load_be32(header + pn_offset) ^ (base::load_be32(mask + 1) & covered);
  base::store_be32(header + pn_offset, bytes);
  return {size, bytes >> (8 * (pn_size_max - size))};
}
// The same as unmask_header() and the number made whole.
void remove_mask(base::byte_span packet, std::size_t pn_offset, const std::uint8_t* mask, std::uint64_t largest_pn,
                 unmasked& out) noexcept;
[[nodiscard]] open_errc remove_mask(const crypto::header_key& key, std::span<const crypto::text_part> parts,
                                    std::size_t pn_offset, std::uint64_t largest_pn, unmasked_parts& out) noexcept;

[[nodiscard]] open_errc open_payload(crypto::engine& engine, const payload_keys& keys, const unmasked& in,
                                     opened_packet& out) noexcept;
[[nodiscard]] open_errc open_payload(crypto::engine& engine, const payload_keys& keys, const unmasked_parts& in,
                                     opened_packet& out) noexcept;

}  // namespace millrace::quic::protect
