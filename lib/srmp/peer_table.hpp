// srmp/peer_table.hpp - who has talked to us over datagrams: for pushes, for goodbyes, with a cap and an age.
//
// Shape    hear() on each datagram finds the peer or makes it, and notes the time; forget() on its goodbye; expire()
//          lets go of those not heard for longer than `idle`, oldest first. A server that only answers needs none of
//          it.
// Key      remote and local endpoint: a peer that calls two of our addresses is two conversations, each answered from
//          its own. The conversation's cookie is the last one heard.
// Time     passed in, in the caller's unit. A time that goes back ages nobody.
// Owner    the table owns its peers in a region made at start. A handle is a number, refused once its peer is gone; a
//          pointer from get() lives until the peer is forgotten or expires.
// Limits   peer_limits. A full table knows no new peer: counted, and the peer is still answered. Nobody is pushed out.
// Errors   make(): nullptr when there is no memory. hear(), find(): an empty handle.
// Threads  one; counters may be read from anywhere.
// Source   the SRMP sheet, 5. Tests  test/srmp/peer_table_test.cpp
#pragma once

#include <memory>

#include "mem/region.hpp"
#include "srmp/datagram_service.hpp"

namespace millrace::srmp {

struct peer_limits {
  std::uint32_t max_peers = 65'536;
  std::uint64_t idle = UINT64_MAX;  // in the caller's unit; the reference uses 20 minutes
};

class peer_handle {
  std::uint32_t index_ = 0;
  std::uint32_t generation_ = 0;  // 0: empty
  friend class peer_table;
  constexpr peer_handle(std::uint32_t index, std::uint32_t generation) noexcept
      : index_(index), generation_(generation) {}

 public:
  constexpr peer_handle() noexcept = default;
  [[nodiscard]] explicit constexpr operator bool() const noexcept { return generation_ != 0; }
  friend constexpr bool operator==(peer_handle, peer_handle) noexcept = default;
};

struct peer {
  conversation between;
  std::uint64_t heard = 0;         // when its last datagram came
  std::uint64_t cookie = 0;        // whoever pushes to it
  wire::sequence_counter numbers;  // of what we push
};

struct peer_counters {
  stats::counter made;
  stats::counter refused;  // the table was full
  stats::counter forgotten;
  stats::counter expired;
};

class peer_table {
 public:
  // `seed` is random, so that peers who choose their ports cannot choose their bucket.
  [[nodiscard]] static std::unique_ptr<peer_table> make(const peer_limits& limits, std::uint64_t seed,
                                                        int socket = mem::any_socket);
  peer_table(const peer_table&) = delete;
  peer_table& operator=(const peer_table&) = delete;

  [[nodiscard]] peer_handle hear(const conversation& between, std::uint64_t now) noexcept;
  [[nodiscard]] peer_handle find(const conversation& between) const noexcept;
  [[nodiscard]] peer* get(peer_handle handle) noexcept;
  bool forget(peer_handle handle) noexcept;  // false: it was gone already

  // on_gone(const peer&) for at most `max` of those that are too old; answers how many. The call must not use the
  // table.
  template <class OnGone>
  std::size_t expire(std::uint64_t now, std::size_t max, OnGone&& on_gone) noexcept {
    std::size_t gone = 0;
    for (; gone < max && oldest_ != none; ++gone) {
      const node& old = nodes_[oldest_];
      if (now < old.who.heard || now - old.who.heard <= idle_) break;
      on_gone(old.who);
      remove(oldest_);
    }
    count_.expired.add(gone);
    return gone;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return nodes_.size(); }
  [[nodiscard]] const peer_counters& counters() const noexcept { return count_; }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  struct node {
    peer who;
    std::uint32_t next;   // in its bucket, or among the free
    std::uint32_t newer;  // by the time they were heard
    std::uint32_t older;
    std::uint32_t generation;
    bool used;
  };

  mem::region nodes_memory_;
  mem::region buckets_memory_;
  std::span<node> nodes_;
  std::span<std::uint32_t> buckets_;  // node + 1; 0 is empty
  std::uint64_t seed_ = 0;
  std::uint64_t idle_ = 0;
  std::uint32_t free_ = none;
  std::uint32_t fresh_ = 0;  // nodes from here on were never used
  std::uint32_t newest_ = none;
  std::uint32_t oldest_ = none;
  std::size_t size_ = 0;
  peer_counters count_;

  peer_table() noexcept = default;
  [[nodiscard]] std::uint32_t& bucket_of(const conversation& between) const noexcept;
  [[nodiscard]] std::uint32_t look_up(const conversation& between, std::uint32_t first) const noexcept;
  void make_newest(std::uint32_t at) noexcept;
  void leave_ages(std::uint32_t at) noexcept;
  void remove(std::uint32_t at) noexcept;
};

}  // namespace millrace::srmp
