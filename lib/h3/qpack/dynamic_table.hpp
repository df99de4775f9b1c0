// h3/qpack/dynamic_table.hpp - the fields both sides keep, by absolute index; oldest out first.
//
// Shape    texts lie in a ring of twice the largest capacity, so that each entry is one piece: names and values are
//          views, never put together. Whoever inserts asks fits() first and evicts what has to go.
//
//              oldest ........ newest          free          (gap)
//          [ | name value | name value | ..................... | ]   the next entry that does not fit before the
//                                                                    end begins at the front
//
// Units    sizes and capacities count text and 32 for each entry (RFC 9204 3.2.1); indices are absolute, from 0.
// Owner    memory is the caller's. Views live until the entry is evicted, and a little longer: see insert().
// Limits   the capacity given at the start, at most 2^30 - 1; nothing is allocated later.
// Source   RFC 9204 3.2. Tests  test/h3/qpack/dynamic_table_test.cpp
#pragma once

#include <bit>

#include "h3/qpack/field.hpp"
#include "h3/qpack/storage.hpp"

namespace millrace::h3::qpack {

inline constexpr std::uint64_t max_table_capacity = (std::uint64_t{1} << 30) - 1;

class dynamic_table {
  struct entry {
    std::uint32_t at;
    std::uint32_t name_size;
    std::uint32_t value_size;
  };

  std::span<char> texts_;
  std::span<entry> entries_;  // by the low bits of the absolute index
  std::uint64_t inserted_ = 0;
  std::uint64_t oldest_ = 0;  // absolute index; inserted_ when empty
  std::uint32_t mask_ = 0;
  std::uint32_t write_at_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;  // now
  std::uint32_t most_ = 0;      // ever

 public:
  // Slots for the entries that a table of this capacity can have: a power of two, so that an index is one `and`.
  [[nodiscard]] static constexpr std::size_t slots_for(std::uint64_t capacity) noexcept {
    const std::uint64_t most = clamped(capacity) / field_overhead;
    return static_cast<std::size_t>(std::bit_ceil(most + 1));
  }
  static constexpr void add_storage(storage_sum& sum, std::uint64_t capacity) noexcept {
    sum.add<char>(2 * static_cast<std::size_t>(clamped(capacity))).add<entry>(slots_for(capacity));
  }

  dynamic_table() noexcept = default;
  // Capacity is 0 until set_capacity(); `most` is the most it may ever be.
  dynamic_table(storage_cursor& memory, std::uint64_t most) noexcept
      : texts_(memory.take<char>(2 * static_cast<std::size_t>(clamped(most)))),
        entries_(memory.take<entry>(slots_for(most))),
        mask_(static_cast<std::uint32_t>(slots_for(most) - 1)),
        most_(static_cast<std::uint32_t>(clamped(most))) {}

  [[nodiscard]] std::uint64_t inserted() const noexcept { return inserted_; }
  [[nodiscard]] std::uint64_t oldest() const noexcept { return oldest_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return inserted_ - oldest_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::uint64_t most() const noexcept { return most_; }
  [[nodiscard]] bool has(std::uint64_t index) const noexcept { return index - oldest_ < inserted_ - oldest_; }
  [[nodiscard]] std::size_t slot_of(std::uint64_t index) const noexcept { return index & mask_; }

  // Of an entry that has() is true for.
  [[nodiscard]] std::string_view name(std::uint64_t index) const noexcept {
    const entry& e = entries_[slot_of(index)];
    return {texts_.data() + e.at, e.name_size};
  }
  [[nodiscard]] std::string_view value(std::uint64_t index) const noexcept {
    const entry& e = entries_[slot_of(index)];
    return {texts_.data() + e.at + e.name_size, e.value_size};
  }

  [[nodiscard]] bool fits(std::uint64_t size) const noexcept { return size_ + size <= capacity_; }
  // At most most(), and at least size(): evict first.
  void set_capacity(std::uint64_t capacity) noexcept { capacity_ = static_cast<std::uint32_t>(capacity); }
  // There is an entry.
  void evict() noexcept {
    const entry& e = entries_[slot_of(oldest_++)];
    size_ -= e.name_size + e.value_size + static_cast<std::uint32_t>(field_overhead);
  }
  // fits(field_size(name, value)) holds. `name`, and `name` and `value` of one entry, may be this table's own, also of
  // an entry evicted since the last insert (RFC 9204 3.2.2); a `value` alone may not.
  void insert(std::string_view name, std::string_view value) noexcept;

 private:
  [[nodiscard]] static constexpr std::uint64_t clamped(std::uint64_t capacity) noexcept {
    return capacity < max_table_capacity ? capacity : max_table_capacity;
  }
};

}  // namespace millrace::h3::qpack
