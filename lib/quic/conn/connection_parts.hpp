// quic/conn/connection_parts.hpp - small parts of a connection that its .cpp files share.
//
// Tests    test/quic/sim/, test/quic/sim/
#pragma once

#include "quic/path/amplification.hpp"
#include "quic/path/path_challenge.hpp"
#include "quic/path/path_responses.hpp"

namespace millrace::quic::conn {

// Frames of the connection itself that wait to be sent; what they say is decided when they are.
enum pending : std::uint32_t {
  pending_ping = 1,
  pending_handshake_done = 2,
  pending_new_token = 4,
  pending_max_data = 8,
  pending_max_streams_bidi = 16,
  pending_max_streams_uni = 32,
  pending_data_blocked = 64,
  pending_streams_blocked_bidi = 128,
  pending_streams_blocked_uni = 256,
  pending_close = 512,
};
enum class token_kind : std::uint8_t {
  ack,
  ping,
  crypto,
  handshake_done,
  new_token,
  max_data,
  max_streams_bidi,
  max_streams_uni,
  data_blocked,
  streams_blocked,
  new_cid,
  retire_cid,
  mtu_probe,
  size_note,  // of a packet above 1200 bytes: for the path's size alone
  datagram,
  stream,
  reset_stream,
  stop_sending,
  max_stream_data,
  stream_data_blocked,
};
inline constexpr std::size_t datagram_overhead =
    64;  // around a DATAGRAM's bytes: header, ID, number, type, tag, an ACK
inline constexpr std::uint64_t open_wait_ns = 10'000'000;  // open() had no memory: until the store is looked at again
inline constexpr std::size_t least_packet_bytes = 64;      // below that nothing useful fits: header, number, tag

struct path_state {
  path::amplification amount;
  path::path_challenge challenge;
  path::path_responses responses;
  std::uint64_t remote_cid = 0;  // its number
  std::uint16_t interface = 0;
  bool has_cid = false;
};

// What a connection did, for who wants to tell of it.
struct connection_statistics {
  std::uint64_t packets_received = 0, packets_sent = 0, packets_lost = 0;
  std::uint64_t bytes_received = 0, bytes_sent = 0;  // of UDP payload
  std::uint64_t window_bytes = 0, in_flight_bytes = 0;
  std::uint64_t smoothed_rtt_ns = 0, least_rtt_ns = 0;  // 0: no sample yet
  std::uint32_t mtu_bytes = 0, open_streams = 0, key_updates = 0;
};

}  // namespace millrace::quic::conn
