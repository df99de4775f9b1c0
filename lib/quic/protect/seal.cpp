#include "quic/protect/seal.hpp"

#include "quic/protect/sealed_payload.hpp"
#include "quic/wire/packet_number.hpp"

namespace millrace::quic::protect {
namespace {

struct payload_shape {
  std::size_t size = 0;
  std::size_t pieces = 0;  // that are not empty
  base::byte_view piece;   // the last of them: the only one, when there is one
};

payload_shape measure(std::span<const base::byte_view> payload) noexcept {
  payload_shape out;
  for (const base::byte_view piece : payload) {
    if (piece.empty()) continue;
    out.size += piece.size();
    ++out.pieces;
    out.piece = piece;
  }
  return out;
}

seal_errc check(const seal_request& r, std::size_t payload_size) noexcept {
  if (r.pn_offset == 0 || r.pn_size == 0 || r.pn_size > pn_size_max || r.packet_number > wire::max_packet_number)
    return seal_errc::bad_header;
  const std::size_t header_size = std::size_t{r.pn_offset} + r.pn_size;
  if (r.out.size() < header_size || r.out.size() - header_size < crypto::aead_tag_size ||
      r.out.size() - header_size - crypto::aead_tag_size < payload_size)
    return seal_errc::no_room;
  if ((r.out[0] & pn_size_mask) != r.pn_size - 1u) return seal_errc::bad_header;
  return r.pn_size + payload_size < sample_distance ? seal_errc::too_short : seal_errc::ok;
}

void write_number(std::uint8_t* at, std::size_t size, std::uint64_t number) noexcept {
  for (std::size_t i = 0; i < size; ++i) at[i] = static_cast<std::uint8_t>(number >> (8 * (size - 1 - i)));
}

// As memmove: both ends are read before either is written. What stands in front of a stream's data is this small, and a
// call for it costs as much as a tenth of the data's copy.
void move_small(const std::uint8_t* from, std::size_t size, std::uint8_t* to) noexcept {
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
constexpr std::size_t small_max = 32;

void copy_together(std::span<const base::byte_view> payload, std::uint8_t* to) noexcept {
  for (const base::byte_view piece : payload) {
    // As by memmove: a piece that was written into `out` may lie a little off its place.
    if (!piece.empty() && piece.data() != to) {
      if (piece.size() <= small_max) {
        move_small(piece.data(), piece.size(), to);
      } else {
        std::memmove(to, piece.data(), piece.size());
      }
    }
    to += piece.size();
  }
}

void seal_in_parts(crypto::engine& engine, const payload_keys& keys, const packet_nonce& nonce, base::byte_view header,
                   std::span<const base::byte_view> payload, std::uint8_t* to) noexcept {
  std::array<crypto::text_part, payload_parts_max> parts;
  std::size_t count = 0;
  for (const base::byte_view piece : payload) {
    if (piece.empty()) continue;
    parts[count++] = {piece.data(), to, piece.size()};
    to += piece.size();
  }
  crypto::seal_parts(engine, keys.aead, nonce.view(), header, std::span(parts).first(count), to);
}

bool wants_parts(const seal_request& r, const payload_shape& shape) noexcept {
  if (shape.pieces > payload_parts_max || r.how == gather::copy) return false;
  return r.how == gather::in_parts || shape.size >= gather_in_parts_bytes;
}

}  // namespace

void seal_payload(crypto::engine& engine, const payload_keys& keys, seal_request& r) noexcept {
  const payload_shape shape = measure(r.payload);
  r.code = check(r, shape.size);
  if (r.code != seal_errc::ok) return;

  const std::size_t header_size = r.pn_offset + r.pn_size;
  std::uint8_t* const to = r.out.data() + header_size;
  write_number(r.out.data() + r.pn_offset, r.pn_size, r.packet_number);
  const packet_nonce nonce(keys.iv, r.packet_number);
  const base::byte_view header = r.out.first(header_size);
  r.size = static_cast<std::uint32_t>(header_size + shape.size + crypto::aead_tag_size);
  if (shape.pieces == 1 && r.how == gather::by_size) {
    crypto::seal(engine, keys.aead, nonce.view(), header, shape.piece, to);
  } else if (wants_parts(r, shape)) {
    seal_in_parts(engine, keys, nonce, header, r.payload, to);
  } else {
    copy_together(r.payload, to);
    crypto::seal(engine, keys.aead, nonce.view(), header, {to, shape.size}, to);
  }
}

seal_errc seal_packet(crypto::engine& engine, const packet_keys& keys, seal_request& request) noexcept {
  seal_payload(engine, keys, request);
  if (request.code != seal_errc::ok) return request.code;
  crypto::header_mask_bytes mask;
  crypto::header_mask(keys.header, {sample_of(request), crypto::header_sample_size}, mask);
  add_mask(request, mask.data());
  return request.code;
}

}  // namespace millrace::quic::protect
