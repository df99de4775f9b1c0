// mem/mempool_set.hpp - up to 16 equal rte_mempools that act as one pool: it grows and shrinks by whole mempools.
//
// Shape    elements come from the mempool that served last; when that runs dry the others are tried, lowest first.
//          sample() points allocation back at the lowest with room, so that the upper ones fall idle. An element goes
//          back to the mempool it came from, by whatever way, from any lcore.
// Units    elements; a mempool holds config.elements of them.
// Owner    the object owns the mempools; every element must be back before it dies (checked builds end there with their
//          number), and EAL must still run.
// Limits   config.most mempools, made one at a time. Without hugepages EAL's memory is fixed, and so is the set: grow()
//          and release_half() answer `fixed`. The first mempool is never released.
// Errors   get(): nullptr, get_bulk(): false and nothing taken; both counted in refused().
// Threads  get and get_bulk from any lcore; grow, release_half, reap, sample and the figures: the control thread. With
//          lcores running, set_quiescence() comes first: a mempool is freed when all is back and every lcore has passed
//          since, which takes three or more calls of reap().
// Tests    test/mem/mempool_set_test.cpp, test/buf/hugepage_test.cpp
#pragma once

#include <rte_mempool.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "mem/quiescence.hpp"
#include "mem/region.hpp"

namespace millrace::mem {

// What became of a wish to grow or to shrink.
enum class pool_change : std::uint8_t {
  done,          // grown by one mempool, or: every released mempool is EAL's again
  waiting,       // released mempools still have elements out, or an lcore has not passed yet: reap() again later
  nothing_idle,  // no mempool but the first is idle
  at_cap,        // there are config.most mempools
  fixed,         // no hugepages: what was made at the start is all there is
  no_memory,     // EAL has not enough free memory for one more
};

struct mempool_set_config {
  std::string name;                 // up to 20 characters; unique in the process
  std::uint32_t elements = 1023;    // of one mempool
  std::uint32_t element_bytes = 0;  // of plain elements; mbufs: leave 0 and set data_room
  std::uint16_t data_room = 0;      // of mbufs, headroom not counted
  std::uint16_t cache = 256;        // per lcore and mempool; clamped to what EAL allows and to half of `elements`
  unsigned most = 1;                // mempools
  int socket = any_socket;
  rte_mempool_obj_cb_t* init = nullptr;  // called once for each new element, e.g. to write what it keeps for ever
  std::uint32_t kept_bytes = 0;  // of a plain element: its front, which stays as it is while free; all `init` may write
};

class mempool_set {
 public:
  static constexpr unsigned capacity = 16;

 private:
  enum class state : std::uint8_t { absent, active, retiring };
  enum class graces : std::uint8_t { closed, out_of_reach, whole };
  struct member {
    rte_mempool* pool = nullptr;
    state is = state::absent;
    graces grace = graces::closed;  // while retiring; mempool_set.cpp says what each ends with
    std::uint64_t token = 0;        // of that grace period
  };

  std::atomic<rte_mempool*> serving_{nullptr};               // the data path reads this one first
  std::array<std::atomic<rte_mempool*>, capacity> open_{};   // those that may serve, by member
  std::array<std::atomic<rte_mempool*>, capacity> known_{};  // those that may have elements out, by member
  std::atomic<std::uint64_t> refused_{0};                    // written only when a request fails
  // Control thread only, from here on.
  std::array<member, capacity> members_{};
  mempool_set_config config_;
  quiescence* lcores_ = nullptr;
  std::uint32_t high_water_ = 0;

  explicit mempool_set(mempool_set_config config) noexcept : config_(std::move(config)) {}
  [[nodiscard]] rte_mempool* create(unsigned index) const;
  void open(unsigned index, rte_mempool* pool) noexcept;
  void retire(unsigned index) noexcept;
  [[nodiscard]] bool try_free(member& one) noexcept;
  [[nodiscard]] void* get_elsewhere() noexcept;
  [[nodiscard]] bool get_bulk_elsewhere(void** out, unsigned count) noexcept;

 public:
  mempool_set(mempool_set&& other) noexcept;  // before any lcore uses it
  mempool_set& operator=(mempool_set&&) = delete;
  ~mempool_set();

  [[nodiscard]] static base::result<mempool_set> make(const mempool_set_config& config);

  // One element, content as it was left, or nullptr. The caller owns it.
  [[nodiscard]] void* get() noexcept {
    void* one = nullptr;
    if (rte_mempool_get(serving_.load(std::memory_order_acquire), &one) == 0) [[likely]]
      return one;
    return get_elsewhere();
  }
  // `count` elements of one mempool, or none.
  [[nodiscard]] bool get_bulk(void** out, unsigned count) noexcept {
    if (rte_mempool_get_bulk(serving_.load(std::memory_order_acquire), out, count) == 0) [[likely]]
      return true;
    return get_bulk_elsewhere(out, count);
  }

  // Whether get() looks into this mempool first.
  [[nodiscard]] bool is_serving(const rte_mempool* pool) const noexcept {
    return pool == serving_.load(std::memory_order_relaxed);
  }

  void set_quiescence(quiescence* lcores) noexcept { lcores_ = lcores; }
  // One more mempool: done | at_cap | fixed | no_memory.
  [[nodiscard]] pool_change grow();
  // Takes half of the mempools (rounded down) out of service, those that are idle now, highest first, then reap()s.
  [[nodiscard]] pool_change release_half() noexcept;
  // Gives EAL those of the released mempools that nobody can touch any more: done | waiting.
  [[nodiscard]] pool_change reap() noexcept;

  [[nodiscard]] bool owns(const rte_mempool* pool) const noexcept;  // any lcore
  [[nodiscard]] unsigned mempools() const noexcept;                 // serving
  [[nodiscard]] unsigned retiring() const noexcept;                 // released and not yet EAL's
  [[nodiscard]] std::uint32_t size() const noexcept;                // elements of the serving mempools
  [[nodiscard]] std::uint32_t in_use() const noexcept;  // out of all mempools; exact when no lcore allocates
  [[nodiscard]] bool is_whole() const noexcept { return in_use() == 0; }
  // Reads in_use(), remembers the largest, and lets the lowest mempool with a quarter free serve next.
  std::uint32_t sample() noexcept;
  [[nodiscard]] std::uint32_t high_water() const noexcept { return high_water_; }
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
  [[nodiscard]] const mempool_set_config& config() const noexcept { return config_; }
  // Bytes of EAL memory of all mempools, and of one element with its mempool header and padding.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  [[nodiscard]] std::size_t bytes_per_element() const noexcept;
};

}  // namespace millrace::mem
