// base/hash_index.hpp - from a 32-bit hash to the numbers of records that have it: open addressing, no tombstones.
//
// Shape    the caller keeps keys in its own records and compares them; the index keeps 8 bytes a record. Linear probing
//          at a load of at most one half; removal closes the gap, so a table that lives long does not silt up.
// Limits   slots_for(capacity) slots hold `capacity` numbers; a number may be entered under one hash only. Bounded work
//          as long as hashes are seeded.
// Owner    the slots are the caller's, all zero at first.
// Errors   find: no_record when none matches. Threads  one.
// Source   Knuth, The Art of Computer Programming 3, 6.4, algorithm R. Tests  test/inspect/hash_index_test.cpp
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/fetch_ahead.hpp"

namespace millrace::base {

inline constexpr std::uint32_t no_record = 0xFFFF'FFFF;

class hash_index {
 public:
  struct slot {
    std::uint32_t tag;           // the hash; its low bits say where the slot would like to be
    std::uint32_t number_and_1;  // 0: empty
  };

 private:
  std::span<slot> slots_;
  std::uint32_t mask_ = 0;

 public:
  [[nodiscard]] static constexpr std::size_t slots_for(std::uint32_t capacity) noexcept {
    return std::bit_ceil(std::size_t{capacity} * 2 + 2);
  }

  hash_index() noexcept = default;
  // `slots`: slots_for() of the most numbers it will ever hold.
  explicit hash_index(std::span<slot> slots) noexcept
      : slots_(slots), mask_(static_cast<std::uint32_t>(slots.size() - 1)) {}

  // The first number under `hash` for which matches(number) holds.
  template <class Predicate>
  [[nodiscard]] std::uint32_t find(std::uint32_t hash, Predicate matches) const noexcept {
    for (std::uint32_t i = hash & mask_;; i = (i + 1) & mask_) {
      const slot s = slots_[i];
      if (s.number_and_1 == 0) return no_record;
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
  // The first number under `hash`, whatever its record says: good enough to fetch that ahead.
  [[nodiscard]] std::uint32_t guess(std::uint32_t hash) const noexcept {
    return find(hash, [](std::uint32_t) { return true; });
  }
  void fetch_ahead(std::uint32_t hash) const noexcept { base::fetch_ahead(&slots_[hash & mask_], sizeof(slot)); }
};

}  // namespace millrace::base
