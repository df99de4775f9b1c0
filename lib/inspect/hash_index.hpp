// inspect/hash_index.hpp - from a 32-bit hash to the numbers of records that have it: open addressing, no tombstones.
//
// Shape    the caller keeps keys in its own records and compares them; the index keeps 8 bytes a record. Linear probing
//          at a load of at most one half; removal closes the gap, so a table that lives long does not silt up.
// Limits   `capacity` numbers; a number may be entered under one hash only. Bounded work as long as hashes are seeded.
// Owner    memory is the carver's. Errors  find: nil when no record matches. Threads  one.
// Source   Knuth, The Art of Computer Programming 3, 6.4, algorithm R. Tests  test/inspect/hash_index_test.cpp
#pragma once

#include <bit>

#include "inspect/aged_pool.hpp"

namespace millrace::inspect {

class hash_index {
  struct slot {
    std::uint32_t tag;           // the hash; its low bits say where the slot would like to be
    std::uint32_t number_and_1;  // 0: empty
  };
  std::span<slot> slots_;
  std::uint32_t mask_ = 0;

 public:
  hash_index() noexcept = default;
  hash_index(carver& memory, std::uint32_t capacity) noexcept {
    const std::size_t count = std::bit_ceil(std::size_t{capacity} * 2 + 2);
    slots_ = memory.take<slot>(count);
    mask_ = static_cast<std::uint32_t>(count - 1);
  }

  // The first number under `hash` for which matches(number) holds.
  template <class Predicate>
  [[nodiscard]] std::uint32_t find(std::uint32_t hash, Predicate matches) const noexcept {
    for (std::uint32_t i = hash & mask_;; i = (i + 1) & mask_) {
      const slot s = slots_[i];
      if (s.number_and_1 == 0) return nil;
      if (s.tag == hash && matches(s.number_and_1 - 1)) return s.number_and_1 - 1;
    }
  }
  // The caller keeps the count within the capacity.
  void insert(std::uint32_t hash, std::uint32_t number) noexcept {
    std::uint32_t i = hash & mask_;
    while (slots_[i].number_and_1 != 0) i = (i + 1) & mask_;
    slots_[i] = {hash, number + 1};
  }
  void erase(std::uint32_t hash, std::uint32_t number) noexcept {
    std::uint32_t hole = hash & mask_;
    while (slots_[hole].number_and_1 != number + 1 || slots_[hole].tag != hash) {
      if (slots_[hole].number_and_1 == 0) return;
      hole = (hole + 1) & mask_;
    }
    // Whatever stands behind the hole and could stand in it moves up.
    for (std::uint32_t i = (hole + 1) & mask_; slots_[i].number_and_1 != 0; i = (i + 1) & mask_) {
      const std::uint32_t home = slots_[i].tag & mask_;
      if (((i - home) & mask_) < ((i - hole) & mask_)) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole] = {};
  }
  void prefetch(std::uint32_t hash) const noexcept { __builtin_prefetch(&slots_[hash & mask_]); }
};

}  // namespace millrace::inspect
