// h3/qpack/table_updates.hpp - the peer's encoder stream: instructions that change our dynamic table.
//
// Shape    add() takes bytes in any pieces; each whole instruction changes the table at once.
//
//              first byte -> [index or length, more bytes] -> name -> value length [more bytes] -> value -> first byte
//
// Limits   a string is staged in as many bytes as the table may have; one that cannot fit the table's capacity is
//          refused when its length is read, before any of it is kept, also when the capacity is 0.
// Errors   error::encoder_stream, for ever after: QPACK_ENCODER_STREAM_ERROR.
// Source   RFC 9204 4.3. Tests  test/h3/qpack/table_updates_test.cpp, test/fuzz/qpack_decoder_fuzz.cpp
#pragma once

#include "base/byte_reader.hpp"
#include "h3/qpack/dynamic_table.hpp"
#include "h3/qpack/error.hpp"
#include "h3/qpack/huffman.hpp"
#include "h3/qpack/integer.hpp"

namespace millrace::h3::qpack {

class table_updates {
  enum class state : std::uint8_t { first_byte, integer, text, value_length, failed };
  enum class kind : std::uint8_t { set_capacity, static_name, dynamic_name, literal_name, duplicate, value };

  dynamic_table table_;
  std::span<char> staged_;
  integer_tail integer_;
  huffman_reader huffman_;
  std::uint64_t name_index_ = 0;  // of static_name and dynamic_name: static, or absolute
  std::uint64_t text_left_ = 0;   // bytes of the string that have not come
  std::size_t staged_size_ = 0;   // decoded so far: name, then value
  std::size_t name_size_ = 0;     // of a literal name
  state state_ = state::first_byte;
  kind kind_ = kind::duplicate;     // of the instruction
  kind reading_ = kind::duplicate;  // what the integer or text at hand is: kind_, or value
  bool is_huffman_ = false;
  bool is_begun_ = false;  // part of the string was given to huffman_

 public:
  static constexpr void add_storage(storage_sum& sum, std::uint64_t capacity) noexcept {
    dynamic_table::add_storage(sum, capacity);
    sum.add<char>(static_cast<std::size_t>(capacity < max_table_capacity ? capacity : max_table_capacity));
  }
  table_updates() noexcept = default;
  table_updates(storage_cursor& memory, std::uint64_t most) noexcept
      : table_(memory, most), staged_(memory.take<char>(static_cast<std::size_t>(table_.most()))) {}

  [[nodiscard]] error add(base::byte_view in) noexcept;
  [[nodiscard]] const dynamic_table& table() const noexcept { return table_; }
  // Whether the stream rests between instructions.
  [[nodiscard]] bool is_between() const noexcept { return state_ == state::first_byte; }

 private:
  [[nodiscard]] bool on_first_byte(base::byte_reader& in) noexcept;
  [[nodiscard]] bool on_value_length(base::byte_reader& in) noexcept;
  [[nodiscard]] bool begin_integer(base::byte_reader& in, unsigned prefix_bits) noexcept;
  [[nodiscard]] bool on_tail(base::byte_reader& in) noexcept;
  [[nodiscard]] bool on_integer(std::uint64_t value) noexcept;
  [[nodiscard]] bool begin_text(std::uint64_t size) noexcept;
  [[nodiscard]] bool on_text(base::byte_reader& in) noexcept;
  [[nodiscard]] bool end_text() noexcept;
  [[nodiscard]] bool set_capacity(std::uint64_t capacity) noexcept;
  [[nodiscard]] bool insert(std::string_view name, std::string_view value) noexcept;
};

}  // namespace millrace::h3::qpack
