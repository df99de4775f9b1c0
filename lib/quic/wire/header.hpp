// quic/wire/header.hpp - the headers of QUIC packets before any key is known.
//
// Shape    parse_packet() reads one packet at the front of the bytes left in a datagram; coalesced packets are read by
//          calling it again behind packet_size. Nothing here needs state: a short header's connection ID length is
//          the caller's knowledge, so it answers only where the ID begins.
// Units    offsets are from the start of the packet. Owner  views die with the datagram.
// Errors   truncated, bad_length (length beyond the datagram), too_long (a CID over 20 bytes in a version that limits
//          it, RFC 9000 17.2), unsupported (fixed bit 0 in a known version).
// Source   RFC 8999 5, RFC 9000 17, RFC 9369 3.2. Tests  test/quic/wire/header_test.cpp
#pragma once

#include "base/bytes.hpp"
#include "base/parse_status.hpp"
#include "quic/wire/version.hpp"

namespace millrace::quic::wire {

inline constexpr std::size_t max_cid_size = 20;             // RFC 9000 17.2: v1, v2
inline constexpr std::size_t max_invariant_cid_size = 255;  // RFC 8999 5.1

enum class packet_type : std::uint8_t {
  initial,
  zero_rtt,
  handshake,
  retry,
  version_negotiation,
  one_rtt,
  unknown_long,  // a long header of a version whose types we do not know: RFC 8999 fields only
};

struct packet_header {
  packet_type type{};
  std::uint8_t first_byte = 0;
  bool fixed_bit = false;
  version_number version = 0;  // long headers
  version_family family = version_family::unknown;
  base::byte_view dcid;           // long headers; empty for short ones
  base::byte_view scid;           // long headers
  base::byte_view token;          // Initial; Retry: the Retry token
  base::byte_view retry_tag;      // Retry: the 16-byte integrity tag
  base::byte_view versions;       // Version Negotiation: 4 bytes each, at least one
  std::uint64_t length = 0;       // Initial, 0-RTT, Handshake: packet number and payload
  std::uint32_t pn_offset = 0;    // where the (protected) packet number begins; short headers: unknown, 0
  std::uint32_t packet_size = 0;  // bytes of this packet; what follows is coalesced
  [[nodiscard]] bool is_long() const noexcept { return (first_byte & 0x80) != 0; }
};

// `in`: the rest of a datagram, from the first byte of the packet. `out` is written on success only, except for
// bad_length, where all fields before the length are valid (a truncated capture still shows its connection IDs).
base::parse_status parse_packet(base::byte_view in, packet_header& out) noexcept;

// What the first bytes of a UDP payload look like, without state. `short_form` is only "could be": any first byte
// 0b01xxxxxx is; the flow must have been seen.
enum class datagram_kind : std::uint8_t { not_quic, long_form, short_form, gquic };
[[nodiscard]] datagram_kind classify(base::byte_view payload) noexcept;

}  // namespace millrace::quic::wire
