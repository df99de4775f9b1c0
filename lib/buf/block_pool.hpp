// buf/block_pool.hpp - blocks of 1, 4 or 16 KiB for payload: each is an mbuf with that much data room.
//
// Shape    one mem::mempool_set of mbufs. A block leaves as a reset mbuf or as a buf::packet, is filled with append(),
//          is linked into chains and sent like any packet, and is back when that is freed: by put(), by a driver, by
//          anybody. 64 KiB blocks are no mbufs: buf/large_block_pool.hpp.
// Units    blocks; sizes in bytes of data room, headroom not counted.
// Owner    alloc(): the caller owns the block. put(): takes it. Every block is back before the pool dies.
// Limits   blocks_per_mempool times most_mempools; see mem/mempool_set.hpp for growth, release and quiescence.
// Errors   alloc(): nullptr, alloc_bulk(): false and no block; counted in set().refused().
// Threads  alloc and put from any lcore; one lcore's blocks stay in its own cache. All else: the control thread.
// Source   docs/ownership.md.       Tests  test/buf/block_pool_test.cpp       Bench  bench/buf/block_bench.cpp
#pragma once

#include <rte_mbuf.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "buf/free_bulk.hpp"
#include "buf/packet.hpp"
#include "mem/mempool_set.hpp"

namespace millrace::buf {

enum class block_size : std::uint16_t { kib_1 = 1024, kib_4 = 4096, kib_16 = 16384 };

struct block_pool_config {
  std::string name = "blocks";  // up to 20 characters; unique in the process
  block_size size = block_size::kib_4;
  std::uint32_t blocks_per_mempool = 1023;
  std::uint16_t cache = 256;   // per lcore and mempool; clamped to half of a mempool
  unsigned most_mempools = 1;  // at most 16; one is made at the start
  int socket = mem::any_socket;
};

class block_pool {
  // Lies in the place of a free block's receive port, which every way of allocating overwrites.
  static constexpr std::uint16_t given_port = 0xfffe;

  mem::mempool_set blocks_;
  std::atomic<std::uint64_t> double_gives_{0};  // both written only when something is wrong
  std::atomic<std::uint64_t> foreign_gives_{0};

  explicit block_pool(mem::mempool_set blocks) noexcept : blocks_(std::move(blocks)) {}

  [[nodiscard]] bool is_own_plain(const rte_mbuf* block) const noexcept {
    return blocks_.is_serving(block->pool) && is_plain(block) && block->port != given_port;
  }
  void put_slowly(rte_mbuf* block) noexcept;

  // What rte_pktmbuf_reset() does, for a block whose `next` is null and whose count is one, as those in a pool are: the
  // same fields in whole words.
  static void make_empty(rte_mbuf* block) noexcept {
    constexpr std::uint64_t rearmed = std::uint64_t{RTE_PKTMBUF_HEADROOM} |
                                      std::uint64_t{1} << 16 |  // data_off, refcnt
                                      std::uint64_t{1} << 32 | std::uint64_t{RTE_MBUF_PORT_INVALID} << 48;  // nb_segs
    static_assert(offsetof(rte_mbuf, refcnt) == offsetof(rte_mbuf, data_off) + 2 &&
                  offsetof(rte_mbuf, nb_segs) == offsetof(rte_mbuf, data_off) + 4 &&
                  offsetof(rte_mbuf, port) == offsetof(rte_mbuf, data_off) + 6 &&
                  offsetof(rte_mbuf, ol_flags) == offsetof(rte_mbuf, data_off) + 8);
    static_assert(offsetof(rte_mbuf, pkt_len) == offsetof(rte_mbuf, packet_type) + 4 &&
                  offsetof(rte_mbuf, data_len) == offsetof(rte_mbuf, packet_type) + 8 &&
                  offsetof(rte_mbuf, vlan_tci) == offsetof(rte_mbuf, packet_type) + 10);
    auto* at = reinterpret_cast<std::byte*>(block);
    constexpr std::uint64_t none = 0;
    std::memcpy(at + offsetof(rte_mbuf, data_off), &rearmed, sizeof rearmed);
    std::memcpy(at + offsetof(rte_mbuf, ol_flags), &none, sizeof none);
    std::memcpy(at + offsetof(rte_mbuf, packet_type), &none, sizeof none);         // and pkt_len
    std::memcpy(at + offsetof(rte_mbuf, data_len), &none, sizeof(std::uint32_t));  // and vlan_tci
    block->vlan_tci_outer = 0;
    block->tx_offload = 0;
  }

