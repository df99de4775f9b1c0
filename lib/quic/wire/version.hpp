// quic/wire/version.hpp - the QUIC versions we can name, and what sets them apart on the wire.
//
// Shape    pure functions of the number; a version nobody told us about is `unknown`, and of its packets only the
//          fields of RFC 8999 may be read.
// Errors   none: every 32-bit number has an answer.
// Source   RFC 8999 5, RFC 9000 6.2 15 and 22.2, RFC 9369 3, draft-ietf-quic-transport-11 to -34, the wiki page
//          "QUIC Versions" of the QUIC working group (registered ranges).
// Tests    test/quic/wire/version_test.cpp
#pragma once

#include <span>

#include "base/bytes.hpp"

namespace millrace::quic::wire {

using version_number = std::uint32_t;

inline constexpr version_number negotiation_version = 0;  // RFC 8999 6: no version, a list of them follows
inline constexpr version_number version_1 = 0x0000'0001;
inline constexpr version_number version_2 = 0x6B33'43CF;  // RFC 9369 3.1
// draft-ietf-quic-v2 01 to 04: packets as version 2 writes them, under a salt of its own. ngtcp2 0.12 still speaks it.
inline constexpr version_number version_2_draft = 0x709A'50C4;

enum class version_family : std::uint8_t {
  unknown,
  ietf_v1,      // v1: long packet types as RFC 9000
  ietf_v2,      // v2 and its drafts: long packet types rotated, RFC 9369 3.2
  ietf_draft,   // 0xff0000NN
  mvfst,        // 0xfaceb00x: IETF drafts under another name
  google_tls,   // T050, T051: gQUIC numbering, IETF long header, TLS in CRYPTO
  google_q050,  // Q050: IETF long header, gQUIC handshake in CRYPTO
  google_q046,  // Q044..Q049: IETF-like header without a length
  google_old,   // Q0xx up to Q043: the gQUIC public header
  reserved,     // 0x?a?a?a?a: forces version negotiation, RFC 9000 15
};

[[nodiscard]] version_family family_of(version_number v) noexcept;

// The draft number whose wire image `v` has (29 for 0xff00001d and for T051), 0 for v1, v2, aliases of v1, unknown.
[[nodiscard]] unsigned draft_of(version_number v) noexcept;

// What lies behind the version field of a long header.
enum class header_layout : std::uint8_t {
  invariant,  // RFC 8999 5.1: a length byte before each connection ID, and nothing more is known
  rfc9000,    // the same, then type bits, token and length of RFC 9000 17.2
  rfc9369,    // the same with the four types rotated, RFC 9369 3.2
  nibbles,    // drafts 11 to 21 and gQUIC Q044 to Q048: both lengths share one byte, 4 bits each, 0 or 3 + n
};
[[nodiscard]] header_layout layout_of(version_number v) noexcept;

// True when somebody has announced `v`: it has a family, or it lies in a range registered with the working group.
// False for the rest of the number space, where RFC 9000 15 lets anybody pick at random.
[[nodiscard]] bool is_registered(version_number v) noexcept;

// 'Q' or 'T' and three digits, the first of them 0: how gQUIC spells its versions.
[[nodiscard]] constexpr bool is_google_label(version_number v) noexcept {
  const auto digit = [v](unsigned shift) { return ((v >> shift) & 0xFF) - '0' <= 9; };
  const version_number letter = v >> 24;
  return (letter == 'Q' || letter == 'T') && ((v >> 16) & 0xFF) == '0' && digit(8) && digit(0);
}
// The number in such a label: 43 for Q043. Meaningless for any other version.
[[nodiscard]] constexpr unsigned google_number(version_number v) noexcept {
  return (((v >> 8) & 0xFF) - '0') * 10 + ((v & 0xFF) - '0');
}

// RFC 9000 15: 0x?a?a?a?a, used to exercise version negotiation; no endpoint ever speaks one.
[[nodiscard]] constexpr bool is_reserved_version(version_number v) noexcept { return (v & 0x0F0F'0F0F) == 0x0A0A'0A0A; }

// Whether a list as packets have it, 4 bytes each, names `wanted`. RFC 9000 6.2: a client ignores a Version Negotiation
// that lists the version it tried.
[[nodiscard]] bool lists_version(base::byte_view list, version_number wanted) noexcept;

// Of the versions that `list` offers, the first of `ours` (most wanted first); 0 when there is none. RFC 9000 6.2.
[[nodiscard]] version_number choose_version(base::byte_view list, std::span<const version_number> ours) noexcept;

}  // namespace millrace::quic::wire
