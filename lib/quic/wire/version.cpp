#include "quic/wire/version.hpp"

#include <algorithm>
#include <iterator>

#include "base/endian.hpp"

namespace millrace::quic::wire {
namespace {

constexpr version_number draft_prefix = 0xFF00'00;     // RFC 9000 15 of the drafts: 0xff000000 + number
constexpr unsigned last_draft = 34;                    // draft-ietf-quic-transport-34 became RFC 9000
constexpr unsigned first_separate_lengths_draft = 22;  // one byte for each connection ID length from here on
constexpr unsigned first_invariant_draft = 11;         // the version moved to offset 1 here
constexpr version_number mvfst_prefix = 0xFACE'B0;
constexpr version_number mvfst_first = 0xFACE'B000;  // draft-20 image, nibble lengths

// Ranges registered on the working group's wiki whose packets we do not know beyond RFC 8999.
struct version_range {
  version_number first;
  version_number last;
};
constexpr version_range registered_ranges[] = {
    {0x0700'7000, 0x0700'700F},  // Tencent
    {0x4547'4700, 0x4547'47FF},  // "EGG": quant
    {0x5043'5130, 0x5043'513F},  // "PCQ": picoquic
    {0x5052'4F58, 0x5052'4F58},  // "PROX"
    {0x5147'4F00, 0x5147'4FFF},  // "QGO": quic-go
    {0x5430'3438, 0x5430'3439},  // T048, T049
    {0x5C10'0000, 0x5C10'000F},  // QUIC over SCION
    {0x91C1'7000, 0x91C1'70FF},  // quicly
    {0xABCD'0000, 0xABCD'000F},  // MsQuic
    {0xF0F0'F0F0, 0xF0F0'F0FF},  // ETH Zurich
    {0xF0F0'F1F0, 0xF0F0'F1FF},  // Telecom Italia
    {0xF0F0'F2F0, 0xF0F0'F2FF},  // quinn-noise
    {0xF100'0000, 0xF100'00FF},  // QUIC-LB
    {0xF123'F0C0, 0xF123'F0CF},  // Mozilla
    {0xFF00'0000, 0xFF00'00FF},  // transport drafts, also numbers beyond the last one
    {0xFF01'0000, 0xFF01'00FF},  // v2 drafts
    {0xFF02'0000, 0xFF02'00FF},  // v2 drafts
};
static_assert(std::ranges::is_sorted(registered_ranges, {}, &version_range::first), "searched by halving");

version_family google_family(version_number v) noexcept {
  const unsigned number = google_number(v);
  if (v >> 24 == 'T') return number >= 50 ? version_family::google_tls : version_family::unknown;
  if (number >= 50) return version_family::google_q050;
  return number >= 44 ? version_family::google_q046 : version_family::google_old;
}

}  // namespace

version_family family_of(version_number v) noexcept {
  if (v == version_1) return version_family::ietf_v1;
  if (v == version_2 || v == version_2_draft) return version_family::ietf_v2;
  if (v >> 8 == draft_prefix)
    return (v & 0xFF) != 0 && (v & 0xFF) <= last_draft ? version_family::ietf_draft : version_family::unknown;
  if (v >> 8 == mvfst_prefix) return version_family::mvfst;
  if (is_google_label(v)) return google_family(v);
  return is_reserved_version(v) ? version_family::reserved : version_family::unknown;
}

unsigned draft_of(version_number v) noexcept {
  switch (family_of(v)) {
    case version_family::ietf_draft:
      return v & 0xFF;
    case version_family::mvfst:
      switch (v) {
        case mvfst_first:
          return 20;
        case 0xFACE'B001:
          return 22;
        case 0xFACE'B002:
        case 0xFACE'B00E:  // "experimental": its Initials open with the salt of drafts 23 to 28
          return 27;
        default:
          return 0;  // later ones are aliases of v1, or we were not told
      }
    case version_family::google_tls:
      return google_number(v) == 50 ? 25 : 29;  // T050: Retry has its tag, transport parameters are still 16-bit
    case version_family::google_q050:
      return 27;
    case version_family::unknown:
    case version_family::ietf_v1:
    case version_family::ietf_v2:
    case version_family::google_q046:
    case version_family::google_old:
    case version_family::reserved:
      return 0;
  }
  return 0;
}

header_layout layout_of(version_number v) noexcept {
  switch (family_of(v)) {
    case version_family::ietf_v1:
    case version_family::google_tls:
    case version_family::google_q050:
      return header_layout::rfc9000;
    case version_family::ietf_v2:
      return header_layout::rfc9369;
    case version_family::ietf_draft: {
      const unsigned draft = v & 0xFF;
      if (draft >= first_separate_lengths_draft) return header_layout::rfc9000;
      return draft >= first_invariant_draft ? header_layout::nibbles : header_layout::invariant;
    }
    case version_family::mvfst:
      return v == mvfst_first ? header_layout::nibbles : header_layout::rfc9000;
    case version_family::google_q046:
      return google_number(v) == 49 ? header_layout::invariant : header_layout::nibbles;  // Q049 took the new lengths
    case version_family::google_old:  // the version of the public header lies elsewhere: see gquic.hpp
    case version_family::reserved:
    case version_family::unknown:
      return header_layout::invariant;
  }
  return header_layout::invariant;
}

bool is_registered(version_number v) noexcept {
  if (family_of(v) != version_family::unknown) return true;
  const auto* above = std::ranges::upper_bound(registered_ranges, v, {}, &version_range::first);
  return above != std::begin(registered_ranges) && v <= std::prev(above)->last;
}

bool lists_version(base::byte_view list, version_number wanted) noexcept {
  for (std::size_t i = 0; i + 4 <= list.size(); i += 4)
    if (base::load_be32(list.data() + i) == wanted) return true;
  return false;
}

version_number choose_version(base::byte_view list, std::span<const version_number> ours) noexcept {
  for (const version_number v : ours)
    if (lists_version(list, v)) return v;
  return negotiation_version;
}

}  // namespace millrace::quic::wire
