// net/neighbour_cache.hpp - from an address on the link to a MAC, for ARP and neighbour discovery alike.
//
//   unused -> incomplete -> reachable <-> stale -> delay -> probe -> (reachable | unused)        fixed: for ever
//
// Shape    one table, one machine (RFC 4861 7.3.2) for both protocols; the host builds the messages. Frames for an
//          address that is not known yet wait here, copied: the one copy there is, for the first packets of a peer.
// Poison   fixed entries never change. A MAC that contradicts a known one, unasked, is never taken over: the entry asks
//          everybody (ask_all), and the first answer to that question decides. So failover works after one round trip,
//          and a liar must be faster than the truth each time. RFC 4861 7.2.5 would take an unasked override at once.
// Units    ns, frames, bytes.
// Owner    entries, frames and their room are the cache's; pointers to entries live until the next obtain() or
// on_time(). Limits   host_limits: entries, frames in all and for one. Of a full table the least useful of 32 entries
// gives way:
//          first those nobody here ever sent to, then those without an answer, then the stale.
// Errors   obtain(): nullptr when every entry looked at is fixed. keep(): an empty span, counted in drops().
// Threads  one lcore.
// Source   RFC 826, RFC 1122 2.3.2, RFC 4861 7, RFC 5227. Tests  test/net/tables_test.cpp, host_link_test.cpp
#pragma once

#include "base/hash_index.hpp"
#include "mem/region.hpp"
#include "net/host_config.hpp"
#include "stats/drop_counters.hpp"

namespace millrace::net {

enum class neighbour_state : std::uint8_t { unused, incomplete, reachable, stale, delay, probe, fixed };

struct neighbour {
  base::ip_address ip;
  wire::mac_address mac;  // all states but unused and incomplete
  neighbour_state state = neighbour_state::unused;
  std::uint8_t solicits = 0;               // sent in this state
  bool ask_all = false;                    // probe: broadcast or multicast, because the MAC is in doubt
  bool used = false;                       // we sent to it, ever
  std::uint16_t first_frame = UINT16_MAX;  // that waits; UINT16_MAX: none
  std::uint16_t last_frame = UINT16_MAX;
  std::uint16_t frames = 0;
  std::uint32_t hash = 0;
  std::uint32_t next = 0;  // in the list of entries with a timer, or of unused ones
  std::uint32_t previous = 0;
  std::uint64_t until_ns = 0;  // reachable: so long
  std::uint64_t due_ns = 0;    // incomplete, delay, probe: then something happens
  std::uint64_t used_ns = 0;   // last sent to or heard of
};
static_assert(sizeof(neighbour) <= 128, "two cache lines, the MAC in the first");

// What came of news about a neighbour.
enum class learned : std::uint8_t {
  nothing,   // no entry, or nothing that it does not know
  accepted,  // the MAC is known now, or confirmed: frames may go
  asking,    // it contradicts what is known: everybody is asked
  fixed,     // it contradicts a fixed entry
  full,      // no entry was to be had
};

struct neighbour_claim {
  base::ip_address ip;
  wire::mac_address mac;
  bool has_mac = true;
  bool solicited = false;  // says that it answers us
  bool overrides = false;
};

class neighbour_cache {
 public:
  // `frame_bytes`: the longest frame that may wait. Ready when it converts to true (memory was there).
  neighbour_cache(const host_limits& limits, std::size_t frame_bytes, std::uint64_t seed) noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return ready_; }

  [[nodiscard]] std::uint32_t hash_of(const base::ip_address& ip) const noexcept;
  [[nodiscard]] neighbour* find(const base::ip_address& ip) noexcept;
  // The entry, made incomplete and due now when there was none.
  [[nodiscard]] neighbour* obtain(const base::ip_address& ip, std::uint64_t now) noexcept;
  [[nodiscard]] bool add_fixed(const base::ip_address& ip, const wire::mac_address& mac) noexcept;

  // The MAC to send to, or nullptr while it is not known. A stale entry is used, and its probing begins.
  [[nodiscard]] const wire::mac_address* use(neighbour& n, std::uint64_t now) noexcept {
    if ((n.state == neighbour_state::reachable && now < n.until_ns) || n.state == neighbour_state::fixed) [[likely]] {
      n.used_ns = now;
      n.used = true;
      return &n.mac;
    }
    return use_slowly(n, now);
  }
  // The peer answered what we sent (RFC 4861 7.3.1): as good as a solicited advertisement without a MAC.
  void confirm(neighbour& n, std::uint64_t now) noexcept;