 public:
  block_pool(block_pool&& other) noexcept  // before any lcore uses it
      : blocks_(std::move(other.blocks_)),
        double_gives_(other.double_gives_.load()),
        foreign_gives_(other.foreign_gives_.load()) {}
  block_pool& operator=(block_pool&&) = delete;

  [[nodiscard]] static base::result<block_pool> make(const block_pool_config& config);

  // One empty block (a reset mbuf), or nullptr.
  [[nodiscard]] rte_mbuf* alloc() noexcept {
    auto* block = static_cast<rte_mbuf*>(blocks_.get());
    if (block != nullptr) [[likely]]
      make_empty(block);
    return block;
  }
  [[nodiscard]] packet alloc_packet() noexcept { return packet{alloc()}; }

  // `count` empty blocks into `out`, or none at all.
  [[nodiscard]] bool alloc_bulk(rte_mbuf** out, unsigned count) noexcept {
    if (!blocks_.get_bulk(reinterpret_cast<void**>(out), count)) [[unlikely]]
      return false;
    for (unsigned i = 0; i < count; ++i) make_empty(out[i]);
    return true;
  }

  // Frees a block with whatever is linked behind it. nullptr is nothing.
  void put(rte_mbuf* block) noexcept {
    if (block == nullptr) [[unlikely]]
      return;
    if (!is_own_plain(block)) [[unlikely]]
      return put_slowly(block);
    block->port = given_port;
    rte_mempool_put(block->pool, block);
  }
  void put_bulk(rte_mbuf** blocks, unsigned count) noexcept {
    unsigned good = 0;
    // One mempool: which one serves may change under the loop, by another lcore.
    while (good < count && blocks[good]->pool == blocks[0]->pool && is_own_plain(blocks[good]))
      blocks[good++]->port = given_port;
    if (good != 0) rte_mempool_put_bulk(blocks[0]->pool, reinterpret_cast<void* const*>(blocks), good);
    for (; good < count; ++good) put(blocks[good]);
  }

  [[nodiscard]] std::uint16_t block_bytes() const noexcept { return blocks_.config().data_room; }

  // --- control thread: growth, release and figures, see mem/mempool_set.hpp ---
  [[nodiscard]] mem::pool_change grow() { return blocks_.grow(); }
  [[nodiscard]] mem::pool_change release_half() noexcept { return blocks_.release_half(); }
  [[nodiscard]] mem::pool_change reap() noexcept { return blocks_.reap(); }
  void set_quiescence(mem::quiescence* lcores) noexcept { blocks_.set_quiescence(lcores); }
  [[nodiscard]] std::uint32_t size() const noexcept { return blocks_.size(); }
  [[nodiscard]] std::uint32_t in_use() const noexcept { return blocks_.in_use(); }
  [[nodiscard]] bool is_whole() const noexcept { return blocks_.is_whole(); }
  std::uint32_t sample() noexcept { return blocks_.sample(); }
  [[nodiscard]] const mem::mempool_set& set() const noexcept { return blocks_; }
  [[nodiscard]] std::uint64_t double_gives() const noexcept { return double_gives_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t foreign_gives() const noexcept { return foreign_gives_.load(std::memory_order_relaxed); }
};

}  // namespace millrace::buf
