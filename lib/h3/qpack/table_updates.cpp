// How it works. Between calls the machine rests in one of four states: before an instruction, inside an integer, inside
// a string, before a value's length. Where all of a string has come it is decoded at once; only one that is split goes
// through huffman_reader, character by character.
//
// What could go wrong. A length is judged as soon as it is known, against what the table could still take: a string of
// n bytes is at least n characters raw, and n * 8 bits hold no fewer than n * 8 / 30 characters as Huffman code. So
// what is kept for an instruction that will be refused is bounded by the capacity, and so is the work.
#include "h3/qpack/table_updates.hpp"

#include <algorithm>

#include "base/byte_reader.hpp"
#include "h3/qpack/static_table.hpp"

namespace millrace::h3::qpack {

error table_updates::add(base::byte_view bytes) noexcept {
  base::byte_reader in(bytes);
  bool fine = state_ != state::failed;
  while (fine && !in.empty()) {
    switch (state_) {
      case state::first_byte:
        fine = on_first_byte(in);
        break;
      case state::integer:
        fine = on_tail(in);
        break;
      case state::text:
        fine = on_text(in);
        break;
      case state::value_length:
        fine = on_value_length(in);
        break;
      case state::failed:
        fine = false;
        break;
    }
  }
  if (fine) return error::none;
  state_ = state::failed;
  return error::encoder_stream;
}

bool table_updates::on_first_byte(base::byte_reader& in) noexcept {
  std::uint8_t first = 0;
  if (!in.peek(first)) return true;
  staged_size_ = 0;
  name_size_ = 0;
  is_huffman_ = false;
  unsigned prefix_bits = 5;
  if ((first & 0x80) != 0) {  // RFC 9204 4.3.2
    kind_ = (first & 0x40) != 0 ? kind::static_name : kind::dynamic_name;
    prefix_bits = 6;
  } else if ((first & 0x40) != 0) {  // RFC 9204 4.3.3
    kind_ = kind::literal_name;
    is_huffman_ = (first & 0x20) != 0;
  } else if ((first & 0x20) != 0) {  // RFC 9204 4.3.1
    kind_ = kind::set_capacity;
  } else {  // RFC 9204 4.3.4
    kind_ = kind::duplicate;
  }
  reading_ = kind_;
  return begin_integer(in, prefix_bits);
}

bool table_updates::on_value_length(base::byte_reader& in) noexcept {
  std::uint8_t first = 0;
  if (!in.peek(first)) return true;
  is_huffman_ = (first & 0x80) != 0;
  reading_ = kind::value;
  return begin_integer(in, 7);
}

bool table_updates::begin_integer(base::byte_reader& in, unsigned prefix_bits) noexcept {
  std::uint8_t first = 0;
  if (!in.u8(first)) return true;
  const std::uint64_t prefix_max = (1U << prefix_bits) - 1;
  const std::uint64_t low = first & prefix_max;
  if (low < prefix_max) return on_integer(low);
  integer_ = integer_tail(prefix_max);
  state_ = state::integer;
  return true;
}

bool table_updates::on_tail(base::byte_reader& in) noexcept {
  std::uint8_t byte = 0;
  while (in.u8(byte)) {
    const base::progress p = integer_.add(byte);
    if (p == base::progress::malformed) return false;
    if (p == base::progress::done) return on_integer(integer_.value());
  }
  return true;
}

bool table_updates::on_integer(std::uint64_t value) noexcept {
  switch (reading_) {
    case kind::set_capacity:
      return set_capacity(value);
    case kind::static_name:
      if (value >= static_table_size) return false;  // RFC 9204 3.1
      name_index_ = value;
      state_ = state::value_length;
      return true;
    case kind::dynamic_name:
      if (value >= table_.count()) return false;  // RFC 9204 3.2.5: relative to the newest entry
      name_index_ = table_.inserted() - 1 - value;
      state_ = state::value_length;
      return true;
    case kind::duplicate: {
      if (value >= table_.count()) return false;
      const std::uint64_t index = table_.inserted() - 1 - value;
      state_ = state::first_byte;
      return insert(table_.name(index), table_.value(index));
    }
    case kind::literal_name:
    case kind::value:
      return begin_text(value);
  }
  return false;
}

bool table_updates::begin_text(std::uint64_t size) noexcept {
  // What the table can hold besides what is known of this entry.
  std::uint64_t known = field_overhead + staged_size_;
  if (reading_ == kind::value) {
    if (kind_ == kind::static_name) known += static_at(name_index_).name.size();
    if (kind_ == kind::dynamic_name) known += table_.name(name_index_).size();
  }
  if (known > table_.capacity()) return false;
  const std::uint64_t room = table_.capacity() - known;
  const std::uint64_t shortest = is_huffman_ ? size * 8 / 30 : size;  // both below 2^62, so times 8 must be guarded
  if (size > max_table_capacity * 4 || shortest > room) return false;
  text_left_ = size;
  huffman_ = {};
  is_begun_ = false;
  state_ = state::text;
  return size != 0 || end_text();
}

bool table_updates::on_text(base::byte_reader& in) noexcept {
  const std::uint64_t here = std::min<std::uint64_t>(text_left_, in.remaining());
  const bool is_whole = here == text_left_ && !is_begun_;
  base::byte_view bytes;
  if (!in.bytes(here, bytes)) return false;
  text_left_ -= here;
  is_begun_ = true;
  const std::span<char> room = staged_.subspan(staged_size_);
  if (!is_huffman_) {
    if (bytes.size() > room.size()) return false;
    std::memcpy(room.data(), bytes.data(), bytes.size());
    staged_size_ += bytes.size();
  } else if (is_whole) {
    const huffman_result r = huffman_decode(bytes, room);
    if (r.status != huffman_status::ok) return false;
    staged_size_ += r.size;
  } else {
    if (huffman_.add(bytes, staged_, staged_size_) != huffman_status::ok) return false;
    if (text_left_ == 0 && !huffman_.is_padded()) return false;
  }
  return text_left_ != 0 || end_text();
}

bool table_updates::end_text() noexcept {
  if (reading_ == kind::literal_name) {
    name_size_ = staged_size_;
    state_ = state::value_length;
    return true;
  }
  state_ = state::first_byte;
  const std::string_view value(staged_.data() + name_size_, staged_size_ - name_size_);
  if (kind_ == kind::static_name) return insert(static_at(name_index_).name, value);
  if (kind_ == kind::dynamic_name) return insert(table_.name(name_index_), value);
  return insert({staged_.data(), name_size_}, value);
}

bool table_updates::set_capacity(std::uint64_t capacity) noexcept {
  if (capacity > table_.most()) return false;  // RFC 9204 4.3.1
  while (table_.size() > capacity) table_.evict();
  table_.set_capacity(capacity);
  state_ = state::first_byte;
  return true;
}

bool table_updates::insert(std::string_view name, std::string_view value) noexcept {
  const std::uint64_t size = field_size(name, value);
  if (size > table_.capacity()) return false;  // RFC 9204 3.2.2
  while (!table_.fits(size)) table_.evict();
  table_.insert(name, value);
  return true;
}

}  // namespace millrace::h3::qpack
