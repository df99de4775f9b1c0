// quic/path/mtu_search.hpp - how large datagrams a path carries, found out by sending larger ones.
//
//   base --probe acked--> searching ... --window closed--> complete --raise timer--> searching
//    ^------------- large packets vanish ("black hole") ----------------'
//
// Shape    mtu() is what may be sent now, never below 1200. While probe_size(now) is not 0, one datagram of that size
//          (PING and PADDING, nothing that matters) is sent and told to on_probe_sent(); then it is acknowledged or
//          lost. Its loss is no sign of congestion (RFC 9000 14.4). The largest size comes first, then those of
//          Ethernet, then halves: one probe where all is well.
//          All other packets are told by size when acknowledged or lost, so that a path that shrank is noticed: so many
//          round trips in which packets above 1200 bytes were lost and none arrived. Losses of one round count once,
//          else a burst of congestion would look like it.
// Units    bytes of UDP payload; ns.
// Limits   `most` (our MTU less IP and UDP headers), the peer's max_udp_payload_size.
// Errors   none. A report by ICMP ("packet too big") that the caller has verified is a hint: it ends a search above it
//          and makes the next loss count, but takes nothing away by itself; below 1200 it is ignored (RFC 9000 14.2.1).
// Source   RFC 8899 4.3 4.6 5, RFC 9000 14. Tests  test/quic/path/mtu_search_test.cpp
#pragma once

#include "quic/recovery/types.hpp"

namespace millrace::quic::path {

inline constexpr std::uint32_t base_mtu = 1200;  // RFC 9000 14.3: BASE_PLPMTU

struct mtu_limits {
  std::uint32_t most = 1452;                            // Ethernet less IPv6 and UDP; base_mtu: no search
  std::uint32_t step = 16;                              // a window smaller than this is not halved any more
  std::uint32_t probes = 3;                             // RFC 8899 5.1.2 MAX_PROBES, of one size
  std::uint32_t black_hole_rounds = 3;                  // round trips without a large packet
  std::uint64_t raise_ns = 600 * recovery::second;      // RFC 8899 5.1.1 PMTU_RAISE_TIMER
  std::uint64_t after_hole_ns = 60 * recovery::second;  // and sooner when the path had carried more
};

struct mtu_counters {
  std::uint64_t probes_sent = 0;
  std::uint64_t probes_acked = 0;
  std::uint64_t probes_lost = 0;
  std::uint64_t black_holes = 0;
  std::uint64_t hints_taken = 0;
  std::uint64_t hints_ignored = 0;
};

enum class mtu_state : std::uint8_t { disabled, searching, complete };

class mtu_search {
  mtu_limits limits_;
  mtu_counters counters_;
  std::uint64_t again_ns_ = recovery::never_ns;          // complete: when the search begins anew
  std::uint64_t last_loss_ns_ = 0;                       // when the last round that counted was noticed
  std::uint64_t suspect_since_ns_ = recovery::never_ns;  // sending time of the first of them; never_ns: none
  std::uint32_t ceiling_ = base_mtu;                     // of our link and the peer
  std::uint32_t mtu_ = base_mtu;
  std::uint32_t top_ = base_mtu;   // the first size of this search: the ceiling, or what ICMP hinted at
  std::uint32_t too_large_ = 0;    // the smallest size known not to pass; top_ + 1: none
  std::uint32_t hint_ = 0;         // what ICMP said passes, below mtu_; 0: nothing
  std::uint32_t probing_ = 0;      // size of the probe under way; 0: none
  std::uint32_t lost_probes_ = 0;  // of the size tried
  std::uint32_t rounds_ = 0;       // suspicious ones
  mtu_state state_ = mtu_state::disabled;
  std::uint8_t epoch_ = 0;

 public:
  explicit mtu_search(const mtu_limits& limits = {}) noexcept;

  // The handshake is confirmed and the peer's parameters known (RFC 9000 14.3): search. Below 1200 counts as 1200.
  void start(std::uint64_t peer_max_udp_payload) noexcept;
  // Another path: from 1200 bytes again; searching when it was not disabled.
  void restart() noexcept;

  [[nodiscard]] std::uint32_t mtu() const noexcept { return mtu_; }
  // Another one after each restart(). What was sent in an earlier one went by another path, and its fate says nothing
  // of this one: the caller keeps it with each packet, and reports those of this epoch alone.
  [[nodiscard]] std::uint8_t epoch() const noexcept { return epoch_; }

  // The datagram to probe with; 0: none is due.
  [[nodiscard]] std::uint32_t probe_size(std::uint64_t now_ns) noexcept;
  void on_probe_sent(std::uint32_t size) noexcept;
  // Answers whether mtu() grew. Reports on probes of before a restart are ignored: sizes that are not under way.
  bool on_probe_acked(std::uint32_t size, std::uint64_t now_ns) noexcept;
  void on_probe_lost(std::uint32_t size, std::uint64_t now_ns) noexcept;

  // Any other packet, by its datagram's size; those up to 1200 bytes say nothing and may be left out.
  void on_acked(std::uint32_t size, std::uint64_t sent_ns) noexcept;
  // Answers whether mtu() fell to 1200: what waits in larger pieces is to be cut anew.
  bool on_lost(std::uint32_t size, std::uint64_t sent_ns, std::uint64_t now_ns) noexcept;

  // A verified ICMP message (it quotes our addresses, ports and connection ID): `size` of UDP payload passes there.
  void on_too_big(std::uint32_t size, std::uint64_t now_ns) noexcept;

  // Complete: when a search begins anew; never_ns else.
  [[nodiscard]] std::uint64_t deadline_ns() const noexcept {
    return state_ == mtu_state::complete ? again_ns_ : recovery::never_ns;
  }
  [[nodiscard]] mtu_state state() const noexcept { return state_; }
  [[nodiscard]] const mtu_counters& counters() const noexcept { return counters_; }

 private:
  [[nodiscard]] std::uint32_t next_size() const noexcept;
  void search(std::uint32_t top) noexcept;
  void complete_when_done(std::uint64_t now_ns) noexcept;
  void forget_suspicion() noexcept;
};

}  // namespace millrace::quic::path
