// quic/path/remote_cids.hpp - the connection IDs that the peer has given us to reach it by, and those we give back.
//
// Shape    an ID is known by its sequence number. Paths use IDs: take() picks one that no path used before, share()
//          lets a second path use the same (RFC 9000 9.5 allows it only where the peer kept its own: NAT rebinding),
//          release() ends a use; with the last use the ID is retired. find() of a number answers nullptr once it is
//          retired, which the peer may demand at any time: then on_new_connection_id() says `replace`, and each path
//          whose number is gone takes another before it sends again.
//          retire_to_send() names what a RETIRE_CONNECTION_ID frame is due for; on_retire_sent, _lost, _acked follow
//          it.
// Client   begins with a random ID that no number belongs to; a Retry, then the server's first packet, replace it
//          (on_retry, on_peer_scid). A server knows the client's from the start: on_peer_scid() with the first Initial.
// Peers without IDs   (zero length) are reached by number 0 for ever: take() answers it each time, nothing is retired,
//          and a NEW_CONNECTION_ID is PROTOCOL_VIOLATION (RFC 9000 19.15).
// Limits   `active_limit` is what we declare; max_remote_cids is the most it can be. Retirements not yet acknowledged:
//          4 times the limit, then CONNECTION_ID_LIMIT_ERROR (RFC 9000 5.1.2; CVE-2024-22189).
// Errors   on_new_connection_id: a transport_error; the connection is closed then. No work depends on how large numbers
//          are or how far apart.
// Source   RFC 9000 5.1.1 5.1.2 7.2 7.3 9.5 10.3.1 13.3 19.15 19.16. Tests  test/quic/path/remote_cids_test.cpp
#pragma once

#include <optional>

#include "base/fixed_vector.hpp"
#include "quic/path/connection_id.hpp"
#include "quic/wire/error_code.hpp"
#include "quic/wire/frame_new_connection_id.hpp"

namespace millrace::quic::path {

inline constexpr std::size_t max_remote_cids = 4;
inline constexpr std::size_t retirements_per_cid = 4;  // RFC 9000 5.1.2 wants at least two
inline constexpr std::size_t max_retirements = max_remote_cids * retirements_per_cid;

struct remote_cid_limits {
  std::uint64_t active_limit = 4;  // our active_connection_id_limit: 2 (RFC 9000 18.2) to max_remote_cids
};

struct remote_cid_counters {
  std::uint64_t received = 0;         // new IDs, by frame
  std::uint64_t repeated = 0;         // frames that said what was known
  std::uint64_t retired_on_come = 0;  // IDs that came behind a Retire Prior To above them
  std::uint64_t retired = 0;          // of whatever cause
  std::uint64_t none_unused = 0;      // take() had none
  std::uint64_t refused = 0;          // frames that ended the connection
};

struct remote_cid {
  std::uint64_t sequence = 0;
  connection_id cid;
  wire::stateless_reset_token_value token{};
  bool has_token = false;
  std::uint8_t uses = 0;  // paths that use it
};

class remote_cids {
  enum class phase : std::uint8_t { random, retried, known };  // of the ID of the handshake
  struct retirement {
    std::uint64_t sequence : 62;  // RFC 9000 16: no number is larger
    std::uint64_t due : 1;        // else sent, and not yet acknowledged
  };
  static constexpr std::uint64_t largest_sequence = (std::uint64_t{1} << 62) - 1;
  base::fixed_vector<remote_cid, max_remote_cids> known_;
  base::fixed_vector<retirement, max_retirements> retirements_;
  std::uint64_t retire_prior_to_ = 0;  // the largest that came
  std::uint64_t seen_top_ = 0;         // the largest number that came
  std::uint64_t seen_below_ = 0;       // bit i: number seen_top_ - 1 - i came; further down nothing is remembered
  remote_cid_limits limits_;
  remote_cid_counters counters_;
  connection_id original_;  // a client's first, random one
  phase phase_ = phase::known;
  bool zero_length_ = false;  // the peer has no IDs
  bool overflowed_ = false;   // more retirements than the limit
  std::uint16_t changes_ = 0;

