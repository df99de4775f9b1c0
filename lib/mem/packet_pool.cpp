#include "mem/packet_pool.hpp"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf_pool_ops.h>

#include <algorithm>
#include <cstring>

namespace millrace::mem {
namespace {

// A pool refuses a cache that could hold more than two thirds of it; half leaves the other lcores a share.
std::uint16_t usable_cache(const packet_pool_config& config) noexcept {
  std::uint32_t cache = std::min<std::uint32_t>(config.cache, RTE_MEMPOOL_CACHE_MAX_SIZE);
  return static_cast<std::uint16_t>(std::min(cache, config.packets / 2));
}

// DPDK's own default hands buffers out in the order they came back, so that each of them is used in turn and comes out
// of the cache again: tens of megabytes go round where a few hundred packets are in flight. A stack gives those first
// that were used last. An operator's choice (--mbuf-pool-ops-name) and a platform's go before ours.
const char* wanted_ops() noexcept {
  const char* const best = rte_mbuf_best_mempool_ops();
  return std::strcmp(best, RTE_MBUF_DEFAULT_MEMPOOL_OPS) == 0 && rte_mbuf_user_mempool_ops() != best ? "stack" : best;
}

// What rte_pktmbuf_pool_create() does, with two choices of our own: the order above; and pages. On 4 KiB pages EAL
// gives a buffer that may not cross a page a page of its own: twice the memory, and headers that all fall into one set
// of the first-level cache. No hugepages means no device that reads physical addresses, so buffers may lie across pages
// there.
rte_mempool* create(const packet_pool_config& config, std::uint32_t total_room) noexcept {
  const unsigned flags = rte_eal_has_hugepages() != 0 ? 0 : RTE_MEMPOOL_F_NO_IOVA_CONTIG;
  const auto element_bytes = static_cast<unsigned>(sizeof(rte_mbuf)) + total_room;
  rte_mempool* pool = rte_mempool_create_empty(config.name.c_str(), config.packets, element_bytes, usable_cache(config),
                                               sizeof(rte_pktmbuf_pool_private), config.socket, flags);
  if (pool == nullptr) return nullptr;
  rte_pktmbuf_pool_private shape{};
  shape.mbuf_data_room_size = static_cast<std::uint16_t>(total_room);
  int refused = rte_mempool_set_ops_byname(pool, wanted_ops(), nullptr);
  if (refused != 0) refused = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), nullptr);  // no such driver
  if (refused != 0) {
    rte_mempool_free(pool);
    rte_errno = -refused;
    return nullptr;
  }
  rte_pktmbuf_pool_init(pool, &shape);
  if (const int added = rte_mempool_populate_default(pool); added < 0) {
    rte_mempool_free(pool);
    rte_errno = -added;
    return nullptr;
  }
  rte_mempool_obj_iter(pool, rte_pktmbuf_init, nullptr);
  return pool;
}

}  // namespace

std::size_t estimated_bytes(const packet_pool_config& config) noexcept {
  // Per buffer: mempool header and trailer, each rounded to a cache line, and up to three lines by which EAL spreads
  // buffers over memory channels. Per pool: its own record with the caches of every possible lcore.
  constexpr std::size_t element_overhead = (1 + 1 + 3) * cache_line_bytes;
  constexpr std::size_t pool_overhead = std::size_t{1} << 20;
  const std::size_t element = sizeof(rte_mbuf) + RTE_PKTMBUF_HEADROOM + config.data_room + element_overhead;
  const std::size_t ring = static_cast<std::size_t>(rte_align32pow2(config.packets + 1)) * sizeof(void*);
  return config.packets * element + ring + pool_overhead;
}

packet_pool::packet_pool(packet_pool&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      name_(std::move(other.name_)),
      high_water_(other.high_water_),
      refused_(other.refused_.load(std::memory_order_relaxed)) {}

packet_pool::~packet_pool() { rte_mempool_free(pool_); }

base::result<packet_pool> packet_pool::make(const packet_pool_config& config) {
  const auto total_room = static_cast<std::uint32_t>(config.data_room) + RTE_PKTMBUF_HEADROOM;
  if (config.packets == 0 || total_room > UINT16_MAX)
    return base::failure{"a packet pool of " + std::to_string(config.packets) + " packets with " +
                             std::to_string(config.data_room) + " bytes of data room cannot be",
                         "a data room is at most 65407 bytes, a count at least 1", true};
  rte_mempool* pool = create(config, total_room);
  if (pool == nullptr)
    return base::failure{"no packet pool '" + config.name + "' of " + std::to_string(config.packets) + " x " +
                             std::to_string(config.data_room) + " bytes (about " +
                             std::to_string(estimated_bytes(config) >> 20) + " MiB): " + rte_strerror(rte_errno),
                         "give EAL more memory (-m MEGABYTES, or more hugepages), or ask for fewer packets"};
  return packet_pool{pool, config.name};
}

std::uint32_t packet_pool::sample() noexcept {
  const std::uint32_t now = in_use();
  high_water_ = std::max(high_water_, now);
  return now;
}

}  // namespace millrace::mem
