// The public header packs its own shape into the first byte, and the meaning of two of its bits changed with Q034:
// before, 0x0c was a 2-bit size of the connection ID (0, 1, 4, 8 bytes); since, 0x08 alone means 8 bytes and 0x04 a
// nonce. Clients kept setting both, so that old servers understood them. Where the version is on the wire its label
// settles the question: it must stand right behind an ID of the size assumed.
#include "quic/wire/gquic.hpp"

#include <cstring>

#include "base/byte_reader.hpp"
#include "quic/wire/header.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_reader;
using base::byte_view;
using base::parse_errc;
using base::parse_status;

// Public flags, gQUIC wire specification.
constexpr std::uint8_t flag_version = 0x01;
constexpr std::uint8_t flag_reset = 0x02;
constexpr std::uint8_t flag_cid = 0x08;
constexpr std::uint8_t flags_unused = 0xC0;  // multipath, never sent, and reserved
constexpr std::size_t public_cid_size = 8;

// Of the IETF-like header.
constexpr std::uint8_t long_bit = 0x80;
constexpr unsigned q044 = 44;  // its packet numbers always take 4 bytes
constexpr unsigned q049 = 49;  // the first with a length byte for each ID, a token and a length

std::uint8_t public_pn_size(std::uint8_t flags) noexcept {
  constexpr std::uint8_t sizes[] = {1, 2, 4, 6};
  return sizes[(flags >> 4) & 3];
}

bool label_at(byte_view payload, std::size_t offset) noexcept {
  return payload.size() >= offset + 4 && is_google_label(base::load_be32(payload.data() + offset));
}

// The size of the ID in a header that carries a label, or nothing when no label stands where one could.
bool labelled_cid_size(byte_view payload, std::size_t& size) noexcept {
  constexpr std::size_t old_sizes[] = {0, 1, 4, 8};
  const std::uint8_t flags = payload[0];
  const std::size_t now = (flags & flag_cid) != 0 ? public_cid_size : 0;
  const std::size_t before = old_sizes[(flags >> 2) & 3];
  for (const std::size_t candidate : {now, before})
    if (label_at(payload, 1 + candidate)) {
      size = candidate;
      return true;
    }
  return false;
}

parse_status parse_reset(byte_view payload, gquic_header& h, gquic_header& out) noexcept {
  byte_reader at(payload.subspan(1));
  byte_view tag;
  if (!at.bytes(public_cid_size, h.cid) || !at.bytes(4, tag)) return {parse_errc::truncated, at.offset() + 1};
  if (std::memcmp(tag.data(), "PRST", 4) != 0) return {parse_errc::unsupported, 1 + public_cid_size};
  h.public_reset = true;
  h.header_size = 1 + public_cid_size;
  out = h;
  return {};
}

parse_status parse_labelled(byte_view payload, gquic_header& h, gquic_header& out) noexcept {
  std::size_t cid_size = 0;
  if (!labelled_cid_size(payload, cid_size)) return {parse_errc::unsupported, 0};
  h.cid = payload.subspan(1, cid_size);
  const auto label = static_cast<std::uint32_t>(1 + cid_size);
  const byte_view rest = payload.subspan(label);
  // A server's list: versions up to the end. A client's packet has one, and never ends there, for its packet number
  // must follow.
  if (rest.size() == 4 || label_at(rest, 4)) {
    if (rest.size() % 4 != 0) return {parse_errc::bad_length, label};
    h.version_negotiation = true;
    h.versions = rest;
    h.header_size = label;
    out = h;
    return {};
  }
  h.version = base::load_be32(rest.data());
  h.header_size = label + 4;
  h.pn_size = public_pn_size(payload[0]);
  if (rest.size() < 4u + h.pn_size) return {parse_errc::truncated, static_cast<std::uint32_t>(payload.size())};
  out = h;
  return {};
}

parse_status parse_public(byte_view payload, gquic_header& h, gquic_header& out) noexcept {
  const std::uint8_t flags = payload[0];
  if ((flags & flags_unused) != 0) return {parse_errc::unsupported, 0};
  if ((flags & flag_reset) != 0) return parse_reset(payload, h, out);
  if ((flags & flag_version) != 0) return parse_labelled(payload, h, out);
  byte_reader at(payload.subspan(1));
  h.pn_size = public_pn_size(flags);
  if (!at.bytes((flags & flag_cid) != 0 ? public_cid_size : 0, h.cid) || at.remaining() < h.pn_size)
    return {parse_errc::truncated, at.offset() + 1};
  h.header_size = at.offset() + 1;
  out = h;
  return {};
}

// Q044 to Q049. header.cpp reads the same bytes by RFC 8999 or the drafts; here the two IDs become the one that gQUIC
// has: the server's, which is the destination of what a client sends and the source of what a server sends.
parse_status parse_ietf_like(byte_view payload, gquic_header& h, gquic_header& out) noexcept {
  packet_header packet;
  const parse_status status = parse_packet(payload, packet);
  if (!status) return status;
  if (packet.family != version_family::google_q046) return {parse_errc::unsupported, 1};
  h.version = packet.version;
  h.cid = packet.dcid.empty() ? packet.scid : packet.dcid;
  const unsigned number = google_number(packet.version);
  const std::size_t lengths = number >= q049 ? 2 : 1;
  h.header_size = static_cast<std::uint32_t>(5 + lengths + packet.dcid.size() + packet.scid.size());
  if (number < q049) {
    h.pn_size = number == q044 ? 4 : static_cast<std::uint8_t>((payload[0] & 3) + 1);
    if (payload.size() < h.header_size + h.pn_size)
      return {parse_errc::truncated, static_cast<std::uint32_t>(payload.size())};
  }
  out = h;
  return {};
}

}  // namespace

parse_status parse_gquic(byte_view payload, gquic_header& out) noexcept {
  if (payload.empty()) return {parse_errc::truncated, 0};
  gquic_header h;
  return (payload[0] & long_bit) != 0 ? parse_ietf_like(payload, h, out) : parse_public(payload, h, out);
}

}  // namespace millrace::quic::wire
