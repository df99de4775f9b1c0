// buf/segment.hpp - how many hold one mbuf: counted without atomics, because an mbuf that is shared stays on its lcore.
//
// Shape    hold() and release() count in the mbuf's own reference count with plain loads and stores. DPDK's calls on
//          the same count stay correct beside them (drivers free on the lcore that sends); they only cost a locked
//          instruction each time: a slice made and dropped takes 5 ns this way, 13 with DPDK's calls
//          (bench/buf: share_and_release).
// Rules    1. What crosses to another lcore has one reference: docs/ownership.md.
//          2. Of an mbuf's holders at most one owns its link (`next`) and its range (`data_off`, `data_len`): the chain
//             or packet it lies in. Everybody else keeps its own range and never looks at those fields.
//          3. Whoever gives up the link clears it, so that the last holder, whoever it is, gives back a clean mbuf.
//          4. A packet handed to a port is one segment, or unshared: drivers know rule 3 of the last holder only.
// Errors   hold(): false at 65535 holders, nothing changed.
// Tests    test/buf/slice_test.cpp       Bench  bench/buf/chain_bench.cpp
#pragma once

#include <rte_mbuf.h>

#include "base/assert.hpp"
#include "base/bytes.hpp"

namespace millrace::buf {

[[nodiscard]] inline bool hold(rte_mbuf* m) noexcept {
  const std::uint16_t holders = rte_mbuf_refcnt_read(m);
  MILLRACE_ASSERT(holders != 0);
  if (holders == UINT16_MAX) [[unlikely]]
    return false;
  rte_mbuf_refcnt_set(m, static_cast<std::uint16_t>(holders + 1));
  return true;
}

[[nodiscard]] inline bool is_held_once(const rte_mbuf* m) noexcept { return rte_mbuf_refcnt_read(m) == 1; }

// Nobody else can read or write the bytes: one holder, and no mbuf elsewhere that refers to the same buffer.
[[nodiscard]] inline bool is_writable(const rte_mbuf* m) noexcept {
  if (!is_held_once(m) || RTE_MBUF_CLONED(m)) return false;
  return !RTE_MBUF_HAS_EXTBUF(m) || rte_mbuf_ext_refcnt_read(m->shinfo) == 1;
}

// Gives up one reference to a segment whose link is clear or belongs to another holder.
inline void release(rte_mbuf* m) noexcept {
  const std::uint16_t holders = rte_mbuf_refcnt_read(m);
  MILLRACE_ASSERT(holders != 0);
  if (holders != 1) {
    rte_mbuf_refcnt_set(m, static_cast<std::uint16_t>(holders - 1));
    return;
  }
  if ((m->ol_flags & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)) != 0) [[unlikely]] {
    rte_pktmbuf_free_seg(m);
    return;
  }
  MILLRACE_ASSERT(m->next == nullptr);  // rule 3
  m->nb_segs = 1;
  rte_mempool_put(m->pool, m);
}

// Takes a link apart: answers what follows, and leaves a clean mbuf behind.
[[nodiscard]] inline rte_mbuf* unlink_next(rte_mbuf* m) noexcept {
  rte_mbuf* following = m->next;
  m->next = nullptr;
  return following;
}

// All segments of a packet that the caller owns; nullptr is nothing.
inline void free_packet(rte_mbuf* m) noexcept {
  if (m == nullptr) return;
  // One segment has no link (DPDK's rule for drivers): its second cache line stays untouched.
  if (m->nb_segs == 1) [[likely]] {
    release(m);
    return;
  }
  while (m != nullptr) {
    rte_mbuf* following = unlink_next(m);
    m->nb_segs = 1;
    release(m);
    m = following;
  }
}

// The bytes an mbuf itself names: they belong to the owner of its link.
[[nodiscard]] inline const std::uint8_t* own_begin(const rte_mbuf* m) noexcept {
  return static_cast<const std::uint8_t*>(m->buf_addr) + m->data_off;
}
[[nodiscard]] inline const std::uint8_t* own_end(const rte_mbuf* m) noexcept { return own_begin(m) + m->data_len; }

// Makes [at, at + count), which lies in the mbuf's buffer, the bytes it names. Only the owner of its link may.
inline void set_own_range(rte_mbuf* m, const std::uint8_t* at, std::size_t count) noexcept {
  MILLRACE_ASSERT(at >= m->buf_addr && count <= UINT16_MAX);
  m->data_off = static_cast<std::uint16_t>(at - static_cast<const std::uint8_t*>(m->buf_addr));
  m->data_len = static_cast<std::uint16_t>(count);
}

}  // namespace millrace::buf
