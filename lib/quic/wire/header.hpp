// quic/wire/header.hpp - the headers of QUIC packets before any key is known.
//
// Shape    parse_packet() reads one packet at the front of the bytes left in a datagram; coalesced packets are read by
//          calling it again behind packet_size. Nothing here needs state: a short header's connection ID length is
//          the caller's knowledge, so it answers only where the ID begins: at offset 1.
// Units    offsets are from the start of the packet. Owner  views die with the datagram.
// Errors   truncated, bad_length (length beyond the datagram; a version list that is empty or no multiple of 4),
//          too_long (a CID over 20 bytes in a version that limits it, RFC 9000 17.2). A fixed bit of 0 is no error
//          here: RFC 9287 lets peers agree on it, so it is reported, and who did not agree drops the packet.
//          Behind the first packet of a datagram anything may stand (RFC 9000 12.2): a packet there is one only when
//          its version and destination are those of the first; else it is junk.
// Source   RFC 8999 5, RFC 9000 17, RFC 9369 3.2, RFC 9287 3. Tests  test/quic/wire/header_test.cpp
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
  unknown_long,  // a long header of a version whose types we do not know: its connection IDs and no more
};

struct packet_header {
  packet_type type{};
  std::uint8_t first_byte = 0;
  bool fixed_bit = false;
  version_number version = 0;  // long headers
  version_family family = version_family::unknown;
  base::byte_view dcid{};           // long headers; empty for short ones
  base::byte_view scid{};           // long headers
  base::byte_view token{};          // Initial; Retry: the Retry token
  base::byte_view retry_tag{};      // Retry: the 16-byte integrity tag; empty in drafts before 25
  base::byte_view original_dcid{};  // Retry of drafts before 25 only: what the tag replaced
  base::byte_view versions{};       // Version Negotiation: 4 bytes each, at least one
  std::uint64_t length = 0;         // Initial, 0-RTT, Handshake: packet number and payload
  std::uint32_t pn_offset = 0;      // where the (protected) packet number begins; short headers: unknown, 0
  std::uint32_t packet_size = 0;    // bytes of this packet; what follows is coalesced
  [[nodiscard]] bool is_long() const noexcept { return (first_byte & 0x80) != 0; }
};

// `in`: the rest of a datagram, from the first byte of the packet. `out` is written on success only, except for
// bad_length, where all fields before the length are valid (a truncated capture still shows its connection IDs).
base::parse_status parse_packet(base::byte_view in, packet_header& out) noexcept;

// What the first bytes of a UDP payload look like, without state. `short_form` is only "could be": any first byte
// 0b01xxxxxx in front of 20 more bytes is (RFC 9000 10.3 refuses less); the flow must have been seen. And once peers
// have agreed on RFC 9287, short headers of a known flow begin with 0b00 as well: those are not_quic here, so whoever
// has a flow table asks it first.
//
// The rule for long headers. Any protocol may begin with a set bit, and only the version field is wide enough to tell
// QUIC apart, so:
//   a version with a family of its own   long_form when the fixed bit is set. No further check: 33 bits have agreed,
//                                        and a broken length behind them is a broken QUIC packet, to be counted so.
//                                        With the bit at 0 (RFC 9287) the first packet must parse, lengths and all.
//   0, Version Negotiation               long_form when a list of at least one version follows the two IDs and one of
//                                        its first 16 is registered or reserved.
//   0x?a?a?a?a, reserved                 long_form when the fixed bit is set and the IDs are as RFC 9000 7.2 has a
//                                        client send them: destination of 8 to 20 bytes, source of at most 20.
//   registered, its packets unknown      long_form when the fixed bit is set, no ID is over 20 bytes and one has 4.
//   anything else                        long_form when the whole shape is that of a client's first datagram: fixed
//                                        bit, 1200 bytes, IDs as above, a token and a length that fit, and behind that
//                                        length the end, or zeros, or another long header of the same version.
// gQUIC is `gquic` when its version label is there, in its public header (first byte 0x00..0x3f) or in the IETF-like
// one of Q044 to Q049, or when it is a public reset with its tag.
enum class datagram_kind : std::uint8_t { not_quic, long_form, short_form, gquic };
[[nodiscard]] datagram_kind classify(base::byte_view payload) noexcept;

inline constexpr std::size_t min_client_dcid_size = 8;          // RFC 9000 7.2
inline constexpr std::size_t min_short_packet_size = 21;        // RFC 9000 10.3: 1 + 4 (sample) + 16 (tag)
inline constexpr std::size_t min_initial_datagram_size = 1200;  // RFC 9000 14.1
inline constexpr std::size_t retry_tag_size = 16;               // RFC 9001 5.8

}  // namespace millrace::quic::wire
