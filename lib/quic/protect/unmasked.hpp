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
// `mask` as crypto/header_protection.hpp gives it; the packet holds a sample.
void remove_mask(base::byte_span packet, std::size_t pn_offset, const std::uint8_t* mask, std::uint64_t largest_pn,
                 unmasked& out) noexcept;
[[nodiscard]] open_errc remove_mask(const crypto::header_key& key, std::span<const crypto::text_part> parts,
                                    std::size_t pn_offset, std::uint64_t largest_pn, unmasked_parts& out) noexcept;

[[nodiscard]] open_errc open_payload(crypto::engine& engine, const payload_keys& keys, const unmasked& in,
                                     opened_packet& out) noexcept;
[[nodiscard]] open_errc open_payload(crypto::engine& engine, const payload_keys& keys, const unmasked_parts& in,
                                     opened_packet& out) noexcept;

}  // namespace millrace::quic::protect
