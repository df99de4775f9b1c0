// bench/support/growing_slab.hpp - a plain heap slab that behaves as the published baseline's block pool does: for the
// parity rows ("shape A"), which time the pool's construction too. Nothing of the program uses it.
//
// Shape    free blocks last in, first out; an empty pool takes `step` blocks from the heap, one by one; a give that
//          leaves more than 20 free returns half of the free ones to the heap.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <vector>

namespace millrace::bench {

class growing_slab {
  static constexpr std::size_t most_free = 20;
  std::size_t block_bytes_;
  std::size_t step_;
  std::vector<void*> free_;

 public:
  growing_slab(std::size_t block_bytes, std::size_t step) : block_bytes_(block_bytes), step_(step) {}
  growing_slab(const growing_slab&) = delete;
  growing_slab& operator=(const growing_slab&) = delete;
  ~growing_slab() {
    for (void* block : free_) std::free(block);
  }
  [[nodiscard]] void* get() {
    if (free_.empty())
      for (std::size_t i = 0; i < step_; ++i) free_.push_back(std::malloc(block_bytes_));
    void* block = free_.back();
    free_.pop_back();
    return block;
  }
  void give(void* block) {
    free_.push_back(block);
    if (free_.size() > most_free) release_half();
  }
  void release_half() {
    for (std::size_t left = free_.size() - free_.size() / 2; free_.size() > left;) {
      std::free(free_.back());
      free_.pop_back();
    }
  }
  [[nodiscard]] std::size_t free_count() const noexcept { return free_.size(); }
};

}  // namespace millrace::bench
