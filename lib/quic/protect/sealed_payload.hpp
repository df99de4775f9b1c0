// quic/protect/sealed_payload.hpp - a packet between its two protections on the way out: payload sealed, header plain.
//
// Shape    for the .cpp files of this folder: seal_payload() for each packet, then the masks of all, then add_mask().
// Errors   as seal.hpp. Source  RFC 9001 5.3 5.4
#pragma once

#include "quic/protect/packet_layout.hpp"
#include "quic/protect/seal.hpp"

namespace millrace::quic::protect {

// Sizes first, then packet number, payload and tag. Answers request.code and, when ok, request.size.
void seal_payload(crypto::engine& engine, const payload_keys& keys, seal_request& request) noexcept;

// Where the mask's sample begins in a packet that seal_payload() found ok.
[[nodiscard]] inline const std::uint8_t* sample_of(const seal_request& request) noexcept {
  return request.out.data() + request.pn_offset + sample_distance;
}
inline void add_mask(const seal_request& request, const std::uint8_t* mask) noexcept {
  std::uint8_t* const header = request.out.data();
  header[0] = static_cast<std::uint8_t>(header[0] ^ (mask[0] & protected_bits(header[0])));
  const std::uint32_t covered = ~std::uint32_t{0} << (8 * (pn_size_max - request.pn_size));
  std::uint8_t* const number = header + request.pn_offset;
  base::store_be32(number, base::load_be32(number) ^ (base::load_be32(mask + 1) & covered));
}

}  // namespace millrace::quic::protect
