// quic/conn/handshake_state.hpp - what a connection needs until its handshake is confirmed and its tickets are
// acknowledged, and no longer: TLS, the keys and packet numbers of two levels, three CRYPTO streams.
//
// Owner    a pool of the lcore: its size is how many handshakes may be under way.
// Limits   transport_settings: crypto_window_bytes, crypto_runs a level.
// Source   RFC 9000 7, RFC 9001 4. Tests  test/quic/sim/handshake_test.cpp
#pragma once

#include "quic/conn/early_packets.hpp"
#include "quic/conn/handshake_steps.hpp"
#include "quic/conn/number_space.hpp"
#include "quic/conn/traffic_keys.hpp"
#include "quic/recovery/early_spaces.hpp"
#include "quic/stream/reassembly.hpp"
#include "quic/stream/send_stream.hpp"
#include "tls/quic_handshake.hpp"

namespace millrace::quic::conn {

struct level_keys {  // of Initial, Handshake or 0-RTT; they never change
  crypto::wiped<protect::packet_keys> read;
  crypto::wiped<protect::packet_keys> write;
  bool can_read = false;
  bool can_write = false;

  void discard() noexcept {
    read.clear();
    write.clear();
    can_read = can_write = false;
  }
};

struct crypto_stream {
  stream::reassembly in;
  stream::send_stream out{stream::max_offset};  // CRYPTO has no flow control (RFC 9000 7.5)
};

inline constexpr std::size_t token_bytes_most = 256;  // of a Retry or NEW_TOKEN that a client keeps

struct handshake_state {
  tls::quic_handshake tls;
  level_keys initial, handshake, early;
  handshake_space initial_numbers, handshake_numbers;
  recovery::early_spaces sent;                       // lent to the connection's loss recovery
  std::array<crypto_stream, 3> crypto;               // by recovery::packet_space
  std::array<std::uint8_t, token_bytes_most> token;  // client: for the next Initials
  std::uint16_t token_size = 0;
  handshake_step step;
  early_packets waiting;       // for keys
  base::endpoint preferred{};  // client: where the server wants to be reached (RFC 9000 9.6); port 0: where it is
  bool chose_version = false;  // RFC 9368: the version is settled

  template <class Context>
  handshake_state(std::shared_ptr<Context> context, const recovery::ack_policy_config& acks, recovery::sent_pool& pool,
                  std::uint32_t most_sent_blocks) noexcept
      : tls(std::move(context)), initial_numbers(acks), handshake_numbers(acks), sent(pool, most_sent_blocks) {}
};

}  // namespace millrace::quic::conn
