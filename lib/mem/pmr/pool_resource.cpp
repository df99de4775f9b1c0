#include "mem/pmr/pool_resource.hpp"

#include <algorithm>
#include <new>

namespace millrace::mem {
namespace {

bool is_small(std::size_t bytes, std::size_t alignment) noexcept {
  return bytes <= largest_small && alignment <= size_class_step;
}

}  // namespace

// std::pmr may ask for 0 bytes and wants an address all the same.
void* pool_resource::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (!is_small(bytes, alignment)) return upstream_->allocate(bytes, alignment);
  void* block = small_->get(std::max<std::size_t>(bytes, 1));
  if (block == nullptr) throw std::bad_alloc{};
  return block;
}

void pool_resource::do_deallocate(void* block, std::size_t bytes, std::size_t alignment) {
  if (is_small(bytes, alignment))
    small_->give(block, std::max<std::size_t>(bytes, 1));
  else
    upstream_->deallocate(block, bytes, alignment);
}

bool pool_resource::do_is_equal(const std::pmr::memory_resource& other) const noexcept {
  const auto* same_kind = dynamic_cast<const pool_resource*>(&other);
  return same_kind != nullptr && same_kind->small_ == small_ && same_kind->upstream_->is_equal(*upstream_);
}

}  // namespace millrace::mem
