// h3/qpack/unacked_sections.hpp - the field sections whose references to the table the peer has not let go of.
//
// Shape    each section pins the lowest entry it refers to; as entries leave oldest first, everything behind a pinned
//          entry stays too, and one count at one entry says whether the oldest may go.
// Limits   as many sections as the settings say; is_full() before add().
// Errors   acknowledge: false where no section of the stream is outstanding.
// Source   RFC 9204 2.1.1, 2.1.2, 4.4. Tests  test/h3/qpack/encoder_test.cpp
#pragma once

#include "h3/qpack/dynamic_table.hpp"

namespace millrace::h3::qpack {

class unacked_sections {
  struct section {
    std::uint64_t stream_id;
    std::uint64_t required;     // Required Insert Count
    std::uint32_t lowest_slot;  // of the lowest entry referred to
    std::uint32_t next_and_1;   // 0: the last
  };

  std::span<section> sections_;
  std::span<std::uint16_t> pins_;  // by slot
  std::uint32_t first_and_1_ = 0;  // in the order they were encoded
  std::uint32_t last_and_1_ = 0;
  std::uint32_t free_and_1_ = 0;
  std::uint32_t count_ = 0;

 public:
  static constexpr void add_storage(storage_sum& sum, std::uint16_t most, std::size_t slots) noexcept {
    sum.add<section>(most).add<std::uint16_t>(slots);
  }
  unacked_sections() noexcept = default;
  unacked_sections(storage_cursor& memory, std::uint16_t most, std::size_t slots) noexcept;

  [[nodiscard]] bool is_full() const noexcept { return free_and_1_ == 0; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] bool is_pinned(std::size_t slot) const noexcept { return pins_[slot] != 0; }
  // Sections that may be waiting for entries, when the peer is known to have `known` of them.
  [[nodiscard]] std::uint64_t blocked(std::uint64_t known) const noexcept;

  void add(std::uint64_t stream_id, std::uint64_t required, std::size_t lowest_slot) noexcept;
  // The stream's oldest section is done with.
  [[nodiscard]] bool acknowledge(std::uint64_t stream_id, std::uint64_t& required) noexcept;
  void remove_all(std::uint64_t stream_id) noexcept;

 private:
  // Takes out what follows `before_and_1` (0: the first).
  void remove_after(std::uint32_t before_and_1) noexcept;
};

}  // namespace millrace::h3::qpack