  // A request from `ip`, which named its MAC (RFC 826; RFC 4861 7.2.3).
  learned on_request(const base::ip_address& ip, const wire::mac_address& mac, std::uint64_t now) noexcept;
  // A reply or an advertisement (RFC 826; RFC 4861 7.2.5).
  learned on_answer(const neighbour_claim& claim, std::uint64_t now) noexcept;

  // Room for a frame that waits for `n`, to be filled at once. The oldest of too many for one gives way.
  [[nodiscard]] base::byte_span keep(neighbour& n, std::size_t bytes) noexcept;
  // The frame that waits longest; empty when none does. pop() forgets it.
  [[nodiscard]] base::byte_span first_frame(const neighbour& n) noexcept;
  void pop_frame(neighbour& n) noexcept;

  // solicit(neighbour&, bool to_all) for each that must ask now.
  template <class Solicit>
  void on_time(std::uint64_t now, Solicit solicit) noexcept {
    if (now < due_ns_) return;
    std::uint64_t earliest = never;
    for (std::uint32_t i = timed_; i != base::no_record;) {
      neighbour& n = entries_[i];
      i = n.next;
      if (n.due_ns <= now) {
        if (!step(n, now)) continue;  // gone
        solicit(n, n.state == neighbour_state::incomplete || n.ask_all);
      }
      earliest = n.due_ns < earliest ? n.due_ns : earliest;
    }
    due_ns_ = earliest;
  }
  // Looks at some entries in turn, and forgets the stale ones that nobody used for unused_ns.
  void sweep(std::uint64_t now) noexcept;
  static constexpr std::uint64_t never = UINT64_MAX;
  [[nodiscard]] std::uint64_t due_ns() const noexcept { return due_ns_; }

  [[nodiscard]] std::uint32_t in_use() const noexcept { return in_use_; }
  [[nodiscard]] std::uint32_t frames_held() const noexcept { return frames_held_; }
  [[nodiscard]] std::uint64_t frames_kept() const noexcept { return frames_kept_; }
  // Frames that waited in vain, by reason; keep()'s refusals are the caller's to count.
  [[nodiscard]] stats::drop_counters& drops() noexcept { return drops_; }

 private:
  struct waiting {
    std::uint16_t next;
    std::uint16_t bytes;
  };
  host_limits limits_;
  std::size_t slot_bytes_;
  std::uint64_t seed_;
  bool ready_ = false;
  mem::region entries_memory_;
  mem::region index_memory_;
  mem::region waiting_memory_;
  mem::region bytes_memory_;
  std::span<neighbour> entries_;
  std::span<waiting> waiting_;
  base::hash_index index_;
  std::uint32_t unused_ = base::no_record;  // given back
  std::uint32_t untouched_ = 0;
  std::uint32_t timed_ = base::no_record;
  std::uint32_t hand_ = 0;   // of victim()
  std::uint32_t sweep_ = 0;  // of sweep()
  std::uint32_t in_use_ = 0;
  std::uint16_t free_frame_ = UINT16_MAX;
  std::uint32_t frames_held_ = 0;
  std::uint64_t frames_kept_ = 0;
  std::uint64_t due_ns_ = never;
  stats::drop_counters drops_;

  [[nodiscard]] std::uint32_t number_of(const neighbour& n) const noexcept {
    return static_cast<std::uint32_t>(&n - entries_.data());
  }
  [[nodiscard]] neighbour* create(const base::ip_address& ip, std::uint64_t now) noexcept;
  [[nodiscard]] neighbour* victim() noexcept;
  void remove(neighbour& n, stats::drop_reason why) noexcept;
  void set_timer(neighbour& n, std::uint64_t due) noexcept;
  void clear_timer(neighbour& n) noexcept;
  void settle(neighbour& n, neighbour_state state, std::uint64_t now) noexcept;
  void doubt(neighbour& n, std::uint64_t now) noexcept;
  [[nodiscard]] bool step(neighbour& n, std::uint64_t now) noexcept;
  [[nodiscard]] const wire::mac_address* use_slowly(neighbour& n, std::uint64_t now) noexcept;
};

}  // namespace millrace::net
