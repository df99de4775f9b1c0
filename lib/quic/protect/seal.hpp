// quic/protect/seal.hpp - protecting a packet into an outgoing buffer, its payload gathered from where it lies.
//
// Shape    `out` begins with the header as quic/wire/header_emit.hpp writes it, packet number left open; frame headers,
//          stream data and padding follow from any number of places. Some may be in their place in `out` already.
//          1-RTT packets, whose keys change, go through send_keys.hpp, which also has the burst.
// Units    bytes. `out` has room for header, payload and a tag of 16.
// Owner    payload is borrowed for the call and not changed: a retransmission finds it as it was.
// Why      there are two ways to gather: copy it together and encrypt in place, or let the cipher read it where it
//          lies, piece by piece. The second saves a copy and costs cipher calls, so it wins when there is much to copy:
//          gather_in_parts_bytes. One piece alone is always encrypted on its way.
// Errors   an enum; `out` behind the header is then unspecified, and nothing of it may be sent.
// Source   RFC 9001 5.3 5.4, RFC 9000 17.1 17.2 17.3. Tests  test/quic/protect/seal_test.cpp
#pragma once

#include <span>

#include "quic/protect/packet_keys.hpp"

namespace millrace::quic::protect {

enum class seal_errc : std::uint8_t {
  ok,
  bad_header,             // sizes that contradict each other, a packet number beyond 2^62 - 1
  too_short,              // RFC 9001 5.4.2: pad, so that number and payload have 4 bytes
  no_room,                // `out` is smaller than the packet
  number_reused,          // send_keys only: not above the numbers used before
  confidentiality_spent,  // send_keys only: RFC 9001 6.6, the key has sealed all it may; update it first
};

enum class gather : std::uint8_t { by_size, copy, in_parts };  // the last two for tests and benchmarks

// From this much payload on, several pieces are not copied together. Zen 5, IPsec-MB 1.3, bench/quic/protect: a second
// piece costs the cipher about 70 ns, a copy 20 ns a KiB; at 1452 bytes the copy wins by a quarter, at 4096 the pieces
// by a twentieth, at 8900 by a sixth, and they meet at about 3 KiB.
inline constexpr std::size_t gather_in_parts_bytes = 3072;
inline constexpr std::size_t payload_parts_max = 64;  // more are copied together whatever their size

struct seal_request {
  base::byte_span out;
  std::uint32_t pn_offset = 0;
  std::uint8_t pn_size = 1;  // 1 to 4, as the first byte says
  std::uint64_t packet_number = 0;
  std::span<const base::byte_view> payload;  // in order; empty pieces are allowed
  gather how = gather::by_size;
  // Answers.
  seal_errc code = seal_errc::ok;
  std::uint32_t size = 0;  // of the whole packet, valid when ok
};

// Answers request.code as well. Writes the packet number, and protects.
seal_errc seal_packet(crypto::engine& engine, const packet_keys& keys, seal_request& request) noexcept;

}  // namespace millrace::quic::protect
