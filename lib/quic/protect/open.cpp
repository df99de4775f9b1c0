// In one run: the mask comes off where the header lies, and the cipher works on the payload in place.
//
// In parts the same happens through copies of what is small and must be contiguous: the header, when the first part
// ends inside it, the sample and the tag, when they lie across an edge. The payload is decrypted part by part, which
// is right wherever the edges are; when it lies in one part, as it does behind a header of its own, one call does it.
#include "quic/protect/open.hpp"

#include <algorithm>

#include "quic/protect/unmasked.hpp"
#include "quic/wire/packet_number.hpp"

namespace millrace::quic::protect {
namespace {

struct plain_header {
  std::size_t pn_size;
  std::uint64_t packet_number;
};

plain_header whole_header(std::uint8_t* header, std::size_t pn_offset, const std::uint8_t* mask,
                          std::uint64_t largest_pn) noexcept {
  const cut_number number = unmask_header(header, pn_offset, mask);
  return {number.size, wire::decode_packet_number(largest_pn, number.truncated, number.size)};
}

// RFC 9000 17.2: looked at only when both protections are off, so that it tells an attacker nothing.
open_errc judge(std::uint8_t first_byte) noexcept {
  return (first_byte & reserved_bits(first_byte)) != 0 ? open_errc::reserved_bits : open_errc::ok;
}

template <class Unmasked>
void fill(const Unmasked& in, std::uint8_t first_byte, opened_packet& out) noexcept {
  out.packet_number = in.packet_number;
  out.header_size = static_cast<std::uint32_t>(in.header_size);
  out.payload_size = static_cast<std::uint32_t>(in.size - in.header_size - crypto::aead_tag_size);
  out.first_byte = first_byte;
  out.key_update = false;
}

// The bytes [offset, offset + out.size()) of the parts, which hold them.
void copy_out(std::span<const crypto::text_part> parts, std::size_t offset, base::byte_span out) noexcept {
  for (const crypto::text_part& part : parts) {
    if (out.empty()) return;
    if (offset >= part.size) {
      offset -= part.size;
      continue;
    }
    const std::size_t take = std::min(part.size - offset, out.size());
    std::memcpy(out.data(), part.from + offset, take);
    out = out.subspan(take);
    offset = 0;
  }
}

// Puts the front of the packet where the parts want it.
void scatter(base::byte_view front, std::span<const crypto::text_part> parts) noexcept {
  for (const crypto::text_part& part : parts) {
    if (front.empty()) return;
    const std::size_t take = std::min(part.size, front.size());
    if (take == 0) continue;
    std::memcpy(part.to, front.data(), take);
    front = front.subspan(take);
  }
}

}  // namespace

stats::drop_reason reason_of(open_errc code) noexcept {
  switch (code) {
    case open_errc::ok:
      return stats::drop_reason::none;
    case open_errc::too_short:
      return stats::drop_reason::quic_too_short;
    case open_errc::no_room:
    case open_errc::too_many_parts:
      return stats::drop_reason::quic_too_many_parts;
    case open_errc::auth_failed:
      return stats::drop_reason::quic_decrypt_failed;
    case open_errc::reserved_bits:
      return stats::drop_reason::quic_bad_reserved_bits;
    case open_errc::integrity_spent:
      return stats::drop_reason::quic_integrity_limit;
  }
  return stats::drop_reason::none;
}

void remove_mask(base::byte_span packet, std::size_t pn_offset, const std::uint8_t* mask, std::uint64_t largest_pn,
                 unmasked& out) noexcept {
  const plain_header header = whole_header(packet.data(), pn_offset, mask, largest_pn);
  out = {packet.data(), packet.size(), pn_offset + header.pn_size, header.packet_number};
}

open_errc remove_mask(const crypto::header_key& key, std::span<const crypto::text_part> parts, std::size_t pn_offset,
                      std::uint64_t largest_pn, unmasked_parts& out) noexcept {
  if (parts.size() > parts_max) return open_errc::too_many_parts;
  out.parts = parts;
  out.size = 0;
  for (const crypto::text_part& part : parts) out.size += part.size;
  if (!holds_sample(out.size, pn_offset)) return open_errc::too_short;

  const std::size_t front_size = pn_offset + pn_size_max;
  std::uint8_t* front = out.gathered.data();
  const crypto::text_part& first = parts[0];
  const bool together = first.size >= front_size;
  if (together) {
    front = first.to;
    if (first.to != first.from) std::memcpy(front, first.from, front_size);
  } else if (front_size > out.gathered.size()) {
    return open_errc::too_many_parts;
  } else {
    copy_out(parts, 0, {front, front_size});
  }
  std::array<std::uint8_t, crypto::header_sample_size> sample;
  copy_out(parts, front_size, sample);
  crypto::header_mask_bytes mask;
  crypto::header_mask(key, sample, mask);
  const plain_header header = whole_header(front, pn_offset, mask.data(), largest_pn);
  out.header_size = pn_offset + header.pn_size;
  out.packet_number = header.packet_number;
  out.header = front;
  if (!together) scatter({front, out.header_size}, parts);
  return open_errc::ok;
}

open_errc open_payload(crypto::engine& engine, const payload_keys& keys, const unmasked& in,
                       opened_packet& out) noexcept {
  std::uint8_t* const payload = in.packet + in.header_size;
  if (!crypto::open(engine, keys.aead, packet_nonce(keys.iv, in.packet_number).view(), {in.packet, in.header_size},
                    {payload, in.size - in.header_size}, payload)) {
    return open_errc::auth_failed;
  }
  if (const open_errc code = judge(in.packet[0]); code != open_errc::ok) return code;
  fill(in, in.packet[0], out);
  return open_errc::ok;
}

open_errc open_payload(crypto::engine& engine, const payload_keys& keys, const unmasked_parts& in,
                       opened_packet& out) noexcept {
  std::array<crypto::text_part, parts_max> texts;
  std::size_t count = 0;
  std::size_t skip = in.header_size;
  std::size_t left = in.size - in.header_size - crypto::aead_tag_size;
  std::size_t behind = 0;  // bytes behind the last text in its part
  for (const crypto::text_part& part : in.parts) {
    const std::size_t skipped = std::min(skip, part.size);
    skip -= skipped;
    const std::size_t take = std::min(part.size - skipped, left);
    left -= take;
    if (take == 0) continue;
    texts[count++] = {part.from + skipped, part.to + skipped, take};
    behind = part.size - skipped - take;
  }
  const packet_nonce nonce(keys.iv, in.packet_number);
  const base::byte_view header{in.header, in.header_size};
  bool authentic = false;
  if (count == 1 && behind >= crypto::aead_tag_size) {
    authentic = crypto::open(engine, keys.aead, nonce.view(), header,
                             {texts[0].from, texts[0].size + crypto::aead_tag_size}, texts[0].to);
  } else {
    std::array<std::uint8_t, crypto::aead_tag_size> tag;
    copy_out(in.parts, in.size - tag.size(), tag);
    authentic = crypto::open_parts(engine, keys.aead, nonce.view(), header, std::span(texts).first(count), tag);
  }
  if (!authentic) return open_errc::auth_failed;
  if (const open_errc code = judge(in.header[0]); code != open_errc::ok) return code;
  fill(in, in.header[0], out);
  return open_errc::ok;
}

open_errc open_packet(crypto::engine& engine, const packet_keys& keys, base::byte_span packet, std::uint32_t pn_offset,
                      std::uint64_t largest_pn, opened_packet& out) noexcept {
  if (!holds_sample(packet.size(), pn_offset)) return open_errc::too_short;
  crypto::header_mask_bytes mask;
  crypto::header_mask(keys.header, packet.subspan(pn_offset + sample_distance, crypto::header_sample_size), mask);
  unmasked plain;
  remove_mask(packet, pn_offset, mask.data(), largest_pn, plain);
  return open_payload(engine, keys, plain, out);
}

open_errc open_packet(crypto::engine& engine, const packet_keys& keys, std::span<const crypto::text_part> parts,
                      std::uint32_t pn_offset, std::uint64_t largest_pn, opened_packet& out) noexcept {
  unmasked_parts plain;
  const open_errc code = remove_mask(keys.header, parts, pn_offset, largest_pn, plain);
  return code == open_errc::ok ? open_payload(engine, keys, plain, out) : code;
}

}  // namespace millrace::quic::protect
