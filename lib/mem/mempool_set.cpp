// How it works: `open_` and `serving_` are all the data path sees. A mempool that shall go is taken out of both, and is
// freed after three grace periods, in each of which every lcore has passed:
//   closed        ends with nobody inside a get that saw it in `open_`; if such a get let it serve again: once more
//   out_of_reach  ends with nobody inside a get that saw it in `serving_`; from now on elements only come back
//   whole         begins when all are back, and ends with nobody inside the put that brought the last one
// What could go wrong: an lcore that holds an element for ever keeps its mempool; reap() then says `waiting` for ever,
// and in_use() counts it.
#include "mem/mempool_set.hpp"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>

#include <algorithm>

#include "mem/checked_mempool.hpp"

namespace millrace::mem {
namespace {

std::uint16_t usable_cache(const mempool_set_config& config) noexcept {
  if constexpr (use_checks()) return 0;
  const std::uint32_t cache = std::min<std::uint32_t>(config.cache, RTE_MEMPOOL_CACHE_MAX_SIZE);
  return static_cast<std::uint16_t>(std::min(cache, config.elements / 2));
}

void free_mempool(rte_mempool* pool) noexcept {
  if (pool == nullptr) return;
  if constexpr (use_checks()) uncover_memory(pool);
  rte_mempool_free(pool);
}

rte_mempool* give_up(rte_mempool* pool, int error) noexcept {
  free_mempool(pool);
  rte_errno = error;
  return nullptr;
}

}  // namespace

// Without hugepages elements may lie across pages: see packet_pool.cpp.
rte_mempool* mempool_set::create(unsigned index) const {
  const bool mbufs = config_.data_room != 0;
  const unsigned total_room = config_.data_room + RTE_PKTMBUF_HEADROOM;
  const unsigned element_bytes = mbufs ? static_cast<unsigned>(sizeof(rte_mbuf)) + total_room : config_.element_bytes;
  const unsigned flags = rte_eal_has_hugepages() != 0 ? 0 : RTE_MEMPOOL_F_NO_IOVA_CONTIG;
  const std::string name = config_.name + "." + std::to_string(index);
  rte_mempool* pool = rte_mempool_create_empty(name.c_str(), config_.elements, element_bytes, usable_cache(config_),
                                               mbufs ? sizeof(rte_pktmbuf_pool_private) : 0, config_.socket, flags);
  if (pool == nullptr) return nullptr;
  const auto kept = static_cast<std::uint32_t>(mbufs ? sizeof(rte_mbuf) : config_.kept_bytes);
  const int refused = use_checks() ? use_checked_handler(pool, kept)
                                   : rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), nullptr);
  if (refused != 0) return give_up(pool, -refused);
  if (mbufs) {
    rte_pktmbuf_pool_private shape{};
    shape.mbuf_data_room_size = static_cast<std::uint16_t>(total_room);
    rte_pktmbuf_pool_init(pool, &shape);
  }
  if (const int added = rte_mempool_populate_default(pool); added < 0) return give_up(pool, -added);
  if (mbufs) rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  if (config_.init != nullptr) rte_mempool_obj_iter(pool, config_.init, nullptr);
  return pool;
}

mempool_set::mempool_set(mempool_set&& other) noexcept
    : serving_(other.serving_.exchange(nullptr)),
      refused_(other.refused_.load()),
      members_(std::exchange(other.members_, {})),
      config_(std::move(other.config_)),
      lcores_(other.lcores_),
      high_water_(other.high_water_) {
  for (unsigned i = 0; i < capacity; ++i) {
    open_[i] = other.open_[i].exchange(nullptr);
    known_[i] = other.known_[i].exchange(nullptr);
  }
}

mempool_set::~mempool_set() {
  if (members_[0].pool == nullptr) return;  // moved from
  if constexpr (use_checks())
    if (in_use() != 0) die_of_leak(config_.name.c_str(), in_use());
  for (const member& one : members_) free_mempool(one.pool);
}

base::result<mempool_set> mempool_set::make(const mempool_set_config& config) {
  const bool shaped = (config.data_room != 0) != (config.element_bytes != 0);
  if (!shaped || config.elements == 0 || config.most == 0 || config.most > capacity ||
      config.data_room > UINT16_MAX - RTE_PKTMBUF_HEADROOM)
    return base::failure{"a pool '" + config.name + "' of " + std::to_string(config.elements) + " elements in up to " +
                             std::to_string(config.most) + " mempools cannot be",
                         "at least 1 element, 1 to 16 mempools, a data room of at most 65407 bytes", true};
  mempool_set made{config};
  rte_mempool* first = made.create(0);
  if (first == nullptr)
    return base::failure{"no pool '" + config.name + "' of " + std::to_string(config.elements) + " x " +
                             std::to_string(std::max<std::uint32_t>(config.data_room, config.element_bytes)) +
                             " bytes: " + rte_strerror(rte_errno),
                         "give EAL more memory (-m MEGABYTES, or more hugepages), or ask for less"};
  made.open(0, first);
  made.serving_ = first;
  return made;
}

void mempool_set::open(unsigned index, rte_mempool* pool) noexcept {
  members_[index] = {.pool = pool, .is = state::active};
  known_[index].store(pool, std::memory_order_relaxed);
  open_[index].store(pool, std::memory_order_release);
}

void* mempool_set::get_elsewhere() noexcept {
  void* one = nullptr;
  return get_bulk_elsewhere(&one, 1) ? one : nullptr;
}

