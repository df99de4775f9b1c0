#include "buf/block_pool.hpp"

#include "mem/pool_fault.hpp"

namespace millrace::buf {

base::result<block_pool> block_pool::make(const block_pool_config& config) {
  auto blocks = mem::mempool_set::make({.name = config.name,
                                        .elements = config.blocks_per_mempool,
                                        .data_room = static_cast<std::uint16_t>(config.size),
                                        .cache = config.cache,
                                        .most = config.most_mempools,
                                        .socket = config.socket});
  if (!blocks) return blocks.error();
  return block_pool{std::move(blocks.value())};
}

// Chains, shared blocks, and blocks of a mempool that is not the one that serves now, all of which are in order; and
// what is not.
void block_pool::put_slowly(rte_mbuf* block) noexcept {
  if (!blocks_.owns(block->pool)) {
    foreign_gives_.fetch_add(1, std::memory_order_relaxed);
  } else if (is_plain(block)) {
    if (block->port == given_port) {
      if constexpr (mem::pool_faults_abort) mem::die_of(mem::pool_fault::double_give, block->pool->name, block);
      double_gives_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    block->port = given_port;
  }
  free_packet(block);  // not DPDK's: a slice may outlive the block, which must then be clean (buf/segment.hpp, rule 3)
}

}  // namespace millrace::buf