 public:
  // A client: `random`, 8 to 20 bytes that nobody can guess (RFC 9000 7.2), is number 0 until the server's is known.
  [[nodiscard]] static remote_cids for_client(const connection_id& random,
                                              const remote_cid_limits& limits = {}) noexcept;
  // A server: the source ID of the client's first Initial.
  [[nodiscard]] static remote_cids for_server(const connection_id& client_scid,
                                              const remote_cid_limits& limits = {}) noexcept;

  // Clients. A Retry that was verified: its source ID is where the next Initial goes. False when it comes second, or
  // after a packet of the server: it is to be dropped (RFC 9000 17.2.5.2).
  [[nodiscard]] bool on_retry(base::byte_view scid) noexcept;
  // The source ID of a long header that could be opened. The first settles number 0; answers false when a later one
  // differs: RFC 9000 7.2 has that packet dropped. Servers may ask, too.
  [[nodiscard]] bool on_peer_scid(base::byte_view scid) noexcept;
  // The server's transport parameters: stateless_reset_token, which belongs to number 0.
  void set_reset_token(base::byte_view token) noexcept;
  // ... and preferred_address, whose ID is number 1. Before any NEW_CONNECTION_ID.
  [[nodiscard]] wire::transport_error on_preferred_address(base::byte_view cid, base::byte_view token) noexcept;

  struct received {
    wire::transport_error error = wire::transport_error::no_error;
    bool replace = false;  // an ID that a path uses was retired
  };
  [[nodiscard]] received on_new_connection_id(const wire::new_connection_id_frame& frame) noexcept;

  // Number 0 is in use by one path from the start.
  [[nodiscard]] std::optional<std::uint64_t> take() noexcept;                   // the lowest number that no path used
  [[nodiscard]] bool share(std::uint64_t sequence) noexcept;                    // false when it is retired
  void release(std::uint64_t sequence) noexcept;                                // of a number that is retired: nothing
  [[nodiscard]] const remote_cid* find(std::uint64_t sequence) const noexcept;  // until the next change
  [[nodiscard]] std::size_t unused() const noexcept;                            // how often take() would have one
  [[nodiscard]] bool is_zero_length() const noexcept { return zero_length_; }   // the peer has no IDs

  // False when more retirements are outstanding than the limit: CONNECTION_ID_LIMIT_ERROR. Asked after release().
  [[nodiscard]] bool is_within_limits() const noexcept { return !overflowed_; }

  [[nodiscard]] std::optional<std::uint64_t> retire_to_send() const noexcept;  // the oldest that is due
  void on_retire_sent(std::uint64_t sequence) noexcept;
  void on_retire_lost(std::uint64_t sequence) noexcept;
  void on_retire_acked(std::uint64_t sequence) noexcept;
  [[nodiscard]] std::size_t retirements() const noexcept { return retirements_.size(); }  // due or not acknowledged

  // RFC 9000 10.3.1: tokens of IDs that are in use, and no other; for wire::find_stateless_reset().
  using tokens = base::fixed_vector<wire::stateless_reset_token_value, max_remote_cids>;
  [[nodiscard]] tokens tokens_in_use() const noexcept;
  // Another number whenever they may have changed.
  [[nodiscard]] std::uint16_t changes() const noexcept { return changes_; }

  [[nodiscard]] const connection_id& original() const noexcept { return original_; }  // a client's first destination
  [[nodiscard]] const remote_cid_counters& counters() const noexcept { return counters_; }

 private:
  remote_cids() noexcept;
  [[nodiscard]] wire::transport_error check(const wire::new_connection_id_frame& frame) const noexcept;
  [[nodiscard]] bool was_seen(std::uint64_t sequence) const noexcept;
  void mark_seen(std::uint64_t sequence) noexcept;
  bool retire_below(std::uint64_t sequence) noexcept;
  void retire(std::size_t at) noexcept;
  void queue_retirement(std::uint64_t sequence) noexcept;
  [[nodiscard]] remote_cid* find_mutable(std::uint64_t sequence) noexcept;
};

}  // namespace millrace::quic::path
