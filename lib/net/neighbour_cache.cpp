// Timers: entries in incomplete, delay or probe stand in one unordered list, walked when the earliest of them is due.
// The list is at most the table, and the earliest is a second away as a rule, so a walk costs little; a deadline that
// moved later only makes one walk that finds nothing.

#include "net/neighbour_cache.hpp"

#include "base/hash.hpp"

namespace millrace::net {
namespace {

using enum neighbour_state;
constexpr std::uint16_t no_frame = UINT16_MAX;
constexpr std::uint32_t entries_looked_at = 32;  // for a victim: bounded work under a flood

// Lower gives way first.
[[nodiscard]] unsigned worth(const neighbour& n) noexcept {
  if (n.state == incomplete) return 1;
  if (n.state == stale) return n.used ? 2 : 0;
  return 3;
}

}  // namespace

neighbour_cache::neighbour_cache(const host_limits& limits, std::size_t frame_bytes, std::uint64_t seed) noexcept
    : limits_(limits), slot_bytes_((frame_bytes + 63) / 64 * 64), seed_(seed) {
  entries_memory_ = mem::region::make_array<neighbour>("net neighbours", limits.neighbours);
  index_memory_ = mem::region::make_array<base::hash_index::slot>("net neighbour index",
                                                                  base::hash_index::slots_for(limits.neighbours));
  waiting_memory_ = mem::region::make_array<waiting>("net waiting", limits.pending_frames);
  bytes_memory_ = mem::region::make("net waiting frames", limits.pending_frames * slot_bytes_);
  if (!entries_memory_ || !index_memory_ || !waiting_memory_ || !bytes_memory_) return;
  entries_ = entries_memory_.array<neighbour>().first(limits.neighbours);
  index_ = base::hash_index(
      index_memory_.array<base::hash_index::slot>().first(base::hash_index::slots_for(limits.neighbours)));
  waiting_ = waiting_memory_.array<waiting>().first(limits.pending_frames);
  for (std::size_t i = waiting_.size(); i-- > 0;) {
    waiting_[i].next = free_frame_;
    free_frame_ = static_cast<std::uint16_t>(i);
  }
  ready_ = true;
}

std::uint32_t neighbour_cache::hash_of(const base::ip_address& ip) const noexcept {
  return static_cast<std::uint32_t>(
      base::hash_mix(base::load_le64(ip.octets.data()) ^ seed_, base::load_le64(ip.octets.data() + 8) ^ ~seed_) ^
      (static_cast<std::uint64_t>(ip.family) << 8));
}

neighbour* neighbour_cache::find(const base::ip_address& ip) noexcept {
  const std::uint32_t i = index_.find(hash_of(ip), [&](std::uint32_t number) { return entries_[number].ip == ip; });
  return i == base::no_record ? nullptr : &entries_[i];
}

neighbour* neighbour_cache::obtain(const base::ip_address& ip, std::uint64_t now) noexcept {
  neighbour* n = find(ip);
  if (n != nullptr) return n;
  n = create(ip, now);
  if (n == nullptr) return nullptr;
  n->state = incomplete;
  set_timer(*n, now);
  return n;
}

bool neighbour_cache::add_fixed(const base::ip_address& ip, const wire::mac_address& mac) noexcept {
  neighbour* n = find(ip);
  if (n == nullptr) n = create(ip, 0);
  if (n == nullptr) return false;
  clear_timer(*n);
  n->state = fixed;
  n->mac = mac;
  return true;
}

neighbour* neighbour_cache::create(const base::ip_address& ip, std::uint64_t now) noexcept {
  std::uint32_t i = unused_;
  if (i == base::no_record && untouched_ == entries_.size()) {
    neighbour* const gone = victim();
    if (gone == nullptr) return nullptr;
    remove(*gone, stats::drop_reason::neighbour_cache_full);
    i = unused_;
  }
  if (i != base::no_record)
    unused_ = entries_[i].next;
  else
    i = untouched_++;
  neighbour& n = entries_[i];
  n = {};
  n.ip = ip;
  n.hash = hash_of(ip);
  n.used_ns = now;
  index_.insert(n.hash, i);
  ++in_use_;
  return &n;
}

// A clock's hand: the least useful of the next few, the oldest of equals.
neighbour* neighbour_cache::victim() noexcept {
  neighbour* best = nullptr;
  const auto count = static_cast<std::uint32_t>(entries_.size());
  for (std::uint32_t looked = 0; looked < std::min(entries_looked_at, count); ++looked) {
    neighbour& n = entries_[hand_];
    hand_ = hand_ + 1 == count ? 0 : hand_ + 1;
    if (n.state == fixed || n.state == unused) continue;
    if (best == nullptr || worth(n) < worth(*best) || (worth(n) == worth(*best) && n.used_ns < best->used_ns))
      best = &n;
  }
  return best;
}

void neighbour_cache::remove(neighbour& n, stats::drop_reason why) noexcept {
  while (n.frames != 0) {
    pop_frame(n);
    drops_.add(why);
  }
  clear_timer(n);
  const std::uint32_t i = number_of(n);
  index_.erase(n.hash, i);
  n.state = unused;
  n.next = unused_;
  unused_ = i;
  --in_use_;
}

void neighbour_cache::set_timer(neighbour& n, std::uint64_t due) noexcept {
  const std::uint32_t i = number_of(n);
  if (n.due_ns == 0) {
    n.previous = base::no_record;
    n.next = timed_;
    if (timed_ != base::no_record) entries_[timed_].previous = i;
    timed_ = i;
  }
  n.due_ns = due == 0 ? 1 : due;  // 0 stands for "no timer"
  due_ns_ = std::min(due_ns_, n.due_ns);
}

void neighbour_cache::clear_timer(neighbour& n) noexcept {
  if (n.due_ns == 0) return;
  (n.previous == base::no_record ? timed_ : entries_[n.previous].next) = n.next;
  if (n.next != base::no_record) entries_[n.next].previous = n.previous;
  n.due_ns = 0;
}

// Into reachable or stale.
void neighbour_cache::settle(neighbour& n, neighbour_state state, std::uint64_t now) noexcept {
  clear_timer(n);
  n.state = state;
  n.solicits = 0;
  n.ask_all = false;
  n.used_ns = now;
  if (state == reachable) n.until_ns = now + limits_.reachable_ns;
}

// Somebody says otherwise: ask everybody, once a retransmission time at most.
void neighbour_cache::doubt(neighbour& n, std::uint64_t now) noexcept {
  if (n.state == probe && n.ask_all) return;
  n.state = probe;
  n.ask_all = true;
  n.solicits = 0;
  set_timer(n, now);
}

void neighbour_cache::confirm(neighbour& n, std::uint64_t now) noexcept {
  if (n.state == reachable || n.state == stale || n.state == delay || (n.state == probe && !n.ask_all))
    settle(n, reachable, now);
}

const wire::mac_address* neighbour_cache::use_slowly(neighbour& n, std::uint64_t now) noexcept {
  n.used_ns = now;
  n.used = true;
  if (n.state == incomplete || n.state == unused) return nullptr;
  if (n.state == reachable || n.state == stale) {  // RFC 4861 7.3.3: the first packet starts the delay
    n.state = delay;
    n.solicits = 0;
    set_timer(n, now + limits_.delay_ns);
  }
  return &n.mac;
}

learned neighbour_cache::on_request(const base::ip_address& ip, const wire::mac_address& mac,
                                    std::uint64_t now) noexcept {
  neighbour* n = find(ip);
  if (n == nullptr) n = create(ip, now);
  if (n == nullptr) return learned::full;
  switch (n->state) {
    case fixed:
      return n->mac == mac ? learned::nothing : learned::fixed;
    case unused:
    case incomplete:
      n->mac = mac;
      settle(*n, stale, now);
      return learned::accepted;
    case reachable:
    case stale:
    case delay:
    case probe:
      break;
  }
  if (n->mac == mac) return learned::nothing;
  // One that nobody here ever used protects nothing: the newest says where it is (RFC 826).
  if (n->state == stale && !n->used) {
    n->mac = mac;
    n->used_ns = now;
    return learned::nothing;
  }
  doubt(*n, now);
  return learned::asking;
}

learned neighbour_cache::on_answer(const neighbour_claim& claim, std::uint64_t now) noexcept {
  neighbour* const n = find(claim.ip);
  if (n == nullptr) return learned::nothing;
  const bool same = !claim.has_mac || n->mac == claim.mac;
  switch (n->state) {
    case unused:
      return learned::nothing;
    case fixed:
      return same ? learned::nothing : learned::fixed;
    case incomplete:
      if (!claim.has_mac) return learned::nothing;  // RFC 4861 7.2.5
      n->mac = claim.mac;
      settle(*n, claim.solicited ? reachable : stale, now);
      return learned::accepted;
    case probe:
      if (!claim.solicited) return same ? learned::nothing : learned::asking;
      if (same || (n->ask_all && claim.overrides)) {
        if (claim.has_mac) n->mac = claim.mac;
        settle(*n, reachable, now);
        return learned::accepted;
      }
      break;
    case reachable:
    case stale:
    case delay:
      // RFC 4861 7.3.1: confirmation is a solicited answer; we asked nothing in these states but by our last probe.
      if (same) return learned::nothing;
      break;
  }
  // RFC 4861 7.2.5 I: without override a known MAC stays, but is no longer trusted.
  if (!claim.overrides) {
    if (n->state == reachable) settle(*n, stale, now);
    return learned::nothing;
  }
  doubt(*n, now);
  return learned::asking;
}

// An entry whose time has come. False: it is gone. True: it asks now.
bool neighbour_cache::step(neighbour& n, std::uint64_t now) noexcept {
  const bool to_all = n.state == incomplete || n.ask_all;
  if (n.state == delay) {
    n.state = probe;
    n.solicits = 0;
  } else if (n.solicits >= (to_all ? limits_.multicast_solicits : limits_.unicast_solicits)) {
    remove(n, stats::drop_reason::neighbour_unreachable);
    return false;
  }
  ++n.solicits;
  set_timer(n, now + limits_.retransmit_ns);
  return true;
}

void neighbour_cache::sweep(std::uint64_t now) noexcept {
  constexpr std::uint32_t entries_a_sweep = 64;
  for (std::uint32_t looked = 0; looked < std::min(entries_a_sweep, untouched_); ++looked) {
    neighbour& n = entries_[sweep_];
    sweep_ = sweep_ + 1 >= untouched_ ? 0 : sweep_ + 1;
    const bool idle = n.state == stale || (n.state == reachable && now >= n.until_ns);
    if (idle && now - n.used_ns >= limits_.unused_ns) remove(n, stats::drop_reason::neighbour_unreachable);
  }
}

base::byte_span neighbour_cache::keep(neighbour& n, std::size_t bytes) noexcept {
  if (bytes > slot_bytes_ || bytes > UINT16_MAX) return {};
  if (n.frames >= limits_.pending_per_neighbour) {  // RFC 4861 7.2.2: the oldest gives way
    pop_frame(n);
    drops_.add(stats::drop_reason::neighbour_queue_full);
  }
  const std::uint16_t slot = free_frame_;
  if (slot == no_frame) return {};
  free_frame_ = waiting_[slot].next;
  waiting_[slot] = {.next = no_frame, .bytes = static_cast<std::uint16_t>(bytes)};
  (n.frames == 0 ? n.first_frame : waiting_[n.last_frame].next) = slot;
  n.last_frame = slot;
  ++n.frames;
  ++frames_held_;
  ++frames_kept_;
  return {reinterpret_cast<std::uint8_t*>(bytes_memory_.data()) + slot * slot_bytes_, bytes};
}

base::byte_span neighbour_cache::first_frame(const neighbour& n) noexcept {
  if (n.frames == 0) return {};
  return {reinterpret_cast<std::uint8_t*>(bytes_memory_.data()) + n.first_frame * slot_bytes_,
          waiting_[n.first_frame].bytes};
}

void neighbour_cache::pop_frame(neighbour& n) noexcept {
  const std::uint16_t slot = n.first_frame;
  n.first_frame = waiting_[slot].next;
  waiting_[slot].next = free_frame_;
  free_frame_ = slot;
  --n.frames;
  --frames_held_;
}

}  // namespace millrace::net
