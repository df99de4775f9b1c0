// mem/pool_listing.hpp - what pools say of themselves, gathered to be shown; those of one name, of several lcores, as
// one.
//
// Shape    add() each pool, then read. A pool is whatever has name(), capacity() and in_use().
// Units    objects, packets, blocks: what the pool is of.
// Owner    nothing; names are the pools'. Errors  add(): what does not fit is left out.
// Threads  any: the figures it reads may be a burst behind. Tests  test/mem/pool_listing_test.cpp
#pragma once

#include <string_view>

#include "base/fixed_vector.hpp"

namespace millrace::mem {

class pool_listing {
 public:
  struct row {
    std::string_view name;
    std::uint64_t capacity = 0;
    std::uint64_t in_use = 0;
  };

 private:
  base::fixed_vector<row, 48> rows_;

 public:
  void add(std::string_view name, std::uint64_t capacity, std::uint64_t in_use) noexcept {
    for (row& r : rows_) {
      if (r.name != name) continue;
      r.capacity += capacity;
      r.in_use += in_use;
      return;
    }
    static_cast<void>(rows_.push_back({name, capacity, in_use}));
  }
  template <class Pool>
  void add(const Pool& pool) noexcept {
    add(pool.name(), pool.capacity(), pool.in_use());
  }
  [[nodiscard]] const auto& rows() const noexcept { return rows_; }
};

}  // namespace millrace::mem
