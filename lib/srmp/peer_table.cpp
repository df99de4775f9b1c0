// How it works: nodes in chains of buckets, found by a seeded hash of both endpoints, and in one list by the time they
// were heard. As many buckets as nodes at least, so a chain is a node or two long.
#include "srmp/peer_table.hpp"

#include <algorithm>
#include <bit>

#include "base/hash.hpp"

namespace millrace::srmp {
namespace {

// An endpoint has a byte of padding: what is hashed is laid out here.
std::uint64_t hash_of(const conversation& between, std::uint64_t seed) noexcept {
  std::uint8_t key[40];
  std::uint8_t* at = key;
  for (const base::endpoint& end : {between.remote, between.local}) {
    at = std::copy(end.address.octets.begin(), end.address.octets.end(), at);
    base::store_le16(at, end.port);
    base::store_le16(at + 2, static_cast<std::uint16_t>(end.address.family));
    at += 4;
  }
  return base::hash_bytes(key, seed);
}

bool same_ends(const conversation& a, const conversation& b) noexcept {
  return a.remote == b.remote && a.local == b.local;
}

}  // namespace

std::unique_ptr<peer_table> peer_table::make(const peer_limits& limits, std::uint64_t seed, int socket) {
  const std::size_t count = std::clamp<std::size_t>(limits.max_peers, 1, std::size_t{1} << 30);
  std::unique_ptr<peer_table> made(new peer_table);
  made->nodes_memory_ = mem::region::make_array<node>("srmp peers", count, socket);
  made->buckets_memory_ = mem::region::make_array<std::uint32_t>("srmp peer buckets", std::bit_ceil(count), socket);
  if (!made->nodes_memory_ || !made->buckets_memory_) return nullptr;
  made->nodes_ = made->nodes_memory_.array<node>();
  made->buckets_ = made->buckets_memory_.array<std::uint32_t>();
  made->seed_ = seed;
  made->idle_ = limits.idle;
  return made;
}

std::uint32_t& peer_table::bucket_of(const conversation& between) const noexcept {
  return buckets_[hash_of(between, seed_) & (buckets_.size() - 1)];
}

std::uint32_t peer_table::look_up(const conversation& between, std::uint32_t first) const noexcept {
  std::uint32_t at = first == 0 ? none : first - 1;
  while (at != none && !same_ends(nodes_[at].who.between, between)) at = nodes_[at].next;
  return at;
}

peer_handle peer_table::find(const conversation& between) const noexcept {
  const std::uint32_t at = look_up(between, bucket_of(between));
  return at == none ? peer_handle{} : peer_handle{at, nodes_[at].generation};
}

peer_handle peer_table::hear(const conversation& between, std::uint64_t now) noexcept {
  std::uint32_t& bucket = bucket_of(between);
  std::uint32_t at = look_up(between, bucket);
  if (at == none) {
    if (free_ != none) {
      at = free_;
      free_ = nodes_[at].next;
    } else if (fresh_ < nodes_.size()) {
      at = fresh_++;
    } else {
      count_.refused.add(1);
      return {};
    }
    node& fresh = nodes_[at];
    fresh.who = peer{.between = between, .heard = now, .cookie = 0, .numbers = {}};
    fresh.next = bucket == 0 ? none : bucket - 1;
    fresh.used = true;
    if (++fresh.generation == 0) fresh.generation = 1;
    bucket = at + 1;
    ++size_;
    count_.made.add(1);
    make_newest(at);
  } else {
    peer& known = nodes_[at].who;
    known.between.cookie = between.cookie;
    known.heard = std::max(known.heard, now);
    if (at != newest_) {
      leave_ages(at);
      make_newest(at);
    }
  }
  return {at, nodes_[at].generation};
}

peer* peer_table::get(peer_handle handle) noexcept {
  if (!handle || handle.index_ >= fresh_) return nullptr;
  node& one = nodes_[handle.index_];
  return one.used && one.generation == handle.generation_ ? &one.who : nullptr;
}

bool peer_table::forget(peer_handle handle) noexcept {
  if (get(handle) == nullptr) return false;
  remove(handle.index_);
  count_.forgotten.add(1);
  return true;
}

void peer_table::make_newest(std::uint32_t at) noexcept {
  nodes_[at].newer = none;
  nodes_[at].older = newest_;
  (newest_ == none ? oldest_ : nodes_[newest_].newer) = at;
  newest_ = at;
}

void peer_table::leave_ages(std::uint32_t at) noexcept {
  const node& one = nodes_[at];
  (one.newer == none ? newest_ : nodes_[one.newer].older) = one.older;
  (one.older == none ? oldest_ : nodes_[one.older].newer) = one.newer;
}

void peer_table::remove(std::uint32_t at) noexcept {
  node& gone = nodes_[at];
  std::uint32_t& bucket = bucket_of(gone.who.between);
  if (bucket == at + 1) {
    bucket = gone.next == none ? 0 : gone.next + 1;
  } else {
    std::uint32_t before = bucket - 1;
    while (nodes_[before].next != at) before = nodes_[before].next;
    nodes_[before].next = gone.next;
  }
  leave_ages(at);
  gone.used = false;
  gone.next = free_;
  free_ = at;
  --size_;
}

}  // namespace millrace::srmp
