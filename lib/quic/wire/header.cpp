// One walk over the bytes, front to back, each length checked before it is used. All of RFC 8999 is read first: it
// holds for every version; then the version's layout decides how much more may be believed. What could go wrong: a
// length that reaches beyond the datagram is two different things, a lie in a whole datagram and the truth in one that
// a capture cut short. Both answer bad_length with everything in front of that length already in `out`.
#include "quic/wire/header.hpp"

#include <algorithm>

#include "base/byte_reader.hpp"
#include "quic/wire/gquic.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_reader;
using base::byte_view;
using base::parse_errc;
using base::parse_status;

constexpr std::uint8_t long_bit = 0x80;   // RFC 8999 5.1
constexpr std::uint8_t fixed_bit = 0x40;  // RFC 9000 17.2
constexpr unsigned first_tagged_retry_draft = 25;
constexpr std::size_t max_judged_versions = 16;  // of a Version Negotiation list, when judging what a payload is

// RFC 8999 5.1: a byte of length before each ID. `limit` is 255 where the version sets none.
parse_status read_cid(byte_reader& in, std::size_t limit, byte_view& cid) noexcept {
  const std::uint32_t at = in.offset();
  std::uint8_t size = 0;
  if (!in.u8(size)) return {parse_errc::truncated, at};
  // Before the end is looked at: 21 is too long wherever the datagram stops.
  if (size > limit) return {parse_errc::too_long, at};
  if (!in.bytes(size, cid)) return {parse_errc::truncated, in.offset()};
  return {};
}

parse_status read_cids(byte_reader& in, std::size_t limit, byte_view& dcid, byte_view& scid) noexcept {
  const parse_status status = read_cid(in, limit, dcid);
  return status ? read_cid(in, limit, scid) : status;
}

// draft-ietf-quic-transport-21 17.2: DCIL and SCIL, 4 bits each; 0 means none, else 3 more than the number.
parse_status read_nibble_cids(byte_reader& in, byte_view& dcid, byte_view& scid) noexcept {
  const auto size_of = [](unsigned nibble) { return nibble == 0 ? 0u : nibble + 3; };
  std::uint8_t sizes = 0;
  if (in.u8(sizes) && in.bytes(size_of(sizes >> 4), dcid) && in.bytes(size_of(sizes & 0xF), scid)) return {};
  return {parse_errc::truncated, in.offset()};
}

bool limits_cids(header_layout layout) noexcept {
  return layout == header_layout::rfc9000 || layout == header_layout::rfc9369;
}

packet_type long_type(std::uint8_t first, header_layout layout) noexcept {
  constexpr packet_type types[] = {packet_type::initial, packet_type::zero_rtt, packet_type::handshake,
                                   packet_type::retry};
  const unsigned bits = (first >> 4) & 3;
  // RFC 9369 3.2: Initial 1, 0-RTT 2, Handshake 3, Retry 0.
  return types[layout == header_layout::rfc9369 ? (bits + 3) & 3 : bits];
}

// Puts `h` where the caller sees it although the packet is not whole; the caller of parse_packet still gets its IDs.
parse_status cut_short(const packet_header& h, byte_view in, std::uint32_t at, packet_header& out) noexcept {
  out = h;
  out.packet_size = static_cast<std::uint32_t>(in.size());
  return {parse_errc::bad_length, at};
}

parse_status parse_version_negotiation(byte_view in, byte_reader& at, packet_header& h, packet_header& out) noexcept {
  h.type = packet_type::version_negotiation;
  // RFC 8999 6: the list fills the datagram, and a list of nothing says nothing.
  if (at.empty() || at.remaining() % 4 != 0) return cut_short(h, in, at.offset(), out);
  h.versions = at.rest();
  h.packet_size = static_cast<std::uint32_t>(in.size());
  out = h;
  return {};
}

// RFC 9000 17.2.5; the whole rest of the datagram is the packet.
parse_status parse_retry(byte_view in, byte_reader& at, packet_header& h, packet_header& out) noexcept {
  const unsigned draft = draft_of(h.version);
  if (draft != 0 && draft < first_tagged_retry_draft) {
    std::uint8_t size = 0;
    if (!at.u8(size)) return {parse_errc::truncated, at.offset()};
    if (size > max_cid_size) return {parse_errc::too_long, at.offset() - 1};
    if (!at.bytes(size, h.original_dcid)) return {parse_errc::truncated, at.offset()};
    h.token = at.rest();
  } else {
    if (at.remaining() < retry_tag_size) return {parse_errc::truncated, at.offset()};
    h.token = at.rest().first(at.remaining() - retry_tag_size);
    h.retry_tag = at.rest().last(retry_tag_size);
  }
  h.packet_size = static_cast<std::uint32_t>(in.size());
  out = h;
  return {};
}

// RFC 9000 17.2.2 to 17.2.4: the token of an Initial, and the length that all three share.
parse_status parse_numbered(byte_view in, byte_reader& at, packet_header& h, packet_header& out) noexcept {
  std::uint32_t field = at.offset();
  if (h.type == packet_type::initial) {
    std::uint64_t token_size = 0;
    if (!at.varint(token_size)) return {parse_errc::truncated, field};
    if (!at.bytes(token_size, h.token)) return cut_short(h, in, field, out);
    field = at.offset();
  }
  if (!at.varint(h.length)) return {parse_errc::truncated, field};
  h.pn_offset = at.offset();
  if (h.length > at.remaining()) return cut_short(h, in, field, out);
  h.packet_size = h.pn_offset + static_cast<std::uint32_t>(h.length);
  out = h;
  return {};
}

