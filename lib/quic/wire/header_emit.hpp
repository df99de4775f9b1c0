// quic/wire/header_emit.hpp - the headers of QUIC packets, written in front of a payload still to be protected.
//
// Shape    mirrors header.hpp. The packet number itself is not written: emit leaves its 1 to 4 bytes to be filled, for
//          protection wants it apart.
// Units    `length` counts packet number, payload and AEAD tag, as on the wire.
// Owner    views are borrowed for the call.
// Errors   false: no room, or what the version forbids (a connection ID over 20 bytes, a packet number of no or more
//          than 4 bytes, a version whose packet types we do not know); nothing is written then.
// Source   RFC 9000 17.2 17.3, RFC 8999 6, RFC 9369 3.2. Tests  test/quic/wire/header_emit_test.cpp
#pragma once

#include <span>

#include "base/byte_writer.hpp"
#include "quic/wire/header.hpp"

namespace millrace::quic::wire {

struct long_header {
  packet_type type = packet_type::initial;  // initial, zero_rtt or handshake
  version_number version = version_1;
  base::byte_view dcid{};
  base::byte_view scid{};
  base::byte_view token{};   // Initial only, else empty
  std::uint64_t length = 0;  // 2 bytes on the wire up to 16383, 4 bytes beyond: room to patch, and never a surprise
  std::size_t pn_size = 1;
};

// Bytes up to the packet number.
[[nodiscard]] std::size_t encoded_size(const long_header& h) noexcept;

// Writes the header with reserved bits 0, and hands out where the packet number goes.
[[nodiscard]] bool emit(base::byte_writer& out, const long_header& h, base::byte_span& packet_number) noexcept;

struct short_header {
  base::byte_view dcid{};
  bool spin = false;
  bool key_phase = false;
  std::size_t pn_size = 1;
};

[[nodiscard]] std::size_t encoded_size(const short_header& h) noexcept;
[[nodiscard]] bool emit(base::byte_writer& out, const short_header& h, base::byte_span& packet_number) noexcept;

// RFC 9000 17.2.5 without its integrity tag: the 16 bytes that follow are the caller's (quic/protect). False also for
// an empty token, which no client accepts (RFC 9000 17.2.5.2).
[[nodiscard]] bool emit_retry(base::byte_writer& out, version_number version, base::byte_view dcid,
                              base::byte_view scid, base::byte_view token) noexcept;

// RFC 8999 6, RFC 9000 17.2.1: `dcid` is the source and `scid` the destination of the packet that is answered, up to
// 255 bytes; `random` fills the seven bits that mean nothing, the fixed bit apart, which is set.
[[nodiscard]] bool emit_version_negotiation(base::byte_writer& out, std::uint8_t random, base::byte_view dcid,
                                            base::byte_view scid, std::span<const version_number> versions) noexcept;

// The same in answer to a packet with a long header: its connection IDs, exchanged, whatever their lengths (RFC 9000
// 17.2.1). False also when `received` is none that is answered so: a short header, or Version Negotiation itself.
[[nodiscard]] bool answer_with_versions(base::byte_writer& out, std::uint8_t random, const packet_header& received,
                                        std::span<const version_number> versions) noexcept;

}  // namespace millrace::quic::wire
