// mem/packet_pool.hpp - a fixed number of packet buffers (mbufs) on EAL memory, with its book-keeping.
//
// Shape    one rte_pktmbuf_pool. Buffers leave by alloc()/alloc_bulk() or through a driver's receive queue, and come
//          back when their packet is freed, from any lcore.
// Units    packets (= mbufs). Data room is payload bytes of one mbuf without the headroom of 128.
// Owner    the object owns the pool; every mbuf must be back before it dies (is_whole()), and EAL must still run.
// Limits   the count is fixed. Each lcore keeps up to 1.5 x cache buffers to itself, so size a pool for that.
// Errors   make(): a failure with what was asked. alloc(): nullptr, alloc_bulk(): false and no buffer; both counted
//          in refused(). Exhaustion is an event, never a crash.
// Threads  allocation from any EAL lcore; figures are read by the control thread and may be a burst behind.
// Tests    test/mem/packet_pool_test.cpp
#pragma once

#include <rte_mbuf.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "mem/region.hpp"

namespace millrace::mem {

inline constexpr std::uint16_t default_data_room = 2048;  // a full Ethernet frame with tags, on two 1 KiB boundaries

struct packet_pool_config {
  std::string name = "packets";  // up to 25 characters; unique in the process
  std::uint32_t packets = 8191;
  std::uint16_t cache = 256;  // per lcore; clamped to what EAL allows and to a share of `packets`
  std::uint16_t data_room = default_data_room;
  int socket = any_socket;
};

// Bytes of EAL memory that a pool of this shape takes, a little above the truth: for preflight before EAL runs.
[[nodiscard]] std::size_t estimated_bytes(const packet_pool_config& config) noexcept;

class packet_pool {
  rte_mempool* pool_ = nullptr;
  std::string name_;
  std::uint32_t high_water_ = 0;           // the largest in_use() that sample() saw
  std::atomic<std::uint64_t> refused_{0};  // written only when a request fails, so sharing it costs nothing

  packet_pool(rte_mempool* pool, std::string name) noexcept : pool_(pool), name_(std::move(name)) {}

 public:
  packet_pool(packet_pool&& other) noexcept;
  packet_pool& operator=(packet_pool&&) = delete;
  ~packet_pool();

  [[nodiscard]] static base::result<packet_pool> make(const packet_pool_config& config);

  // One reset mbuf, or nullptr. The caller owns it.
  [[nodiscard]] rte_mbuf* alloc() noexcept {
    rte_mbuf* one = rte_pktmbuf_alloc(pool_);
    if (one == nullptr) [[unlikely]]
      refused_.fetch_add(1, std::memory_order_relaxed);
    return one;
  }

  // `count` reset mbufs into `out`, or none at all. The caller owns them.
  [[nodiscard]] bool alloc_bulk(rte_mbuf** out, unsigned count) noexcept {
    if (rte_pktmbuf_alloc_bulk(pool_, out, count) == 0) [[likely]]
      return true;
    refused_.fetch_add(count, std::memory_order_relaxed);
    return false;
  }

  // The same for buffers that another lcore had last, as those of a pool are that one lcore fills from and another one
  // frees into: their lines are asked for all at once before any of them is written, and the second line of an mbuf is
  // left alone (a free mbuf of DPDK has no successor and one segment; what else stands there is for who asks for it).
  [[nodiscard]] bool alloc_bulk_cold(rte_mbuf** out, unsigned count) noexcept {
    if (rte_mempool_get_bulk(pool_, reinterpret_cast<void**>(out), count) != 0) [[unlikely]] {
      refused_.fetch_add(count, std::memory_order_relaxed);
      return false;
    }
    for (unsigned i = 0; i < count; ++i) __builtin_prefetch(out[i], 1);
    for (unsigned i = 0; i < count; ++i) {
      rte_mbuf* const m = out[i];
      m->data_off = RTE_PKTMBUF_HEADROOM;
      rte_mbuf_refcnt_set(m, 1);
      m->nb_segs = 1;
      m->port = RTE_MBUF_PORT_INVALID;
      m->ol_flags = 0;
      m->packet_type = 0;
      m->pkt_len = 0;
      m->data_len = 0;
      m->vlan_tci = 0;
    }
    return true;
  }

  [[nodiscard]] rte_mempool* raw() const noexcept { return pool_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return pool_->size; }
  [[nodiscard]] std::uint16_t data_room() const noexcept {
    return static_cast<std::uint16_t>(rte_pktmbuf_data_room_size(pool_) - RTE_PKTMBUF_HEADROOM);
  }

  // Counts the caches of all lcores: control thread only. Exact when no lcore is allocating.
  [[nodiscard]] std::uint32_t in_use() const noexcept { return rte_mempool_in_use_count(pool_); }
  [[nodiscard]] bool is_whole() const noexcept { return in_use() == 0; }

  // Reads in_use() and remembers the largest; the control thread calls it every so often.
  std::uint32_t sample() noexcept;
  [[nodiscard]] std::uint32_t high_water() const noexcept { return high_water_; }
  // Buffers asked of alloc() and alloc_bulk() and not given; drivers count their own failures (port::stats).
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
};

}  // namespace millrace::mem