bool mempool_set::get_bulk_elsewhere(void** out, unsigned count) noexcept {
  for (std::atomic<rte_mempool*>& slot : open_) {
    rte_mempool* pool = slot.load(std::memory_order_acquire);
    if (pool == nullptr || rte_mempool_get_bulk(pool, out, count) != 0) continue;
    // retire() may have closed the slot meanwhile; this lcore has not passed since, so reap() looks at serving_ again.
    serving_.store(pool, std::memory_order_release);
    return true;
  }
  refused_.fetch_add(count, std::memory_order_relaxed);
  return false;
}

pool_change mempool_set::grow() {
  if (rte_eal_has_hugepages() == 0) return pool_change::fixed;
  const auto live = static_cast<unsigned>(
      std::count_if(members_.begin(), members_.end(), [](const member& one) { return one.is != state::absent; }));
  if (live >= config_.most) return pool_change::at_cap;
  const auto place =
      std::find_if(members_.begin(), members_.end(), [](const member& one) { return one.is == state::absent; });
  const auto index = static_cast<unsigned>(place - members_.begin());
  rte_mempool* pool = create(index);
  if (pool == nullptr) return pool_change::no_memory;
  open(index, pool);
  return pool_change::done;
}

void mempool_set::retire(unsigned index) noexcept {
  member& one = members_[index];
  open_[index].store(nullptr);
  rte_mempool* expected = one.pool;
  serving_.compare_exchange_strong(expected, members_[0].pool);
  one.is = state::retiring;
  one.grace = graces::closed;
  one.token = lcores_ != nullptr ? lcores_->begin() : 0;
}

pool_change mempool_set::release_half() noexcept {
  if (rte_eal_has_hugepages() == 0) return pool_change::fixed;
  unsigned wanted = mempools() / 2;
  bool any = retiring() != 0;
  for (unsigned i = capacity; i-- > 1 && wanted != 0;) {
    if (members_[i].is != state::active || rte_mempool_in_use_count(members_[i].pool) != 0) continue;
    retire(i);
    any = true;
    --wanted;
  }
  return any ? reap() : pool_change::nothing_idle;
}

bool mempool_set::try_free(member& one) noexcept {
  if (lcores_ == nullptr) {
    if (rte_mempool_in_use_count(one.pool) != 0) return false;
    free_mempool(one.pool);
    one = {};
    return true;
  }
  if (!lcores_->passed(one.token)) return false;
  one.token = lcores_->begin();
  // An lcore that was inside get_bulk_elsewhere() while this was closed may have let it serve again.
  rte_mempool* expected = one.pool;
  const bool served_again = serving_.compare_exchange_strong(expected, members_[0].pool);
  const bool whole = rte_mempool_in_use_count(one.pool) == 0;
  switch (one.grace) {
    case graces::closed:
      one.grace = served_again ? graces::closed : graces::out_of_reach;
      return false;
    case graces::out_of_reach:
      one.grace = whole ? graces::whole : graces::out_of_reach;
      return false;
    case graces::whole:
      // Once more: DPDK flushes a cache before it says so, and a count taken in between has elements twice.
      if (whole) break;
      one.grace = graces::out_of_reach;
      return false;
  }
  free_mempool(one.pool);
  one = {};
  return true;
}

pool_change mempool_set::reap() noexcept {
  bool left = false;
  for (member& one : members_)
    if (one.is == state::retiring && !try_free(one)) left = true;
  for (unsigned i = 0; i < capacity; ++i) known_[i].store(members_[i].pool, std::memory_order_relaxed);
  return left ? pool_change::waiting : pool_change::done;
}

bool mempool_set::owns(const rte_mempool* pool) const noexcept {
  return pool != nullptr && std::any_of(known_.begin(), known_.end(), [pool](const std::atomic<rte_mempool*>& one) {
           return one.load(std::memory_order_relaxed) == pool;
         });
}

unsigned mempool_set::mempools() const noexcept {
  return static_cast<unsigned>(
      std::count_if(members_.begin(), members_.end(), [](const member& one) { return one.is == state::active; }));
}

unsigned mempool_set::retiring() const noexcept {
  return static_cast<unsigned>(
      std::count_if(members_.begin(), members_.end(), [](const member& one) { return one.is == state::retiring; }));
}

std::uint32_t mempool_set::size() const noexcept { return mempools() * config_.elements; }

std::uint32_t mempool_set::in_use() const noexcept {
  std::uint32_t sum = 0;
  for (const member& one : members_)
    if (one.pool != nullptr) sum += rte_mempool_in_use_count(one.pool);
  return sum;
}

std::uint32_t mempool_set::sample() noexcept {
  std::uint32_t sum = 0;
  rte_mempool* lowest = nullptr;
  for (const member& one : members_) {
    if (one.pool == nullptr) continue;
    const unsigned out = rte_mempool_in_use_count(one.pool);
    sum += out;
    if (lowest == nullptr && one.is == state::active && config_.elements - out >= config_.elements / 4)
      lowest = one.pool;
  }
  if (lowest != nullptr) serving_.store(lowest, std::memory_order_release);
  high_water_ = std::max(high_water_, sum);
  return sum;
}

std::size_t mempool_set::memory_bytes() const noexcept {
  std::size_t sum = 0;
  for (const member& one : members_) {
    if (one.pool == nullptr) continue;
    rte_mempool_mem_iter(
        one.pool,
        [](rte_mempool*, void* into, rte_mempool_memhdr* chunk, unsigned) {
          *static_cast<std::size_t*>(into) += chunk->len;
        },
        &sum);
  }
  return sum;
}

std::size_t mempool_set::bytes_per_element() const noexcept {
  const rte_mempool* pool = members_[0].pool;
  return pool->header_size + pool->elt_size + pool->trailer_size;
}

}  // namespace millrace::mem
