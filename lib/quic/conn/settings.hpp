// quic/conn/settings.hpp - what an endpoint lets its peers do, and how it behaves: the same for all its connections.
//
// Shape    plain values with documented defaults; app/ maps the configuration file onto them. Every number that a peer
//          could use to make us keep something has its bound here, and a counter (conn/counters.hpp) that says when it
//          was met.
// Units    bytes, ns, counts.
// Source   RFC 9000 4 5.1.1 10.1 13.2 18.2, RFC 9221 3. Tests  test/quic/sim/
#pragma once

#include <array>
#include <span>

#include "base/ip_address.hpp"
#include "quic/conn/event_budget.hpp"
#include "quic/recovery/congestion.hpp"
#include "quic/recovery/types.hpp"
#include "quic/wire/version.hpp"

namespace millrace::quic::conn {

struct transport_settings {
  // --- flow control (RFC 9000 4): windows grow from the first value to the second, by consumed bytes only ---
  std::uint64_t connection_window_bytes = 1u << 20;
  std::uint64_t connection_window_most = 24u << 20;
  std::uint64_t stream_window_bytes = 256u << 10;
  std::uint64_t stream_window_most = 16u << 20;
  std::uint64_t streams_bidi = 128;  // that a peer may have open at a time
  std::uint64_t streams_uni = 16;
  std::uint8_t most_cids = 4;     // connection IDs that a peer has of us at a time: at most 4 (RFC 9000 5.1.1)
  event_rate resets{1000, 2000};  // RESET_STREAM and STOP_SENDING of a peer: beyond, the connection is closed

  // --- life ---
  std::uint64_t idle_timeout_ns = 30 * recovery::second;       // RFC 9000 10.1; 0: never
  std::uint64_t handshake_timeout_ns = 10 * recovery::second;  // from the first packet to a confirmed handshake
  std::uint64_t keep_alive_ns = 0;                             // a PING after so much silence; 0: none

  // --- acknowledgements ---
  std::uint64_t max_ack_delay_ns = 25 * recovery::ms;
  std::uint64_t ack_timer_slack_ns = 1 * recovery::ms;  // what our timers are late by
  std::uint8_t ack_delay_exponent = 3;

  // --- datagrams ---
  std::uint16_t max_udp_payload = 65527;          // what we take: the room of a receive buffer
  std::uint16_t initial_datagram_bytes = 1200;    // what we send until the path has shown that it carries more
  std::uint16_t max_datagram_bytes = 1452;        // what is tried at most (RFC 8899): the interface's MTU less headers
  std::uint64_t max_datagram_frame_size = 65535;  // RFC 9221 3; 0: no DATAGRAM frames
  std::uint32_t most_queued_datagrams = 32;       // DATAGRAM frames that wait to be sent, a connection

  // --- handshake ---
  std::uint32_t crypto_window_bytes = 64u << 10;  // CRYPTO bytes ahead of what TLS has read, a level
  std::uint32_t crypto_runs = 32;                 // and in so many pieces
  std::span<const wire::version_number> versions = default_versions;  // most wanted first
  bool prefer_first_version = true;  // RFC 9368: a server moves a client that speaks it to the first of `versions`
  std::uint64_t keep_tickets_ns = 2 * recovery::second;  // client: how long tickets are waited for; 0: not at all
  bool grease = true;                                    // RFC 9287, RFC 9000 18.1

  // --- sending ---
  recovery::congestion_kind congestion = recovery::congestion_kind::cubic;
  std::uint32_t most_sent_blocks = 4096;  // of 28 packets, that one packet number space may hold
  bool use_ecn = true;
  bool skip_numbers = true;  // RFC 9000 21.4
  bool spin_bit = false;     // RFC 9000 17.4

  bool migration = true;  // false: disable_active_migration is sent, and a peer that moves is not followed
  // Servers: where clients are asked to go once the handshake is confirmed (RFC 9000 9.6). Packets that come there
  // reach the same endpoint. Port 0: nowhere.
  base::endpoint preferred_ipv4{}, preferred_ipv6{};
  bool follow_preferred = true;  // clients: go there, when its path proves itself

  static constexpr std::array<wire::version_number, 2> default_versions{wire::version_1, wire::version_2};
};

}  // namespace millrace::quic::conn
