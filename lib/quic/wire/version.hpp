// quic/wire/version.hpp - the QUIC versions we can name, and what sets them apart on the wire.
//
// Source   RFC 9000 15, RFC 9369 3, draft-ietf-quic-transport, draft-ietf-quic-version-negotiation.
// Tests    test/quic/wire/version_test.cpp
#pragma once

#include <cstdint>

namespace millrace::quic::wire {

using version_number = std::uint32_t;

inline constexpr version_number version_negotiation = 0;  // RFC 8999 6
inline constexpr version_number version_1 = 0x0000'0001;
inline constexpr version_number version_2 = 0x6B33'43CF;  // RFC 9369 3.1

enum class version_family : std::uint8_t {
  unknown,
  ietf_v1,      // v1: long packet types as RFC 9000
  ietf_v2,      // v2: long packet types rotated, RFC 9369 3.2
  ietf_draft,   // 0xff0000NN
  mvfst,        // 0xfaceb00x: IETF drafts under another name
  google_tls,   // T050, T051: gQUIC numbering, IETF long header, TLS in CRYPTO
  google_q050,  // Q050: IETF long header, gQUIC handshake in CRYPTO
  google_q046,  // Q044..Q049: IETF-like header without a length
  google_old,   // Q0xx up to Q043: the gQUIC public header
  reserved,     // 0x?a?a?a?a: forces version negotiation, RFC 9000 15
};

[[nodiscard]] version_family family_of(version_number v) noexcept;

// The draft number whose wire image `v` has (29 for 0xff00001d and for T051's relatives), 0 for v1/v2/unknown.
[[nodiscard]] unsigned draft_of(version_number v) noexcept;

}  // namespace millrace::quic::wire
