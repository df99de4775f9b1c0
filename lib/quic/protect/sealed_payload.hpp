// quic/protect/sealed_payload.hpp - the steps of a packet's protection on its way out, taken apart for bursts.
//
// Shape    for the .cpp files of this folder: place_payload() for each packet, seal_placed() for each, then the masks
// of
//          all, then add_mask(). Inline, because calls are a tenth of what is not the cipher's.
// Owner    a placed_payload points into the request's memory.
// Errors   as seal.hpp. Source  RFC 9001 5.3 5.4
#pragma once

#include "base/unset_array.hpp"
#include "quic/protect/packet_layout.hpp"
#include "quic/protect/seal.hpp"

namespace millrace::quic::protect {

// Members without initialisers, as a burst's worth of them lies on a stack.
struct placed_payload {
  const std::uint8_t* from;  // one run to encrypt; null: the request's pieces, from where they lie
  std::size_t size;
  packet_nonce nonce;
};

// What is wrong with sizes that is_sealable() refuses.
[[nodiscard]] seal_errc why_not(const seal_request& request, std::size_t payload_size) noexcept;

// All in one branch, because every packet goes through it. A size beyond any memory cannot wrap round: spans have none.
[[nodiscard]] inline bool is_sealable(const seal_request& r, std::size_t payload_size) noexcept {
  const std::size_t size = std::size_t{r.pn_offset} + r.pn_size + payload_size + crypto::aead_tag_size;
  const std::size_t wrong = std::size_t{r.pn_offset == 0} | std::size_t{r.pn_size - 1u >= pn_size_max} |
                            (r.packet_number >> 62) | std::size_t{size > r.out.size()} |
                            std::size_t{r.pn_size + payload_size < sample_distance};
  return wrong == 0 && (r.out[0] & pn_size_mask) == r.pn_size - 1u;
}

// The cipher reads header and number by one load, so few and wide stores.
inline void write_number(std::uint8_t* at, std::size_t size, std::uint64_t number) noexcept {
  const auto low = static_cast<std::uint32_t>(number);
  switch (size) {
    case 1:
      at[0] = static_cast<std::uint8_t>(low);
      return;
    case 2:
      base::store_be16(at, static_cast<std::uint16_t>(low));
      return;
    case 3:
      at[0] = static_cast<std::uint8_t>(low >> 16);
      base::store_be16(at + 1, static_cast<std::uint16_t>(low));
      return;
    default:
      base::store_be32(at, low);
  }
}

// Checks sizes, writes the packet number, decides how the payload is gathered. Answers request.code and, when ok,
// request.size.
inline void place_payload(const packet_iv& iv, seal_request& r, placed_payload& out) noexcept {
  std::size_t size = 0;
  std::size_t pieces = 0;                  // that are not empty
  if (r.payload.size() == 2) [[likely]] {  // frames, and a stream's data
    size = r.payload[0].size() + r.payload[1].size();
    pieces = std::size_t{!r.payload[0].empty()} + std::size_t{!r.payload[1].empty()};
  } else {
    for (const base::byte_view part : r.payload) {
      size += part.size();
      pieces += part.empty() ? 0 : 1;
    }
  }
  if (!is_sealable(r, size)) [[unlikely]] {
    r.code = why_not(r, size);
    return;
  }
  r.code = seal_errc::ok;

  const std::size_t header_size = std::size_t{r.pn_offset} + r.pn_size;
  write_number(r.out.data() + r.pn_offset, r.pn_size, r.packet_number);
  r.size = static_cast<std::uint32_t>(header_size + size + crypto::aead_tag_size);
  out.size = size;
  out.nonce = packet_nonce(iv, r.packet_number);
  out.from = r.out.data() + header_size;
  if (pieces == 1 && r.how == gather::by_size) {
    for (const base::byte_view part : r.payload) out.from = part.empty() ? out.from : part.data();
  } else if (r.how != gather::copy && pieces <= payload_parts_max &&
             (r.how == gather::in_parts || size >= gather_in_parts_bytes)) {
    out.from = nullptr;
  }
}

// As memmove: both ends are read before either is written. What stands in front of a stream's data is this small, and a
// call for it costs as much as a tenth of the data's copy.
inline void move_small(const std::uint8_t* from, std::size_t size, std::uint8_t* to) noexcept {
  const auto both_ends = [&]<class Word>(Word) {
    Word first;
    Word last;
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + size - sizeof(Word), sizeof(Word));
    std::memcpy(to, &first, sizeof(Word));
    std::memcpy(to + size - sizeof(Word), &last, sizeof(Word));
  };
  using two_words = std::uint64_t __attribute__((vector_size(16)));
  if (size >= 16) return both_ends(two_words{});
  if (size >= 8) return both_ends(std::uint64_t{});
  if (size >= 4) return both_ends(std::uint32_t{});
  if (size >= 2) return both_ends(std::uint16_t{});
  *to = *from;
}
inline constexpr std::size_t small_max = 32;

inline void copy_together(std::span<const base::byte_view> payload, std::uint8_t* to) noexcept {
  for (const base::byte_view piece : payload) {
    // As by memmove: a piece that was written into `out` may lie a little off its place.
    if (piece.size() > small_max) {
      if (piece.data() != to) std::memmove(to, piece.data(), piece.size());
    } else if (!piece.empty()) {
      move_small(piece.data(), piece.size(), to);
    }
    to += piece.size();
  }
}

inline void seal_in_parts(crypto::engine& engine, const payload_keys& keys, const packet_nonce& nonce,
                          base::byte_view header, std::span<const base::byte_view> payload, std::uint8_t* to) noexcept {
  base::unset_array<crypto::text_part, payload_parts_max> parts;
  std::size_t count = 0;
  for (const base::byte_view piece : payload) {
    if (piece.empty()) continue;
    parts[count++] = {piece.data(), to, piece.size()};
    to += piece.size();
  }
  crypto::seal_parts(engine, keys.aead, nonce.view(), header, parts.places().first(count), to);
}

// Ciphertext and tag of what place_payload() found ok. Cannot fail.
inline void seal_placed(crypto::engine& engine, const payload_keys& keys, const seal_request& r,
                        const placed_payload& payload) noexcept {
  const base::byte_view header = r.out.first(std::size_t{r.pn_offset} + r.pn_size);
  std::uint8_t* const to = r.out.data() + header.size();
  if (payload.from == nullptr) {
    seal_in_parts(engine, keys, payload.nonce, header, r.payload, to);
  } else {
    if (payload.from == to) copy_together(r.payload, to);
    crypto::seal(engine, keys.aead, payload.nonce.view(), header, {payload.from, payload.size}, to);
  }
}

// Where the mask's sample begins in a packet that place_payload() found ok.
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
