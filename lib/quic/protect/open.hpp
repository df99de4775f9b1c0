// quic/protect/open.hpp - taking both protections off a packet, where it lies or on its way elsewhere.
//
// Shape    one packet under known keys; 1-RTT packets, whose keys change, go through receive_keys.hpp, which also has
//          the burst. A packet lies in one run, opened in place, or in parts: each says where its bytes are and where
//          they go. Parts of memory that others share name other memory; all others name their own.
// Units    pn_offset and sizes are bytes from the packet's first byte. The packet ends where its header says: whoever
//          parsed it cuts off what is coalesced behind.
// Owner    same owner before and after. Header and payload are plain afterwards, the tag is as it was; after a refusal
//          the payload is cleared and the header is as good as lost.
// Limits   split_header_max bytes of header that does not lie in the first part; parts_max parts.
// Errors   an enum, reason_of() has the counter it goes under; `out` is written on success only. reserved_bits means an
//          authentic packet from a broken peer: RFC 9000 17.2 has the connection end with PROTOCOL_VIOLATION.
// Source   RFC 9001 5.3 5.4 5.5 9.5, RFC 9000 17.2 17.3. Tests  test/quic/protect/open_test.cpp
#pragma once

#include <span>

#include "quic/protect/packet_keys.hpp"
#include "stats/drop_reason.hpp"

namespace millrace::quic::protect {

inline constexpr std::size_t split_header_max = 512;
inline constexpr std::size_t parts_max = 64;  // a 64 KiB datagram in buffers of 2 KiB, twice

enum class open_errc : std::uint8_t {
  ok,
  too_short,        // no room for a sample and a tag
  no_room,          // open_initial only: `out` is smaller than the packet
  auth_failed,      // not what the sender sealed, or not under this key
  reserved_bits,    // authentic, with reserved bits set
  too_many_parts,   // our limits
  integrity_spent,  // RFC 9001 6.6: too many forgeries were met; the connection must end with AEAD_LIMIT_REACHED
};
// The reason under which a refusal is counted; `none` for ok.
[[nodiscard]] stats::drop_reason reason_of(open_errc code) noexcept;

struct opened_packet {
  std::uint64_t packet_number = 0;
  std::uint32_t header_size = 0;   // up to and with the packet number
  std::uint32_t payload_size = 0;  // frames; the tag behind them is not counted
  std::uint8_t first_byte = 0;     // unprotected
  bool key_update = false;         // this packet was the first of a new key phase (receive_keys only)
};

// `largest_pn`: the largest number opened in this space and direction, wire::no_packet_number when none.
[[nodiscard]] open_errc open_packet(crypto::engine& engine, const packet_keys& keys, base::byte_span packet,
                                    std::uint32_t pn_offset, std::uint64_t largest_pn, opened_packet& out) noexcept;
[[nodiscard]] open_errc open_packet(crypto::engine& engine, const packet_keys& keys,
                                    std::span<const crypto::text_part> parts, std::uint32_t pn_offset,
                                    std::uint64_t largest_pn, opened_packet& out) noexcept;

}  // namespace millrace::quic::protect
