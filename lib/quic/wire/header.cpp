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

constexpr std::uint8_t long_bit = 0x80;            // RFC 8999 5.1
constexpr std::uint8_t fixed_bit = 0x40;           // RFC 9000 17.2
constexpr std::uint8_t gquic_names_itself = 0x03;  // a version, a version list or a reset: see gquic.cpp
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

// What every long header begins with.
struct long_start {
  std::uint8_t first = 0;
  version_number version = 0;
  version_family family = version_family::unknown;
  byte_view dcid;
  byte_view scid;
};

// Writes a whole header, field by field into its place: put together elsewhere and copied, the copy's wide loads would
// have to wait for the narrow stores in front of them, which costs as much as the parsing. The fields of one type only
// are the caller's to add.
void publish(const long_start& s, packet_type type, std::size_t packet_size, packet_header& out) noexcept {
  out.type = type;
  out.first_byte = s.first;
  out.fixed_bit = (s.first & fixed_bit) != 0;
  out.version = s.version;
  out.family = s.family;
  out.dcid = s.dcid;
  out.scid = s.scid;
  out.token = {};
  out.retry_tag = {};
  out.original_dcid = {};
  out.versions = {};
  out.length = 0;
  out.pn_offset = 0;
  out.packet_size = static_cast<std::uint32_t>(packet_size);
}

parse_status parse_version_negotiation(byte_view in, const byte_reader& at, const long_start& s,
                                       packet_header& out) noexcept {
  publish(s, packet_type::version_negotiation, in.size(), out);
  // RFC 8999 6: the list fills the datagram, and a list of nothing says nothing.
  if (at.empty() || at.remaining() % 4 != 0) return {parse_errc::bad_length, at.offset()};
  out.versions = at.rest();
  return {};
}

// RFC 9000 17.2.5; the whole rest of the datagram is the packet.
parse_status parse_retry(byte_view in, byte_reader& at, const long_start& s, packet_header& out) noexcept {
  const unsigned draft = draft_of(s.version);
  byte_view original;
  std::size_t tag = retry_tag_size;
  if (draft != 0 && draft < first_tagged_retry_draft) {
    tag = 0;
    const parse_status status = read_cid(at, max_cid_size, original);
    if (!status) return status;
  }
  if (at.remaining() < tag) return {parse_errc::truncated, at.offset()};
  publish(s, packet_type::retry, in.size(), out);
  out.original_dcid = original;
  out.token = at.rest().first(at.remaining() - tag);
  out.retry_tag = at.rest().last(tag);
  return {};
}

// RFC 9000 17.2.2 to 17.2.4: the token of an Initial, and the length that all three share. A field that reaches beyond
// the datagram is bad_length, and what stands in front of it is published all the same.
parse_status parse_numbered(byte_view in, byte_reader& at, const long_start& s, packet_type type,
                            packet_header& out) noexcept {
  std::uint32_t field = at.offset();
  byte_view token;
  if (type == packet_type::initial) {
    std::uint64_t token_size = 0;
    if (!at.varint(token_size)) return {parse_errc::truncated, field};
    if (!at.bytes(token_size, token)) {
      publish(s, type, in.size(), out);
      return {parse_errc::bad_length, field};
    }
    field = at.offset();
  }
  std::uint64_t length = 0;
  if (!at.varint(length)) return {parse_errc::truncated, field};
  const bool fits = length <= at.remaining();
  publish(s, type, fits ? at.offset() + static_cast<std::size_t>(length) : in.size(), out);
  out.token = token;
  out.length = length;
  out.pn_offset = at.offset();
  return fits ? parse_status{} : parse_status{parse_errc::bad_length, field};
}

parse_status parse_long(byte_view in, packet_header& out) noexcept {
  byte_reader at(in);
  long_start s;
  if (!at.u8(s.first) || !at.u32(s.version)) return {parse_errc::truncated, at.offset()};
  s.family = family_of(s.version);
  const header_layout layout = layout_of(s.version);
  const std::size_t limit = limits_cids(layout) ? max_cid_size : max_invariant_cid_size;
  const parse_status status =
      layout == header_layout::nibbles ? read_nibble_cids(at, s.dcid, s.scid) : read_cids(at, limit, s.dcid, s.scid);
  if (!status) return status;
  if (s.version == negotiation_version) return parse_version_negotiation(in, at, s, out);
  if (!limits_cids(layout)) {
    publish(s, packet_type::unknown_long, in.size(), out);  // RFC 8999 knows no length: the datagram's end it is
    return {};
  }
  const packet_type type = long_type(s.first, layout);
  return type == packet_type::retry ? parse_retry(in, at, s, out) : parse_numbered(in, at, s, type, out);
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

// Apart, so that only those who need a header pay for making one.
[[gnu::noinline]] bool parses(byte_view payload) noexcept {
  packet_header header;
  return static_cast<bool>(parse_packet(payload, header));
}

[[gnu::noinline]] bool is_gquic(byte_view payload) noexcept {
  gquic_header header;
  return parse_gquic(payload, header) && header.names_itself();
}

datagram_kind classify_long(byte_view payload) noexcept {
  if (payload.size() < 7) return datagram_kind::not_quic;  // RFC 8999 5.1: two empty IDs make 7 bytes
  const version_number version = base::load_be32(payload.data() + 1);
  if (version == negotiation_version)
    return plausible_version_list(payload) ? datagram_kind::long_form : datagram_kind::not_quic;
  const bool fixed = (payload[0] & fixed_bit) != 0;
  byte_reader behind_version(payload.subspan(5));
  bool is_quic = false;
  switch (family_of(version)) {
    case version_family::ietf_v1:
    case version_family::ietf_v2:
    case version_family::ietf_draft:
    case version_family::mvfst:
    case version_family::google_tls:
    case version_family::google_q050:
      is_quic = fixed || parses(payload);
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
  if (in.empty()) return {parse_errc::truncated, 0};
  const std::uint8_t first = in[0];
  if ((first & long_bit) != 0) return parse_long(in, out);
  out = packet_header{.type = packet_type::one_rtt,
                      .first_byte = first,
                      .fixed_bit = (first & fixed_bit) != 0,
                      .packet_size = static_cast<std::uint32_t>(in.size())};  // RFC 9000 12.2: nothing can follow
  return {};
}

datagram_kind classify(byte_view payload) noexcept {
  if (payload.empty()) return datagram_kind::not_quic;
  const std::uint8_t first = payload[0];
  if ((first & long_bit) != 0) return classify_long(payload);
  if ((first & fixed_bit) != 0)
    return payload.size() >= min_short_packet_size ? datagram_kind::short_form : datagram_kind::not_quic;
  if ((first & gquic_names_itself) == 0) return datagram_kind::not_quic;
  return is_gquic(payload) ? datagram_kind::gquic : datagram_kind::not_quic;
}

}  // namespace millrace::quic::wire
