// quic/wire/gquic.hpp - Google QUIC before the IETF: recognised and named, not terminated.
//
// Shape    the public header of Q001..Q043, and the IETF-like long header of Q044..Q049. Reads the version when the
//          packet carries one and the connection ID where it has one.
//          A public header without version and not a reset cannot be told from noise: ask names_itself(), or ask only
//          on flows that showed gQUIC before.
// Units    header_size ends behind the version, or behind the ID where there is no version. What follows is a nonce of
//          32 bytes, which only the sender's side tells, then pn_size bytes of packet number.
// Owner    views die with the payload. Errors  parse_status; unsupported = these bytes are no gQUIC header;
//          truncated, bad_length (a version list that is no multiple of 4). `out` is written on success only.
// Limits   a versionless header is read as Q034 and later wrote it: 0x08 is an 8-byte ID.
// Source   the gQUIC wire specification of Q043 and the Q046 header of draft-ietf-quic-invariants-06.
// Tests    test/quic/wire/gquic_test.cpp, corpus
#pragma once

#include "base/bytes.hpp"
#include "base/parse_status.hpp"
#include "quic/wire/version.hpp"

namespace millrace::quic::wire {

struct gquic_header {
  version_number version = 0;  // 'Q' '0' '4' '3' as a big-endian number; 0 when the packet carries none
  base::byte_view cid;         // 0 or 8 bytes (1 or 4 before Q034); of Q044 and later the server's, whoever sends
  bool public_reset = false;
  bool version_negotiation = false;  // the server's list
  base::byte_view versions;          // its list, 4 bytes each
  std::uint32_t header_size = 0;
  std::uint8_t pn_size = 0;  // 1, 2, 3, 4 or 6; 0 in resets, version lists and where Q049 has a length in front
  // True when the bytes themselves prove gQUIC: a version label, a version list or the tag of a public reset.
  [[nodiscard]] bool names_itself() const noexcept { return version != 0 || version_negotiation || public_reset; }
};

base::parse_status parse_gquic(base::byte_view payload, gquic_header& out) noexcept;

}  // namespace millrace::quic::wire
