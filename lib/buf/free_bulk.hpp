// buf/free_bulk.hpp - many packets freed at once.
//
// Shape    plain packets (one segment, one reference, own buffer) of one pool go back in one call; anything else
//          takes the general way. rte_pktmbuf_free_bulk() reads `next` in every mbuf's second cache line; an mbuf of
//          one segment has none (DPDK's rule for drivers), so the first line is enough here.
// Owner    takes all `count` packets; the pointers are stale afterwards. Null pointers are not allowed.
// Tests    test/buf/burst_test.cpp       Bench  bench/buf/burst_bench.cpp
#pragma once

#include <rte_mbuf.h>

#include "buf/segment.hpp"

namespace millrace::buf {

// One segment, one reference, its own buffer: may go back to its pool as it is.
[[nodiscard]] inline bool is_plain(const rte_mbuf* m) noexcept {
  return rte_mbuf_refcnt_read(m) == 1 && m->nb_segs == 1 &&
         (m->ol_flags & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)) == 0;
}

inline void free_bulk(rte_mbuf** packets, unsigned count) noexcept {
  unsigned start = 0;
  while (start < count) {
    rte_mempool* pool = packets[start]->pool;
    unsigned end = start;
    while (end < count && packets[end]->pool == pool && is_plain(packets[end])) ++end;
    if (end != start) rte_mempool_put_bulk(pool, reinterpret_cast<void* const*>(packets + start), end - start);
    start = end;
    if (start < count && !is_plain(packets[start])) free_packet(packets[start++]);
  }
}

}  // namespace millrace::buf
