// quic/path/local_cids.hpp - the connection IDs that we have given a peer to reach us by.
//
// Shape    number 0 is the one of the handshake. While wants_more(), the caller makes an ID and its token and hands
//          them to issue(); whoever routes packets maps it from then on. to_send() names what a NEW_CONNECTION_ID frame
//          is due for; on_sent, on_lost and on_acked follow that frame. on_retire() takes the peer's frame and says
//          which ID is to be unmapped.
//
//            issue -> due -> sent -> acked          an ID serves from issue() on, whatever the frame's state, until the
//                      ^---- lost                   peer retires it
//
//          rotate() asks the peer to let go of all IDs there are: they serve on until it does, the new ones carry
//          Retire Prior To.
// Limits   max_local_cids IDs that serve; of those `most_active` count against the peer's limit, the rest has room for
//          the ones that are about to be retired (RFC 9000 5.1.1 lets them exceed the limit).
// Errors   on_retire: a transport_error. issue(): nullopt when !wants_more(). rotate(): false while the IDs of an
//          earlier rotation are still with the peer.
// Source   RFC 9000 5.1.1 5.1.2 13.3 19.15 19.16. Tests  test/quic/path/local_cids_test.cpp
#pragma once

#include <optional>

#include "base/fixed_vector.hpp"
#include "quic/path/connection_id.hpp"
#include "quic/wire/error_code.hpp"
#include "quic/wire/frame_new_connection_id.hpp"

namespace millrace::quic::path {

inline constexpr std::size_t max_local_cids = 8;

struct local_cid_limits {
  std::uint64_t most_active = 4;  // at most half of max_local_cids, so that all can be rotated at once
};

struct local_cid_counters {
  std::uint64_t issued = 0;         // NEW_CONNECTION_ID; not the handshake's, nor the preferred address's
  std::uint64_t retired = 0;        // by the peer
  std::uint64_t retired_again = 0;  // RETIRE_CONNECTION_ID for what was retired before: a repeated frame
  std::uint64_t refused = 0;        // RETIRE_CONNECTION_ID that ended the connection
};

struct issued_cid {
  std::uint64_t sequence = 0;
  connection_id cid;
  wire::stateless_reset_token_value token{};  // zeros for number 0 of a client, which has none
  enum class frame_state : std::uint8_t { none, due, sent, acked } frame = frame_state::none;  // none: not by frame
};

class local_cids {
  base::fixed_vector<issued_cid, max_local_cids> serving_;  // by sequence
  std::uint64_t next_sequence_ = 0;
  std::uint64_t largest_sent_ = 0;     // the highest number that a peer can know
  std::uint64_t retire_prior_to_ = 0;  // what is numbered below was asked back
  std::uint64_t peer_limit_ = 0;       // 0 until the peer's transport parameters are known: nothing is issued
  local_cid_limits limits_;
  local_cid_counters counters_;
  bool has_no_ids_ = false;  // the peer reaches us without

 public:
  // `handshake`: the source ID of our long headers; of no bytes when the peer is to reach us without (then nothing is
  // ever issued). Its token stands in a server's transport parameters.
  explicit local_cids(const connection_id& handshake, const local_cid_limits& limits = {}) noexcept;

  // The ID inside a server's preferred_address is number 1, and travels there. Before any issue(); false else.
  [[nodiscard]] bool add_preferred(const connection_id& cid, const wire::stateless_reset_token_value& token) noexcept;
  // The peer's active_connection_id_limit, 2 or more.
  void set_peer_limit(std::uint64_t active_connection_id_limit) noexcept { peer_limit_ = active_connection_id_limit; }

  [[nodiscard]] bool wants_more() const noexcept;
  // Answers the ID's sequence number.
  [[nodiscard]] std::optional<std::uint64_t> issue(const connection_id& cid,
                                                   const wire::stateless_reset_token_value& token) noexcept;
  // From here on new IDs replace all that there are; wants_more() then.
  [[nodiscard]] bool rotate() noexcept;

  // The lowest-numbered frame that is due; views this object, and dies with its next change.
  [[nodiscard]] std::optional<wire::new_connection_id_frame> to_send() const noexcept;
  void on_sent(std::uint64_t sequence) noexcept;
  void on_lost(std::uint64_t sequence) noexcept;  // ignored when acknowledged or retired meanwhile
  void on_acked(std::uint64_t sequence) noexcept;

  struct retired {
    wire::transport_error error = wire::transport_error::no_error;
    bool unmap = false;  // `cid` serves no more
    connection_id cid;
  };
  // `packet_dcid`: destination of the packet that carried the frame.
  [[nodiscard]] retired on_retire(std::uint64_t sequence, base::byte_view packet_dcid) noexcept;

  [[nodiscard]] std::optional<std::uint64_t> sequence_of(base::byte_view cid) const noexcept;
  // All that are mapped: to be unmapped at the connection's end.
  [[nodiscard]] std::span<const issued_cid> serving() const noexcept { return serving_.view(); }
  [[nodiscard]] std::size_t active() const noexcept;  // those the peer is not asked to retire
  [[nodiscard]] std::uint64_t retire_prior_to() const noexcept { return retire_prior_to_; }
  [[nodiscard]] const local_cid_counters& counters() const noexcept { return counters_; }

 private:
  [[nodiscard]] std::uint64_t most_active() const noexcept;
  [[nodiscard]] issued_cid* find(std::uint64_t sequence) noexcept;
};

}  // namespace millrace::quic::path
