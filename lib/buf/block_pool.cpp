#include "buf/block_pool.hpp"

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

}  // namespace millrace::buf
