// buf/large_block_pool.hpp - blocks of 64 KiB, filled once and sent without a copy.
//
// Shape    an mbuf's lengths are 16 bits, so a 64 KiB block cannot be one. It is a counted element of a mempool, and
//          is sent as one or two mbufs that carry no room of their own and point into it (external buffers). The count
//          lies in front of the block's bytes; the block is back in its pool when its last holder lets go: the
//          large_block object, or the last mbuf (or clone of one) anywhere.
//
//              element:  | counts, home (64 bytes) | 65536 bytes of payload |
//                                                    ^ mbuf 1         ^ mbuf 2
//
// Units    bytes of payload, 0..large_block_bytes.
// Owner    large_block is one hold on its block, move-only, lets go on destruction. send() turns the hold into those of
//          the mbufs; share() adds theirs to it, for a source that is sent from again.
// Limits   see mem/mempool_set.hpp. Two mbufs a block (config.mbufs_per_block), made at the start for every block that
//          can ever be; share() may want more of them.
// Errors   alloc(): an empty large_block. send(), share(): an empty packet when no mbuf is free: nothing changed. All
//          are counted in refused(), those for want of an mbuf in refused_mbufs().
// Threads  as mempool_set: any lcore allocates, sends and frees; the control thread grows, shrinks and reads figures.
//          A block's bytes may be written while it has one holder only.
// Source   docs/ownership.md.       Tests  test/buf/large_block_pool_test.cpp       Bench  bench/buf/block_bench.cpp
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "buf/packet.hpp"
#include "mem/mempool_set.hpp"
#include "mem/packet_pool.hpp"

namespace millrace::buf {

inline constexpr std::uint32_t large_block_bytes = 65536;
// Above what one external buffer can say (65535), the block is cut here: both parts begin on a cache line.
inline constexpr std::uint32_t large_block_cut = 32768;

struct alignas(mem::cache_line_bytes) large_block_head {
  rte_mbuf_ext_shared_info shared;  // DPDK's count of holders, and the call that gives the block back
  rte_mempool* home;
  rte_iova_t iova;  // of the payload, as devices see it
};
static_assert(sizeof(large_block_head) == mem::cache_line_bytes, "the payload begins on a cache line");

class large_block {
  large_block_head* head_ = nullptr;

  friend class large_block_pool;
  explicit large_block(large_block_head* head) noexcept : head_(head) {}
  void let_go() noexcept;

 public:
  large_block() noexcept = default;
  large_block(large_block&& other) noexcept : head_(std::exchange(other.head_, nullptr)) {}
  large_block& operator=(large_block&& other) noexcept {
    if (this != &other) {
      let_go();
      head_ = std::exchange(other.head_, nullptr);
    }
    return *this;
  }
  ~large_block() { let_go(); }

  [[nodiscard]] explicit operator bool() const noexcept { return head_ != nullptr; }
  // All of its payload; undefined content after alloc(). Write only while !is_shared().
  [[nodiscard]] base::byte_span bytes() const noexcept {
    if (head_ == nullptr) return {};
    return {reinterpret_cast<std::uint8_t*>(head_ + 1), large_block_bytes};
  }
  [[nodiscard]] bool is_shared() const noexcept {
    return head_ != nullptr && rte_mbuf_ext_refcnt_read(&head_->shared) > 1;
  }
};

struct large_block_pool_config {
  std::string name = "large";             // up to 18 characters; unique in the process
  std::uint32_t blocks_per_mempool = 63;  // 4 MiB
  std::uint16_t cache = 16;               // blocks per lcore
  unsigned most_mempools = 1;             // at most 16; one is made at the start
  std::uint32_t mbufs_per_block = 2;
  int socket = mem::any_socket;
};

class large_block_pool {
  mem::mempool_set blocks_;
  std::unique_ptr<mem::packet_pool> mbufs_;

  large_block_pool(mem::mempool_set blocks, std::unique_ptr<mem::packet_pool> mbufs) noexcept
      : blocks_(std::move(blocks)), mbufs_(std::move(mbufs)) {}

 public:
  [[nodiscard]] static base::result<large_block_pool> make(const large_block_pool_config& config);

  [[nodiscard]] large_block alloc() noexcept {
    auto* head = static_cast<large_block_head*>(blocks_.get());
    if (head != nullptr) [[likely]]
      rte_mbuf_ext_refcnt_set(&head->shared, 1);
    return large_block{head};
  }

  // The first `used` bytes (1..65536) as a packet of one or two segments; the block object is empty afterwards.
  [[nodiscard]] packet send(large_block&& block, std::uint32_t used) noexcept;
  // Bytes [offset, offset + count) as a packet; the block object keeps its hold. Nothing outside the block is given:
  // an empty packet for a range that does not lie inside it.
  [[nodiscard]] packet share(const large_block& block, std::uint32_t offset, std::uint32_t count) noexcept;

  // --- control thread: growth, release and figures, see mem/mempool_set.hpp ---
  [[nodiscard]] mem::pool_change grow() { return blocks_.grow(); }
  [[nodiscard]] mem::pool_change release_half() noexcept { return blocks_.release_half(); }
  [[nodiscard]] mem::pool_change reap() noexcept { return blocks_.reap(); }
  void set_quiescence(mem::quiescence* lcores) noexcept { blocks_.set_quiescence(lcores); }
  [[nodiscard]] std::uint32_t size() const noexcept { return blocks_.size(); }
  [[nodiscard]] std::uint32_t in_use() const noexcept { return blocks_.in_use(); }
  // All blocks and all their mbufs are back.
  [[nodiscard]] bool is_whole() const noexcept { return blocks_.is_whole() && mbufs_->is_whole(); }
  std::uint32_t sample() noexcept { return blocks_.sample(); }
  [[nodiscard]] const mem::mempool_set& set() const noexcept { return blocks_; }
  [[nodiscard]] std::uint64_t refused() const noexcept { return blocks_.refused() + refused_mbufs(); }
  [[nodiscard]] std::uint64_t refused_mbufs() const noexcept { return mbufs_->refused(); }
};

}  // namespace millrace::buf
