// quic/endpoint/settings.hpp - how large an endpoint is, and under which keys it works.
//
// Source   RFC 9000 8.1, 10.3, 21. Tests  test/quic/endpoint/
#pragma once

#include "quic/conn/settings.hpp"
#include "quic/endpoint/source_limits.hpp"
#include "quic/path/address_token.hpp"
#include "quic/path/cid_codec.hpp"
#include "quic/path/reset_tokens.hpp"

namespace millrace::quic::endpoint {

// Secrets of an endpoint. Lcores of one appliance share them, so that each knows the others' connection IDs, tokens and
// resets; a restarted appliance that is given the same ones can reset what it has forgotten.
struct endpoint_keys {
  std::array<std::uint8_t, path::cid_key_size> cid{};
  std::array<std::uint8_t, path::reset_key_size> reset{};
  std::array<std::uint8_t, path::token_key_size> token{};
};

struct endpoint_settings {
  conn::transport_settings transport;
  source_limits_config sources;
  path::address_token_limits tokens;
  std::uint32_t connections = 1024;    // at a time
  std::uint32_t handshakes = 256;      // of those under way
  std::uint32_t streams = 16384;       // of all connections together
  std::uint32_t sent_blocks = 16384;   // of 28 sent packets and 2 KiB, of all connections together
  std::uint32_t pieces = 65536;        // received parts of streams that wait to be read
  std::uint32_t source_slots = 16384;  // sources whose budgets are told apart
  // 1-RTT keys that lie ready to be used, 5 KiB a connection; 0: those of all. Others rest: 5 us to wake one.
  std::uint32_t awake_keys = 0;
  std::uint64_t rest_keys_after_ns = 2 * recovery::second;  // without a packet; a little later. 0: never
  std::uint32_t most_per_turn = 64;                         // datagrams of one connection before the next has its turn
  std::uint8_t instance = 0;                                // in connection IDs
  std::uint8_t lcore = 0;
  bool send_new_tokens = true;  // RFC 9000 8.1.3
};

// What an established connection takes in which nothing happens: itself, its IDs, its timer; no keys, no sent packets.
inline constexpr std::uint64_t idle_connection_bytes = 4096;

// EAL memory of an endpoint's pools and tables, a little above the truth.
[[nodiscard]] std::size_t memory_bytes(const endpoint_settings& settings) noexcept;

}  // namespace millrace::quic::endpoint