parse_status parse_long(byte_view in, byte_reader& at, packet_header& h, packet_header& out) noexcept {
  if (!at.u32(h.version)) return {parse_errc::truncated, at.offset()};
  h.family = family_of(h.version);
  const header_layout layout = layout_of(h.version);
  const std::size_t limit = limits_cids(layout) ? max_cid_size : max_invariant_cid_size;
  const parse_status status = layout == header_layout::nibbles ? read_nibble_cids(at, h.dcid, h.scid)  //
                                                               : read_cids(at, limit, h.dcid, h.scid);
  if (!status) return status;
  if (h.version == negotiation_version) return parse_version_negotiation(in, at, h, out);
  if (!limits_cids(layout)) {
    h.type = packet_type::unknown_long;
    h.packet_size = static_cast<std::uint32_t>(in.size());  // RFC 8999 knows no length: the datagram's end it is
    out = h;
    return {};
  }
  h.type = long_type(h.first_byte, layout);
  return h.type == packet_type::retry ? parse_retry(in, at, h, out) : parse_numbered(in, at, h, out);
}

// ---- classify

bool plausible_version_list(byte_view payload) noexcept {
  byte_reader at(payload.subspan(5));
  byte_view dcid;
  byte_view scid;
  if (!read_cids(at, max_invariant_cid_size, dcid, scid) || at.empty() || at.remaining() % 4 != 0) return false;
  std::uint32_t version = 0;
  for (std::size_t i = 0; i < max_judged_versions && at.u32(version); ++i)
    if (version != negotiation_version && is_registered(version)) return true;
  return false;
}

// RFC 9000 7.2: a client picks 8 bytes or more for the server it does not know yet.
bool plausible_client_cids(byte_reader& at) noexcept {
  byte_view dcid;
  byte_view scid;
  return read_cids(at, max_cid_size, dcid, scid) && dcid.size() >= min_client_dcid_size;
}

// Either side may do without an ID, not both; DNS, whose counters look like lengths, has 1 and 0 here.
bool plausible_cids(byte_reader& at) noexcept {
  constexpr std::size_t least = 4;
  byte_view dcid;
  byte_view scid;
  return read_cids(at, max_cid_size, dcid, scid) && std::max(dcid.size(), scid.size()) >= least;
}

// The shape of a client's first datagram in a version that nobody announced: everything must agree.
bool plausible_first_datagram(byte_view payload, version_number version) noexcept {
  if (payload.size() < min_initial_datagram_size) return false;
  byte_reader at(payload.subspan(5));
  std::uint64_t size = 0;
  if (!plausible_client_cids(at)) return false;
  if (!at.varint(size) || !at.skip(size) || !at.varint(size) || size < min_short_packet_size || !at.skip(size))
    return false;
  const byte_view rest = at.rest();
  if (rest.size() >= 5 && (rest[0] & long_bit) != 0) return base::load_be32(rest.data() + 1) == version;
  return std::ranges::all_of(rest, [](std::uint8_t b) { return b == 0; });
}

datagram_kind classify_long(byte_view payload) noexcept {
  if (payload.size() < 7) return datagram_kind::not_quic;  // RFC 8999 5.1: two empty IDs make 7 bytes
  const version_number version = base::load_be32(payload.data() + 1);
  if (version == negotiation_version)
    return plausible_version_list(payload) ? datagram_kind::long_form : datagram_kind::not_quic;
  const bool fixed = (payload[0] & fixed_bit) != 0;
  byte_reader behind_version(payload.subspan(5));
  packet_header header;
  bool is_quic = false;
  switch (family_of(version)) {
    case version_family::ietf_v1:
    case version_family::ietf_v2:
    case version_family::ietf_draft:
    case version_family::mvfst:
    case version_family::google_tls:
    case version_family::google_q050:
      is_quic = fixed || parse_packet(payload, header);
      break;
    case version_family::google_q046:
      return fixed ? datagram_kind::gquic : datagram_kind::not_quic;
    case version_family::google_old:  // its version stands elsewhere
      break;
    case version_family::reserved:
      is_quic = fixed && plausible_client_cids(behind_version);
      break;
    case version_family::unknown:
      is_quic = fixed &&
                (is_registered(version) ? plausible_cids(behind_version) : plausible_first_datagram(payload, version));
      break;
  }
  return is_quic ? datagram_kind::long_form : datagram_kind::not_quic;
}

}  // namespace

parse_status parse_packet(byte_view in, packet_header& out) noexcept {
  byte_reader at(in);
  packet_header h;
  if (!at.u8(h.first_byte)) return {parse_errc::truncated, 0};
  h.fixed_bit = (h.first_byte & fixed_bit) != 0;
  if (h.is_long()) return parse_long(in, at, h, out);
  h.type = packet_type::one_rtt;
  h.packet_size = static_cast<std::uint32_t>(in.size());  // RFC 9000 12.2: nothing can follow a short header
  out = h;
  return {};
}

datagram_kind classify(byte_view payload) noexcept {
  if (payload.empty()) return datagram_kind::not_quic;
  const std::uint8_t first = payload[0];
  if ((first & long_bit) != 0) return classify_long(payload);
  if ((first & fixed_bit) != 0)
    return payload.size() >= min_short_packet_size ? datagram_kind::short_form : datagram_kind::not_quic;
  gquic_header header;
  if (!parse_gquic(payload, header)) return datagram_kind::not_quic;
  return header.names_itself() ? datagram_kind::gquic : datagram_kind::not_quic;
}

}  // namespace millrace::quic::wire
