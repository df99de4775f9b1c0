// mem/checked_mempool.hpp - in checked builds: mempools that know which of their elements are free.
//
// Shape    a mempool handler around DPDK's ring. Every element that comes back, by whatever call and from whatever
// driver,
//          is looked at: given twice, or no element of this mempool, ends the program; so does a get that finds a byte
//          of the payload changed since. Under AddressSanitizer the payload of a free element is poisoned. Such
//          mempools have no per-lcore cache, through which elements would pass unseen.
// Limits   release builds use DPDK's own handler: use_checks() is false there and nothing here is called.
// Tests    test/buf/block_pool_test.cpp
#pragma once

#include <rte_mempool.h>

#include <cstdint>

#include "mem/pool_fault.hpp"

namespace millrace::mem {

[[nodiscard]] constexpr bool use_checks() noexcept { return pool_faults_abort; }

// Before the mempool is populated. The first `kept_bytes` of an element stay as they are while it is free (an mbuf's
// own record, a count); 0, or a negative errno.
[[nodiscard]] int use_checked_handler(rte_mempool* pool, std::uint32_t kept_bytes) noexcept;

// Before the mempool's memory goes back to EAL, which knows of no poison.
void uncover_memory(rte_mempool* pool) noexcept;

}  // namespace millrace::mem
