#include "buf/large_block_pool.hpp"

#include <algorithm>

namespace millrace::buf {
namespace {

// A count of holders has 16 bits; what share() may add stops far enough below that clones of mbufs still fit.
constexpr std::uint16_t most_holders = 32'000;

void give_back(void* /*first_byte*/, void* head) noexcept {
  rte_mempool_put(static_cast<large_block_head*>(head)->home, head);
}

void shape(rte_mempool* pool, void* /*unused*/, void* element, unsigned /*index*/) {
  auto* head = static_cast<large_block_head*>(element);
  head->shared.free_cb = give_back;
  head->shared.fcb_opaque = head;
  rte_mbuf_ext_refcnt_set(&head->shared, 0);
  head->home = pool;
  const rte_iova_t iova = rte_mempool_virt2iova(element);
  head->iova = iova == RTE_BAD_IOVA ? iova : iova + sizeof *head;
}

rte_iova_t device_address(const large_block_head* head, std::uint32_t offset) noexcept {
  return head->iova == RTE_BAD_IOVA ? RTE_BAD_IOVA : head->iova + offset;
}

void point_at(rte_mbuf* m, large_block_head* head, std::uint32_t offset, std::uint32_t count) noexcept {
  auto* first = reinterpret_cast<std::uint8_t*>(head + 1) + offset;
  rte_pktmbuf_attach_extbuf(m, first, device_address(head, offset), static_cast<std::uint16_t>(count), &head->shared);
  m->data_len = static_cast<std::uint16_t>(count);
  m->pkt_len = count;
}

// A packet over [offset, offset + count) whose holds are counted already, or nullptr.
rte_mbuf* link(mem::packet_pool& from, large_block_head* head, std::uint32_t offset, std::uint32_t count) noexcept {
  rte_mbuf* parts[2] = {};
  if (count <= UINT16_MAX) {
    parts[0] = from.alloc();
    if (parts[0] != nullptr) point_at(parts[0], head, offset, count);
    return parts[0];
  }
  if (!from.alloc_bulk(parts, 2)) return nullptr;
  point_at(parts[0], head, offset, large_block_cut);
  point_at(parts[1], head, offset + large_block_cut, count - large_block_cut);
  parts[0]->next = parts[1];
  parts[0]->nb_segs = 2;
  parts[0]->pkt_len = count;
  return parts[0];
}

bool lies_inside(std::uint32_t offset, std::uint32_t count) noexcept {
  return count != 0 && count <= large_block_bytes && offset <= large_block_bytes - count;
}

}  // namespace

void large_block::let_go() noexcept {
  if (head_ == nullptr) return;
  if (rte_mbuf_ext_refcnt_update(&head_->shared, -1) == 0) rte_mempool_put(head_->home, head_);
  head_ = nullptr;
}

base::result<large_block_pool> large_block_pool::make(const large_block_pool_config& config) {
  const std::uint64_t mbufs = std::uint64_t{config.blocks_per_mempool} * config.most_mempools * config.mbufs_per_block;
  if (mbufs == 0 || mbufs > UINT32_MAX)
    return base::failure{"a pool '" + config.name + "' with " + std::to_string(mbufs) + " mbufs cannot be",
                         "at least one block, one mempool and one mbuf a block", true};
  auto blocks = mem::mempool_set::make({.name = config.name,
                                        .elements = config.blocks_per_mempool,
                                        .element_bytes = sizeof(large_block_head) + large_block_bytes,
                                        .cache = config.cache,
                                        .most = config.most_mempools,
                                        .socket = config.socket,
                                        .init = shape,
                                        .kept_bytes = sizeof(large_block_head)});
  if (!blocks) return blocks.error();
  auto holders = mem::packet_pool::make({.name = config.name + ".mbufs",
                                         .packets = static_cast<std::uint32_t>(mbufs),
                                         .cache = static_cast<std::uint16_t>(std::min(2u * config.cache, 256u)),
                                         .data_room = 0,
                                         .socket = config.socket});
  if (!holders) return holders.error();
  return large_block_pool{std::move(blocks.value()), std::make_unique<mem::packet_pool>(std::move(holders.value()))};
}

packet large_block_pool::send(large_block&& block, std::uint32_t used) noexcept {
  large_block_head* head = block.head_;
  if (head == nullptr || !lies_inside(0, used)) return {};
  rte_mbuf* first = link(*mbufs_, head, 0, used);
  if (first == nullptr) return {};
  // The object's own hold becomes the first mbuf's.
  if (first->nb_segs == 2) rte_mbuf_ext_refcnt_update(&head->shared, 1);
  block.head_ = nullptr;
  return packet{first};
}

packet large_block_pool::share(const large_block& block, std::uint32_t offset, std::uint32_t count) noexcept {
  large_block_head* head = block.head_;
  if (head == nullptr || !lies_inside(offset, count)) return {};
  if (rte_mbuf_ext_refcnt_read(&head->shared) >= most_holders) return {};
  rte_mbuf* first = link(*mbufs_, head, offset, count);
  if (first == nullptr) return {};
  rte_mbuf_ext_refcnt_update(&head->shared, static_cast<std::int16_t>(first->nb_segs));
  return packet{first};
}

}  // namespace millrace::buf
