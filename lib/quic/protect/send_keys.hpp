// quic/protect/send_keys.hpp - the sending side of one packet number space, with key updates and the AEAD's limit.
//
// Shape    seal() for one packet, seal_burst() for many. The key phase bit of short headers is written here, so that it
//          cannot differ from the key. update() moves to the next key phase. When an update is allowed is the
//          connection's knowledge, apart from what is counted here: may_update() (RFC 9001 6.1).
// Owner    a plain value without heap; whoever owns one holds it in a crypto::wiped<>.
// Limits   RFC 9001 6.6: packets sealed under one key. use() says when an update is due; at the limit seal() refuses.
// Errors   as seal.hpp. A packet number that does not rise is refused: a nonce used twice gives the key away.
// Threads  one lcore.
// Source   RFC 9001 5.4 6.1 6.2 6.6, RFC 9000 12.3. Tests  test/quic/protect/key_update_test.cpp
#pragma once

#include "quic/protect/seal.hpp"

namespace millrace::quic::protect {

struct placed_payload;

enum class key_use : std::uint8_t {
  fine,
  update_due,  // half of what the key may seal is used up
  spent,       // nothing more under this key; without an update the connection ends with AEAD_LIMIT_REACHED
};

// As resting_receive_keys.
struct resting_send_keys {
  traffic_secret first;
  traffic_secret current;
  key_context context;
  std::uint64_t next_pn = 0;
  std::uint64_t first_of_phase = 0;
  std::uint64_t sealed = 0;
  std::uint32_t updates = 0;
};

class send_keys {
  crypto::header_key header_;
  payload_keys current_;
  traffic_secret first_secret_;  // of header_
  traffic_secret secret_;        // of current_
  key_context context_;
  std::uint64_t next_pn_ = 0;         // numbers below are used up
  std::uint64_t first_of_phase_ = 0;  // the lowest number that the current keys may have sealed
  std::uint64_t sealed_ = 0;          // under the current keys
  std::uint64_t confidentiality_limit_ = 0;
  std::uint32_t updates_ = 0;
  bool phase_ = false;

 public:
  // Keys of phase 0. False as derive_packet_keys().
  [[nodiscard]] bool install(crypto::engine& engine, const key_context& context, const traffic_secret& secret) noexcept;

  seal_errc seal(crypto::engine& engine, seal_request& request) noexcept;

  // Into what takes little room, and back. False as install().
  void rest(resting_send_keys& to) const noexcept;
  [[nodiscard]] bool wake(crypto::engine& engine, const resting_send_keys& from) noexcept;

  // The next key phase: because we want to, or because the peer did (then only while updates() is behind).
  void update(crypto::engine& engine) noexcept;
  // RFC 9001 6.1: true when the peer has acknowledged a packet of this key phase. A connection asks besides whether the
  // handshake is confirmed. `largest_acked`: wire::no_packet_number when nothing was.
  [[nodiscard]] bool may_update(std::uint64_t largest_acked) const noexcept;

  // Into the cache, for a packet of so many bytes.
  void fetch_ahead(std::size_t packet_bytes) const noexcept {
    base::fetch_ahead(&header_, sizeof(header_));
    current_.fetch_ahead(packet_bytes);
    base::fetch_ahead(&next_pn_, 5 * sizeof(next_pn_));
  }

  [[nodiscard]] key_use use() const noexcept;
  [[nodiscard]] bool phase() const noexcept { return phase_; }
  [[nodiscard]] std::uint32_t updates() const noexcept { return updates_; }
  [[nodiscard]] std::uint64_t sealed() const noexcept { return sealed_; }
  void add_sealed(std::uint64_t packets) noexcept { sealed_ += packets; }  // sealed elsewhere under the same key

 private:
  friend class seal_batch;
  void place(seal_request& request, placed_payload& payload) noexcept;
};

// Seals many packets, of one connection or of several, header protection side by side. Numbers of one connection rise.
// Answers how many were sealed; when it is not all of them, request.code of each says which and why.
struct seal_job {
  send_keys* keys = nullptr;
  seal_request request;
};
std::size_t seal_burst(crypto::engine& engine, std::span<seal_job> jobs) noexcept;

}  // namespace millrace::quic::protect
