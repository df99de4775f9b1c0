// quic/path/migration.hpp - a server's paths: which one answers go by when a client's packets come from somewhere else.
//
//                 probing packet        newest packet that is not a probe
//      unused ------------------> candidate ------------------------------> active      one is active, always
//        ^                            |                                      |  ^
//        |<------ failed, evicted ----'              another became active   v  | newest packet comes from here,
//        |<------ failed, evicted ---------------------------------------- previous     or the active one failed
//
// Shape    pure: on_packet() is told of every packet that could be opened and answers what to do; the caller owns the
//          paths' other state (amplification, path_challenge, mtu_search, congestion), in slots of the same index.
//          Validation is path_challenge's; its outcome comes back by on_validated() and on_failed().
// Slots    max_paths; a path_slot is an index and a generation: what was kept of a path that is gone finds that out by
//          is_current(). A new path takes a free slot, else the oldest candidate's, else the oldest previous one's that
//          is not the path to fall back to. Never the active one's.
// Limits   `changes` at once, and one more each `change_ns`, of new slots and of moves to a path not validated. Beyond:
//          the packet is processed, answers stay where they are (stay, refused). Going back to a validated path is
//          free.
// Policy   before the handshake is confirmed packets from elsewhere are dropped (RFC 9000 9). When we declared
//          disable_active_migration: dropped, unless only the port changed (NAT, RFC 9000 9: not the client's doing),
//          or they came to another address of ours, the preferred one (RFC 9000 18.2).
// Errors   none; counters. Units  ns.
// Source   RFC 9000 9, 9.2 to 9.5. Tests  test/quic/path/migration_test.cpp
#pragma once

#include <optional>

#include "base/fetch_ahead.hpp"
#include "quic/path/connection_id.hpp"
#include "quic/recovery/types.hpp"

namespace millrace::quic::path {

inline constexpr std::size_t max_paths = 4;

struct migration_limits {
  std::uint32_t changes = 8;
  std::uint64_t change_ns = 1 * recovery::second;
  bool disabled = false;         // we sent disable_active_migration
  bool follow_rebinding = true;  // a changed port is followed even then
};

struct migration_counters {
  std::uint64_t changes = 0;     // to other addresses
  std::uint64_t rebindings = 0;  // of the port alone
  std::uint64_t returns = 0;     // to a path validated before, by the client
  std::uint64_t reverts = 0;     // as validation failed
  std::uint64_t refused = 0;     // over the limit
  std::uint64_t dropped = 0;     // packets: too early, or disabled
  std::uint64_t evicted = 0;     // paths that made room
};

enum class path_role : std::uint8_t { unused, candidate, active, previous };
enum class path_event : std::uint8_t { probe, move, moved_away, failed, evict };
// The drawing above, for one path; nullopt: cannot happen.
[[nodiscard]] constexpr std::optional<path_role> next(path_role role, path_event event) noexcept {
  switch (role) {
    case path_role::unused:
      if (event == path_event::probe) return path_role::candidate;
      if (event == path_event::move) return path_role::active;
      return std::nullopt;
    case path_role::candidate:
      if (event == path_event::probe) return path_role::candidate;
      if (event == path_event::move) return path_role::active;
      if (event == path_event::failed || event == path_event::evict) return path_role::unused;
      return std::nullopt;
    case path_role::active:
      if (event == path_event::probe || event == path_event::move) return path_role::active;
      if (event == path_event::moved_away) return path_role::previous;
      if (event == path_event::failed) return path_role::unused;
      return std::nullopt;
    case path_role::previous:
      if (event == path_event::probe) return path_role::previous;
      if (event == path_event::move) return path_role::active;
      if (event == path_event::failed || event == path_event::evict) return path_role::unused;
      return std::nullopt;
  }
  return std::nullopt;
}

struct path_slot {
  std::uint8_t index = 0;
  std::uint32_t generation = 0;
  friend constexpr bool operator==(const path_slot&, const path_slot&) noexcept = default;
};

struct path_info {
  path_address address;
  std::uint64_t last_ns = 0;       // of the last packet
  std::uint64_t validated_ns = 0;  // when; of no meaning while not validated
  std::uint32_t generation = 0;
  path_role role = path_role::unused;
  bool validated = false;
};

class migration {
  std::array<path_info, max_paths> paths_{};
  migration_limits limits_;
  migration_counters counters_;
  std::uint64_t newest_ = 0;     // highest number of a packet that was no probe
  std::uint64_t credit_ns_ = 0;  // of changes
  std::uint64_t credit_at_ns_ = 0;
  std::uint8_t active_ = 0;
  bool any_ = false;  // newest_ is known

