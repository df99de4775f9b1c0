#include "mem/size_class_pool.hpp"

#include <optional>
#include <utility>

namespace millrace::mem {
namespace {

template <std::size_t... I>
std::array<slot_pool, size_class_count> unwrap(std::array<std::optional<slot_pool>, size_class_count>& made,
                                               std::index_sequence<I...> /*all*/) noexcept {
  return {std::move(*made[I])...};
}

}  // namespace

base::result<size_class_pool> size_class_pool::make(const size_class_config& config) {
  std::array<std::optional<slot_pool>, size_class_count> made;
  for (std::size_t i = 0; i < size_class_count; ++i) {
    const std::size_t bytes = (i + 1) * size_class_step;
    const std::uint32_t count = config.counts[i] != 0 ? config.counts[i] : config.per_class;
    auto one = slot_pool::make(config.name + "." + std::to_string(bytes), count, bytes, size_class_step, config.socket);
    if (!one) return one.error();
    made[i].emplace(std::move(one.value()));
  }
  return size_class_pool{unwrap(made, std::make_index_sequence<size_class_count>{})};
}

void* size_class_pool::refuse() noexcept {
  oversized_.store(oversized_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return nullptr;
}

std::uint32_t size_class_pool::collect() noexcept {
  std::uint32_t sum = 0;
  for (slot_pool& one : classes_) sum += one.collect();
  return sum;
}

void size_class_pool::adopt() noexcept {
  for (slot_pool& one : classes_) one.adopt();
}

pool_figures size_class_pool::figures() const noexcept {
  pool_figures sum;
  for (const slot_pool& one : classes_) {
    const pool_figures its = one.figures();
    sum.capacity += its.capacity;
    sum.in_use += its.in_use;
    sum.high_water += its.high_water;
    sum.refused += its.refused;
    for (std::size_t i = 0; i < pool_fault_count; ++i) sum.faults[i] += its.faults[i];
  }
  return sum;
}

std::size_t size_class_pool::memory_bytes() const noexcept {
  std::size_t sum = 0;
  for (const slot_pool& one : classes_) sum += one.memory_bytes();
  return sum;
}

}  // namespace millrace::mem
