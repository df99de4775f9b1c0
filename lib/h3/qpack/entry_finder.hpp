// h3/qpack/entry_finder.hpp - the newest entry of a dynamic table with a name, or with a name and value.
//
// Shape    two tables of chains, newest first. Entries leave the dynamic table oldest first, so a chain is never
// mended:
//          it ends at the first entry that is no longer there.
// Limits   a look-up follows at most max_chain entries: hashes that meet cost compression, not time.
// Tests    test/h3/qpack/encoder_test.cpp
#pragma once

#include "base/bytes.hpp"
#include "base/hash.hpp"
#include "h3/qpack/dynamic_table.hpp"

namespace millrace::h3::qpack {

class entry_finder {
  struct links {
    std::uint32_t name_hash;
    std::uint32_t field_hash;
    std::uint32_t older_name;  // low bits of the absolute index, and 1; 0: none
    std::uint32_t older_field;
  };
  static constexpr unsigned max_chain = 8;
  // Few: what comes again only much later would not stay in a table of some kilobytes either.
  static constexpr std::size_t seen_slots = 32;

  std::span<links> links_;          // by slot of the table
  std::span<std::uint32_t> names_;  // newest by hash
  std::span<std::uint32_t> fields_;
  std::span<std::uint32_t> seen_;  // hashes of fields seen lately
  std::uint32_t mask_ = 0;
  std::uint64_t seed_ = 0;

 public:
  struct key {
    std::uint32_t name_hash = 0;
    std::uint32_t field_hash = 0;
  };
  static constexpr std::uint64_t none = UINT64_MAX;

  static constexpr void add_storage(storage_sum& sum, std::size_t slots) noexcept {
    sum.add<links>(slots).add<std::uint32_t>(slots).add<std::uint32_t>(slots).add<std::uint32_t>(seen_slots);
  }
  entry_finder() noexcept = default;
  entry_finder(storage_cursor& memory, std::size_t slots, std::uint64_t seed) noexcept
      : links_(memory.take<links>(slots)),
        names_(memory.take<std::uint32_t>(slots)),
        fields_(memory.take<std::uint32_t>(slots)),
        seen_(memory.take<std::uint32_t>(seen_slots)),
        mask_(static_cast<std::uint32_t>(slots - 1)),
        seed_(seed) {}

  [[nodiscard]] key key_of(std::string_view name, std::string_view value) const noexcept {
    const std::uint64_t by_name = hash(name, seed_);
    const std::uint64_t by_value = hash(value, ~seed_);  // neither waits for the other
    return {static_cast<std::uint32_t>(by_name), static_cast<std::uint32_t>(by_name + by_value)};
  }

  [[nodiscard]] std::uint64_t find_field(const dynamic_table& t, key k, std::string_view name,
                                         std::string_view value) const noexcept {
    std::uint32_t at = fields_[k.field_hash & mask_];
    for (unsigned i = 0; i < max_chain; ++i) {
      const std::uint64_t index = index_of(t, at);
      if (index == none) break;
      const links& l = links_[t.slot_of(index)];
      if (l.field_hash == k.field_hash && t.value(index) == value && t.name(index) == name) return index;
      at = l.older_field;
    }
    return none;
  }
  [[nodiscard]] std::uint64_t find_name(const dynamic_table& t, key k, std::string_view name) const noexcept {
    std::uint32_t at = names_[k.name_hash & mask_];
    for (unsigned i = 0; i < max_chain; ++i) {
      const std::uint64_t index = index_of(t, at);
      if (index == none) break;
      const links& l = links_[t.slot_of(index)];
      if (l.name_hash == k.name_hash && t.name(index) == name) return index;
      at = l.older_name;
    }
    return none;
  }
  // `index` is the entry just inserted.
  void add(const dynamic_table& t, key k, std::uint64_t index) noexcept {
    std::uint32_t& name = names_[k.name_hash & mask_];
    std::uint32_t& field = fields_[k.field_hash & mask_];
    links_[t.slot_of(index)] = {k.name_hash, k.field_hash, name, field};
    name = field = static_cast<std::uint32_t>(index + 1);
  }
  // Whether the field was asked about lately; from now on it was.
  [[nodiscard]] bool was_seen(key k) noexcept {
    std::uint32_t& slot = seen_[k.field_hash % seen_slots];
    if (slot == (k.field_hash | 1)) return true;
    slot = k.field_hash | 1;
    return false;
  }

 private:
  // base::hash_bytes made for many short texts: its steps do not wait for one another, and what is left over is read
  // again with the bytes before it.
  static std::uint64_t hash(std::string_view text, std::uint64_t seed) noexcept {
    constexpr std::uint64_t odd_a = 0x9E37'79B9'7F4A'7C15;
    constexpr std::uint64_t odd_b = 0xD1B5'4A32'D192'ED03;
    const std::uint8_t* const p = base::as_bytes(text).data();
    const std::size_t n = text.size();
    std::uint64_t salt = seed ^ odd_a;
    std::uint64_t sum = n;
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    if (n >= 16) {
      for (std::size_t i = 0; i + 16 < n; i += 16, salt += odd_b)
        sum += base::hash_mix(base::load_le64(p + i) ^ salt, base::load_le64(p + i + 8) ^ odd_b);
      low = base::load_le64(p + n - 16);
      high = base::load_le64(p + n - 8);
    } else if (n >= 8) {
      low = base::load_le64(p);
      high = base::load_le64(p + n - 8);
    } else if (n >= 4) {
      low = base::load_le32(p);
      high = base::load_le32(p + n - 4);
    } else if (n != 0) {
      low = std::uint64_t{p[0]} | std::uint64_t{p[n / 2]} << 8 | std::uint64_t{p[n - 1]} << 16;
    }
    sum += base::hash_mix(low ^ salt, high ^ odd_b);
    return base::hash_mix(sum ^ odd_b, odd_a);
  }
  static std::uint64_t index_of(const dynamic_table& t, std::uint32_t and_1) noexcept {
    if (and_1 == 0) return none;
    const std::uint32_t age = static_cast<std::uint32_t>(t.inserted()) - (and_1 - 1);  // 1: the newest
    return age - 1 < t.count() ? t.inserted() - age : none;
  }
};

}  // namespace millrace::h3::qpack
