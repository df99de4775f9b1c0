// quic/wire/gquic.hpp - Google QUIC before the IETF: recognised and named, not terminated.
//
// Shape    the public header of Q001..Q043, and the IETF-like long header of Q044..Q049. Reads the version when the
//          packet carries one and the connection ID where it has one.
// Errors   parse_status; unsupported = these bytes are no gQUIC header.
// Source   the gQUIC wire specification of Q043 and the Q046 header of draft-ietf-quic-invariants-06.
// Tests    test/quic/wire/gquic_test.cpp, corpus
#pragma once

#include "base/bytes.hpp"
#include "base/parse_status.hpp"
#include "quic/wire/version.hpp"

namespace millrace::quic::wire {

struct gquic_header {
  version_number version = 0;  // 'Q' '0' '4' '3' as a big-endian number; 0 when the packet carries none
  base::byte_view cid;         // 0 or 8 bytes
  bool public_reset = false;
  bool version_negotiation = false;  // the server's list
  base::byte_view versions;          // its list, 4 bytes each
  std::uint32_t header_size = 0;
};

base::parse_status parse_gquic(base::byte_view payload, gquic_header& out) noexcept;

}  // namespace millrace::quic::wire
