// test/support/plain_pool.hpp - mbufs on the plain heap, with no EAL: each is allocated when it is taken and freed when
// it is given back, so that AddressSanitizer sees every use after that, and a leak is its leak.
//
// Shape    a mempool of our own operations behind DPDK's inline calls; fits buf::mbuf_source. Include in one source of
//          a binary (it registers the operations).
// Limits   `most` mbufs at a time, then exhausted. A give-back that is not clean (linked, shared, twice) aborts.
#pragma once

#include <rte_errno.h>
#include <rte_mbuf.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <unordered_set>

#include "mem/packet_pool.hpp"

namespace millrace::test {

class plain_pool {
  struct with_private {
    rte_mempool pool;
    rte_pktmbuf_pool_private mbufs;
  };
  static_assert(offsetof(with_private, mbufs) == sizeof(rte_mempool), "where DPDK looks for the private part");

  alignas(RTE_CACHE_LINE_SIZE) with_private raw_{};
  std::size_t most_;
  std::unordered_set<void*> out_;

  static constexpr std::size_t before = sizeof(rte_mempool_objhdr) + RTE_CACHE_LINE_SIZE;

  void* make() {
    const std::size_t room = raw_.mbufs.mbuf_data_room_size;
    const std::size_t front = before / RTE_CACHE_LINE_SIZE * RTE_CACHE_LINE_SIZE;
    // Not rounded up: the byte behind the data room is not ours.
    auto* memory = static_cast<char*>(::operator new(front + sizeof(rte_mbuf) + room, std::align_val_t{64}));
    std::memset(memory, 0, front + sizeof(rte_mbuf));
    auto* m = reinterpret_cast<rte_mbuf*>(memory + front);
    m->buf_addr = m + 1;
    m->buf_len = static_cast<std::uint16_t>(room);
    m->pool = &raw_.pool;
    m->nb_segs = 1;
    m->port = UINT16_MAX;
    m->data_off = RTE_PKTMBUF_HEADROOM;
    rte_mbuf_refcnt_set(m, 1);
    out_.insert(m);
    return m;
  }
  void take_back(void* element) {
    auto* m = static_cast<rte_mbuf*>(element);
    if (out_.erase(m) != 1) std::abort();  // twice, or not ours
    if (m->next != nullptr || m->nb_segs != 1 || rte_mbuf_refcnt_read(m) != 1 || !RTE_MBUF_DIRECT(m)) std::abort();
    ::operator delete(reinterpret_cast<char*>(m) - before / RTE_CACHE_LINE_SIZE * RTE_CACHE_LINE_SIZE,
                      std::align_val_t{64});
  }

 public:
  static int enqueue(rte_mempool* pool, void* const* elements, unsigned count) {
    for (unsigned i = 0; i < count; ++i) static_cast<plain_pool*>(pool->pool_data)->take_back(elements[i]);
    return 0;
  }
  static int dequeue(rte_mempool* pool, void** elements, unsigned count) {
    auto* self = static_cast<plain_pool*>(pool->pool_data);
    if (self->most_ - self->out_.size() < count) return -ENOBUFS;
    for (unsigned i = 0; i < count; ++i) elements[i] = self->make();
    return 0;
  }

  explicit plain_pool(std::size_t most, std::uint16_t data_room);
  plain_pool(const plain_pool&) = delete;
  plain_pool& operator=(const plain_pool&) = delete;
  // All must be back.
  ~plain_pool() {
    if (!out_.empty()) std::abort();
  }

  [[nodiscard]] rte_mbuf* alloc() noexcept { return rte_pktmbuf_alloc(&raw_.pool); }
  [[nodiscard]] bool alloc_bulk(rte_mbuf** out, unsigned count) noexcept {
    return rte_pktmbuf_alloc_bulk(&raw_.pool, out, count) == 0;
  }
  [[nodiscard]] std::uint16_t data_room() const noexcept {
    return static_cast<std::uint16_t>(raw_.mbufs.mbuf_data_room_size - RTE_PKTMBUF_HEADROOM);
  }
  [[nodiscard]] std::size_t in_use() const noexcept { return out_.size(); }
};

inline int plain_pool_operations() {
  static const int index = [] {
    rte_mempool_ops ops{};
    std::strcpy(ops.name, "plain");
    ops.alloc = [](rte_mempool*) { return 0; };
    ops.free = [](rte_mempool*) {};
    ops.enqueue = plain_pool::enqueue;
    ops.dequeue = plain_pool::dequeue;
    ops.get_count = [](const rte_mempool*) { return 0u; };
    return rte_mempool_register_ops(&ops);
  }();
  return index;
}

inline plain_pool::plain_pool(std::size_t most, std::uint16_t data_room) : most_(most) {
  raw_.pool.pool_data = this;
  raw_.pool.ops_index = plain_pool_operations();
  raw_.pool.private_data_size = sizeof(rte_pktmbuf_pool_private);
  raw_.mbufs.mbuf_data_room_size = static_cast<std::uint16_t>(data_room + RTE_PKTMBUF_HEADROOM);
  if (raw_.pool.ops_index < 0) std::abort();
}

}  // namespace millrace::test
