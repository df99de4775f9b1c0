#include "quic/wire/header_emit.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_span;
using base::byte_view;
using base::byte_writer;

constexpr std::uint8_t long_form = 0xC0;   // form and fixed bit
constexpr std::uint8_t short_form = 0x40;  // fixed bit
constexpr std::uint8_t spin_bit = 0x20;    // RFC 9000 17.3.1
constexpr std::uint8_t key_phase_bit = 0x04;
constexpr std::uint64_t max_short_length = 0x3FFF;  // what 2 bytes of varint hold
constexpr std::uint64_t max_length = 0x3FFF'FFFF;   // and 4

std::size_t length_size(std::uint64_t length) noexcept { return length <= max_short_length ? 2 : 4; }

// The two type bits, or false where the version has none that we know.
bool type_bits(packet_type type, version_number version, std::uint8_t& bits) noexcept {
  unsigned number = 0;
  switch (type) {
    case packet_type::initial:
      number = 0;
      break;
    case packet_type::zero_rtt:
      number = 1;
      break;
    case packet_type::handshake:
      number = 2;
      break;
    case packet_type::retry:
      number = 3;
      break;
    case packet_type::version_negotiation:
    case packet_type::one_rtt:
    case packet_type::unknown_long:
      return false;
  }
  switch (layout_of(version)) {
    case header_layout::rfc9000:
      break;
    case header_layout::rfc9369:  // RFC 9369 3.2
      number = (number + 1) & 3;
      break;
    case header_layout::invariant:
    case header_layout::nibbles:
      return false;
  }
  bits = static_cast<std::uint8_t>(number << 4);
  return true;
}

// Room was reserved before: from here on nothing fails.
std::uint8_t* put_bytes(std::uint8_t* at, byte_view in) noexcept {
  if (!in.empty()) std::memcpy(at, in.data(), in.size());
  return at + in.size();
}

std::uint8_t* put_long_start(std::uint8_t* at, std::uint8_t first, version_number version, byte_view dcid,
                             byte_view scid) noexcept {
  *at++ = first;
  base::store_be32(at, version);
  at += 4;
  *at++ = static_cast<std::uint8_t>(dcid.size());
  at = put_bytes(at, dcid);
  *at++ = static_cast<std::uint8_t>(scid.size());
  return put_bytes(at, scid);
}

std::size_t long_start_size(byte_view dcid, byte_view scid) noexcept { return 7 + dcid.size() + scid.size(); }

bool is_packet_number_size(std::size_t size) noexcept { return size >= 1 && size <= 4; }

bool can_emit(const long_header& h) noexcept {
  return h.type != packet_type::retry && is_packet_number_size(h.pn_size) && h.dcid.size() <= max_cid_size &&
         h.scid.size() <= max_cid_size && h.length <= max_length && (h.token.empty() || h.type == packet_type::initial);
}

}  // namespace

std::size_t encoded_size(const long_header& h) noexcept {
  const std::size_t token = h.type == packet_type::initial ? base::varint_size(h.token.size()) + h.token.size() : 0;
  return long_start_size(h.dcid, h.scid) + token + length_size(h.length);
}

bool emit(byte_writer& out, const long_header& h, byte_span& packet_number) noexcept {
  std::uint8_t bits = 0;
  byte_span room;
  if (!can_emit(h) || !type_bits(h.type, h.version, bits)) return false;
  const std::size_t size = encoded_size(h);
  if (!out.reserve(size + h.pn_size, room)) return false;
  std::uint8_t* at = put_long_start(room.data(), static_cast<std::uint8_t>(long_form | bits | (h.pn_size - 1)),
                                    h.version, h.dcid, h.scid);
  if (h.type == packet_type::initial) {
    at += base::encode_varint(at, h.token.size());
    at = put_bytes(at, h.token);
  }
  if (length_size(h.length) == 2) {
    base::store_be16(at, static_cast<std::uint16_t>(0x4000 | h.length));
  } else {
    base::store_be32(at, static_cast<std::uint32_t>(0x8000'0000 | h.length));
  }
  packet_number = room.subspan(size);
  return true;
}

std::size_t encoded_size(const short_header& h) noexcept { return 1 + h.dcid.size(); }

bool emit(byte_writer& out, const short_header& h, byte_span& packet_number) noexcept {
  byte_span room;
  if (!is_packet_number_size(h.pn_size) || h.dcid.size() > max_cid_size ||
      !out.reserve(encoded_size(h) + h.pn_size, room))
    return false;
  room[0] = static_cast<std::uint8_t>(short_form | (h.spin ? spin_bit : 0) | (h.key_phase ? key_phase_bit : 0) |
                                      (h.pn_size - 1));
  put_bytes(room.data() + 1, h.dcid);
  packet_number = room.subspan(encoded_size(h));
  return true;
}

bool emit_retry(byte_writer& out, version_number version, byte_view dcid, byte_view scid, byte_view token) noexcept {
  std::uint8_t bits = 0;
  byte_span room;
  if (token.empty() || dcid.size() > max_cid_size || scid.size() > max_cid_size ||
      !type_bits(packet_type::retry, version, bits) || !out.reserve(long_start_size(dcid, scid) + token.size(), room))
    return false;
  put_bytes(put_long_start(room.data(), static_cast<std::uint8_t>(long_form | bits), version, dcid, scid), token);
  return true;
}

bool emit_version_negotiation(byte_writer& out, std::uint8_t random, byte_view dcid, byte_view scid,
                              std::span<const version_number> versions) noexcept {
  byte_span room;
  if (versions.empty() || dcid.size() > max_invariant_cid_size || scid.size() > max_invariant_cid_size ||
      !out.reserve(long_start_size(dcid, scid) + 4 * versions.size(), room))
    return false;
  // RFC 8999 6 leaves seven bits free; RFC 9000 17.2.1: the fixed one should be set, so that a demultiplexer (RFC 7983)
  // still knows QUIC.
  std::uint8_t* at =
      put_long_start(room.data(), static_cast<std::uint8_t>(long_form | random), negotiation_version, dcid, scid);
  for (const version_number v : versions) {
    base::store_be32(at, v);
    at += 4;
  }
  return true;
}

bool answer_with_versions(byte_writer& out, std::uint8_t random, const packet_header& received,
                          std::span<const version_number> versions) noexcept {
  return received.is_long() && received.type != packet_type::version_negotiation &&
         emit_version_negotiation(out, random, received.scid, received.dcid, versions);
}

}  // namespace millrace::quic::wire