 public:
  // The path of the handshake is active, not validated: on_validated() when the handshake shows it (RFC 9000 8.1).
  explicit migration(const path_address& handshake, std::uint64_t now_ns, const migration_limits& limits = {}) noexcept;

  struct packet {
    path_address address;
    std::uint64_t number = 0;  // of 1-RTT packets; those of other spaces are told with probing = true
    bool probing = false;      // wire::is_probing: nothing but probing frames (RFC 9000 9.1)
    bool confirmed = false;    // the handshake is
    std::uint64_t now_ns = 0;
  };
  enum class step : std::uint8_t {
    stay,   // nothing changes; a PATH_CHALLENGE in it is answered on `slot`
    probe,  // from a path that is not active: as stay. `fresh`: the slot is new, its state begins anew
    move,   // answers go by `slot` from now on
    drop,   // the packet is not to be processed at all
  };
  struct decision {
    step what = step::stay;
    path_slot slot;                // whence the packet came; of the active path when no slot was made (refused, drop)
    bool fresh = false;            // the slot was made now: new amplification, MTU, challenges
    bool validate = false;         // move: start a path_challenge on `slot`
    bool validate_old = false;     // move: and one on the path left, RFC 9000 9.3.3
    bool keep_congestion = false;  // move: only the port changed, RFC 9000 9.4: congestion and RTT stay
    bool may_share_cid = false;    // move: only the port changed: without an unused ID the old one may go on, 9.5
    path_slot old;                 // move: the path left
    bool refused = false;          // stay: over the limit. A PATH_CHALLENGE in it is answered only if it came by `slot`
    bool has_evicted = false;
    path_slot evicted;  // the path that made room: its connection ID is released
  };
  [[nodiscard]] decision on_packet(const packet& p) noexcept;

  // The handshake, a token or a PATH_RESPONSE showed it. Of a slot no longer current: nothing.
  void on_validated(path_slot slot, std::uint64_t now_ns) noexcept;

  struct failure {
    bool moved = false;    // the active path failed: answers go by `active()` again, which is validated
    bool no_path = false;  // and there is none: the connection is discarded without a word (RFC 9000 9.3.2)
    bool removed = false;  // the slot is unused now (not when no_path)
  };
  [[nodiscard]] failure on_failed(path_slot slot) noexcept;

  [[nodiscard]] path_slot active() const noexcept { return {active_, paths_[active_].generation}; }
  [[nodiscard]] const path_info& info(path_slot slot) const noexcept { return paths_[slot.index]; }
  [[nodiscard]] bool is_current(path_slot slot) const noexcept {
    return slot.index < max_paths && paths_[slot.index].role != path_role::unused &&
           paths_[slot.index].generation == slot.generation;
  }
  [[nodiscard]] std::optional<path_slot> find(const path_address& address) const noexcept;
  [[nodiscard]] std::span<const path_info> paths() const noexcept { return paths_; }
  [[nodiscard]] const migration_counters& counters() const noexcept { return counters_; }
  // What a packet of a connection with one path looks at, into the cache.
  void fetch_ahead() const noexcept {
    base::fetch_ahead(paths_.data(), sizeof(path_info));
    base::fetch_ahead(&newest_, &any_ + 1);
  }

 private:
  [[nodiscard]] bool take_change(std::uint64_t now_ns) noexcept;
  [[nodiscard]] bool is_rebinding(const path_address& address) const noexcept;
  [[nodiscard]] bool is_admitted(const packet& p) const noexcept;
  [[nodiscard]] std::optional<std::uint8_t> fallback() const noexcept;
  void make_slot(const packet& p, decision& out) noexcept;
  void move_to(std::uint8_t index, decision& out) noexcept;
};

}  // namespace millrace::quic::path
