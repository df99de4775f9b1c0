// buf/block_pool.hpp - blocks of 1, 4 or 16 KiB for payload: each is an mbuf with that much data room.
//
// Shape    one mem::mempool_set of mbufs. A block leaves as a reset mbuf or as a buf::packet, is filled with append(),
// is
//          linked into chains and sent like any packet, and is back when that is freed: by put(), by a driver, by
//          anybody. 64 KiB blocks are no mbufs: buf/large_block_pool.hpp.
// Units    blocks; sizes in bytes of data room, headroom not counted.
// Owner    alloc(): the caller owns the block. put(): takes it. Every block is back before the pool dies.
// Limits   blocks_per_mempool times most_mempools; see mem/mempool_set.hpp for growth, release and quiescence.
// Errors   alloc(): nullptr, alloc_bulk(): false and no block; counted in set().refused().
// Threads  alloc and put from any lcore; one lcore's blocks stay in its own cache. All else: the control thread.
// Source   docs/ownership.md.       Tests  test/buf/block_pool_test.cpp       Bench  bench/buf/block_bench.cpp
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
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
  mem::mempool_set blocks_;

  explicit block_pool(mem::mempool_set blocks) noexcept : blocks_(std::move(blocks)) {}

 public:
  [[nodiscard]] static base::result<block_pool> make(const block_pool_config& config);

  // One empty block (a reset mbuf), or nullptr.
  [[nodiscard]] rte_mbuf* alloc() noexcept {
    auto* block = static_cast<rte_mbuf*>(blocks_.get());
    if (block != nullptr) [[likely]]
      rte_pktmbuf_reset(block);
    return block;
  }
  [[nodiscard]] packet alloc_packet() noexcept { return packet{alloc()}; }

  // `count` empty blocks into `out`, or none at all.
  [[nodiscard]] bool alloc_bulk(rte_mbuf** out, unsigned count) noexcept {
    if (!blocks_.get_bulk(reinterpret_cast<void**>(out), count)) [[unlikely]]
      return false;
    for (unsigned i = 0; i < count; ++i) rte_pktmbuf_reset(out[i]);
    return true;
  }

  // Frees a block with whatever is linked behind it.
  void put(rte_mbuf* block) noexcept { rte_pktmbuf_free(block); }
  void put_bulk(rte_mbuf** blocks, unsigned count) noexcept { free_bulk(blocks, count); }

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
};

}  // namespace millrace::buf
