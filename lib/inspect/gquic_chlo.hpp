// inspect/gquic_chlo.hpp - the client hello of Google's own handshake: who it is for.
//
// Shape    chlo_size() tells from the first bytes of a handshake stream how many make the message; read_chlo() finds
//          the server name in a whole one. find_plain_chlo() finds the message in a packet of Q0xx up to Q049, whose
//          handshake packets are not encrypted, only hashed.
// Owner    views point into the input.
// Errors   sizes of 0 and empty views: these bytes are no CHLO. Nothing is guessed from parts of one.
// Limits   max_tags tags.
// Source   "QUIC Crypto" (message encoding, CHLO), gQUIC wire specification (STREAM frame). Tests
//          test/inspect/gquic_chlo_test.cpp, corpus
#pragma once

#include "base/bytes.hpp"
#include "quic/wire/gquic.hpp"

namespace millrace::inspect {

inline constexpr std::size_t max_chlo_tags = 128;  // "QUIC Crypto": a message has at most 128 entries

// Bytes of the message at the front of `stream`: 0 when they are too few to tell. `is_chlo` is false when the bytes
// that are there cannot begin a CHLO.
[[nodiscard]] std::size_t chlo_size(base::byte_view stream, bool& is_chlo) noexcept;

struct chlo {
  std::string_view sni;  // empty when absent
  bool has_sni = false;
};

// `message`: chlo_size() bytes. False: its tags or offsets cannot be.
[[nodiscard]] bool read_chlo(base::byte_view message, chlo& out) noexcept;

// The CHLO in a client's packet, or an empty view. `version` is the connection's.
[[nodiscard]] base::byte_view find_plain_chlo(base::byte_view packet, const quic::wire::gquic_header& header,
                                              quic::wire::version_number version) noexcept;

}  // namespace millrace::inspect
