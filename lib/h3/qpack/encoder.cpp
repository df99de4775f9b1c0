// How it works. Each field takes the shortest form there is: an entry of the static table, one of the dynamic table, a
// new entry of it, a literal with a known name, a literal. The section's base is the insert count at its start, so that
// what is inserted on the way stands behind it; the prefix, which tells how far the section refers, is written last.
//
// What is inserted. While there is room, every field at once, but for those whose name is known to change from message
// to message (:path, dates, lengths, tags) and those that would take more than a quarter of the table. These, and any
// field once others would have to leave for it, when they are seen again soon. Measured on the header lists of real
// sites: at once whatever leaves costs a fifth more, never at once a tenth to a fifth. An entry about to be evicted is
// not referred to (that would keep it, and with it the table, from moving on) but duplicated.
//
// What could go wrong. The peer must be able to follow: an entry leaves the table only when the peer has said that it
// came, and that every section that refers to it, or to an older one, is done with; the section being written counts
// with them. The blocked sections are counted, not the streams, which is never fewer.
#include "h3/qpack/encoder.hpp"

#include <algorithm>
#include <array>

#include "h3/qpack/instruction.hpp"
#include "h3/qpack/static_table.hpp"

namespace millrace::h3::qpack {

namespace {

constexpr std::size_t line_overhead = 12;  // two lengths or indices below 2^32, whatever their prefixes
constexpr std::size_t usual_prefix = 2;

enum class name_kind : std::uint8_t { usual, changing, secret, secret_when_short };

constexpr std::size_t short_secret = 20;

constexpr auto name_kinds = [] {
  std::array<name_kind, static_table_size> kinds{};
  for (const std::size_t i : {1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 55}) kinds[i] = name_kind::changing;
  kinds[84] = name_kind::secret;                        // authorization
  kinds[5] = kinds[14] = name_kind::secret_when_short;  // cookie, set-cookie
  return kinds;
}();

bool is_secret(const field& f, std::uint8_t static_name) noexcept {
  if (f.never_index) return true;
  if (static_name == no_static) return false;
  const name_kind kind = name_kinds[static_name];
  return kind == name_kind::secret || (kind == name_kind::secret_when_short && f.value.size() < short_secret);
}

}  // namespace

// One section on its way out.
class section_writer {
  encoder& e_;
  std::uint8_t* p_;
  std::uint8_t* instruction_;
  std::uint8_t* const instruction_end_;
  const std::uint64_t base_;
  std::uint64_t required_ = 0;
  std::uint64_t lowest_ = UINT64_MAX;
  const bool has_table_;
  bool may_block_ = false;
  bool is_may_block_known_ = false;

 public:
  section_writer(encoder& e, std::uint8_t* section, base::byte_span instructions, bool has_table) noexcept
      : e_(e),
        p_(section),
        instruction_(instructions.data()),
        instruction_end_(instructions.data() + instructions.size()),
        base_(e.table_.inserted()),
        has_table_(has_table) {
    if (has_table_) tell_capacity();
  }

  [[nodiscard]] std::uint8_t* end() const noexcept { return p_; }
  [[nodiscard]] std::uint8_t* instruction_end() const noexcept { return instruction_; }
  [[nodiscard]] std::uint64_t base() const noexcept { return base_; }
  [[nodiscard]] std::uint64_t required() const noexcept { return required_; }
  [[nodiscard]] std::uint64_t lowest() const noexcept { return lowest_; }

  void write(const field& f) noexcept {
    const static_match known = find_static(f.name, f.value);
    if (is_secret(f, known.name)) return literal(f, known.name, entry_finder::none, true);
    if (known.field != no_static) {
      p_ = emit_integer(p_, indexed_static_pattern, known.field);
      return;
    }
    if (!has_table_) return literal(f, known.name, entry_finder::none, false);
    const entry_finder::key key = e_.finder_.key_of(f.name, f.value);
    std::uint64_t index = e_.finder_.find_field(e_.table_, key, f.name, f.value);
    if (index != entry_finder::none) {
      if (is_draining(index)) index = duplicate(index, key);
    } else if (is_worth(f, known.name, key)) {
      index = insert(f, known.name, key);
    }
    if (index != entry_finder::none && may_refer(index)) return indexed(index);
    std::uint64_t name = entry_finder::none;
    if (known.name == no_static) {
      name = e_.finder_.find_name(e_.table_, key, f.name);
      if (name != entry_finder::none && (is_draining(name) || !may_refer(name))) name = entry_finder::none;
    }
    literal(f, known.name, name, false);
  }

 private:
  // RFC 9204 3.2.3: what we use of what the peer allows, once, before the first insertion.
  void tell_capacity() noexcept {
    if (e_.table_.capacity() == e_.capacity_ || room() < integer_size(e_.capacity_, 5)) return;
    instruction_ = emit_integer(instruction_, set_capacity_pattern, e_.capacity_);
    e_.table_.set_capacity(e_.capacity_);
  }
  [[nodiscard]] std::size_t room() const noexcept { return static_cast<std::size_t>(instruction_end_ - instruction_); }

  [[nodiscard]] bool may_refer(std::uint64_t index) noexcept {
    if (index < e_.known_) return true;
    if (!is_may_block_known_) {
      may_block_ = e_.unacked_.blocked(e_.known_) < e_.peer_blocked_;  // RFC 9204 2.1.2
      is_may_block_known_ = true;
    }
    return may_block_;
  }
  void refer(std::uint64_t index) noexcept {
    required_ = std::max(required_, index + 1);
    lowest_ = std::min(lowest_, index);
  }

  [[nodiscard]] bool is_worth(const field& f, std::uint8_t static_name, entry_finder::key key) noexcept {
    const std::uint64_t size = field_size(f.name, f.value);
    if (size > e_.table_.capacity()) return false;
    const bool is_changing = static_name != no_static && name_kinds[static_name] == name_kind::changing;
    if (!is_changing && size <= e_.table_.capacity() / 4 && e_.table_.fits(size)) return true;
    return e_.finder_.was_seen(key);
  }

  // Whether the entry is among the next to be evicted: the oldest eighth of a table that is nearly full.
  [[nodiscard]] bool is_draining(std::uint64_t index) const noexcept {
    const dynamic_table& t = e_.table_;
    return t.size() + t.capacity() / 8 > t.capacity() && index - t.oldest() < t.count() / 8;
  }

  // RFC 9204 2.1.1, RFC 9204 3.2.2: evicts what must go for `size` bytes, or nothing and answers false.
  [[nodiscard]] bool make_room(std::uint64_t size) noexcept {
    dynamic_table& t = e_.table_;
    std::uint64_t left = t.size();
    std::uint64_t index = t.oldest();
    for (; left + size > t.capacity(); ++index) {
      if (index >= e_.known_ || index >= lowest_ || e_.unacked_.is_pinned(t.slot_of(index))) return false;
      left -= field_size(t.name(index), t.value(index));
    }
    while (t.oldest() != index) t.evict();
    return true;
  }

  [[nodiscard]] std::uint64_t duplicate(std::uint64_t index, entry_finder::key key) noexcept {
    dynamic_table& t = e_.table_;
    const std::uint64_t relative = t.inserted() - 1 - index;
    if (room() < integer_size(relative, duplicate_pattern.prefix_bits)) return entry_finder::none;
    const std::string_view name = t.name(index);
    const std::string_view value = t.value(index);
    if (!make_room(field_size(name, value))) return entry_finder::none;
    instruction_ = emit_integer(instruction_, duplicate_pattern, relative);
    return add(name, value, key);
  }

  [[nodiscard]] std::uint64_t insert(const field& f, std::uint8_t static_name, entry_finder::key key) noexcept {
    if (room() < line_overhead + f.name.size() + f.value.size()) return entry_finder::none;
    dynamic_table& t = e_.table_;
    std::uint64_t same_name = entry_finder::none;
    if (static_name == no_static) same_name = e_.finder_.find_name(t, key, f.name);
    const std::uint64_t relative = t.inserted() - 1 - same_name;
    if (!make_room(field_size(f.name, f.value))) return entry_finder::none;
    if (static_name != no_static) {
      instruction_ = emit_integer(instruction_, insert_static_name_pattern, static_name);
    } else if (same_name != entry_finder::none) {
      instruction_ = emit_integer(instruction_, insert_dynamic_name_pattern, relative);
    } else {
      instruction_ = text(instruction_, insert_literal_name_pattern, f.name);
    }
    instruction_ = text(instruction_, value_pattern, f.value);
    return add(f.name, f.value, key);
  }
  std::uint64_t add(std::string_view name, std::string_view value, entry_finder::key key) noexcept {
    const std::uint64_t index = e_.table_.inserted();
    e_.table_.insert(name, value);
    e_.finder_.add(e_.table_, key, index);
    return index;
  }

  std::uint8_t* text(std::uint8_t* p, pattern to, std::string_view what) const noexcept {
    return emit_string(p, to, what, e_.settings_.use_huffman);
  }

  void indexed(std::uint64_t index) noexcept {
    refer(index);
    p_ = index < base_ ? emit_integer(p_, indexed_dynamic_pattern, base_ - 1 - index)
                       : emit_integer(p_, indexed_post_base_pattern, index - base_);
  }
  void literal(const field& f, std::uint8_t static_name, std::uint64_t name, bool is_secret) noexcept {
    const auto kept = [is_secret](pattern p) { return is_secret ? never_indexed(p) : p; };  // RFC 9204 4.5.4
    if (static_name != no_static) {
      p_ = emit_integer(p_, kept(literal_static_name_pattern), static_name);
    } else if (name == entry_finder::none) {
      p_ = text(p_, kept(literal_name_pattern), f.name);
    } else {
      refer(name);
      p_ = name < base_ ? emit_integer(p_, kept(literal_dynamic_name_pattern), base_ - 1 - name)
                        : emit_integer(p_, kept(literal_post_base_name_pattern), name - base_);
    }
    p_ = text(p_, value_pattern, f.value);
  }
};

std::size_t encoder::storage_size(const encoder_settings& settings) noexcept {
  const std::size_t slots = dynamic_table::slots_for(settings.max_table_capacity);
  storage_sum sum;
  dynamic_table::add_storage(sum, settings.max_table_capacity);
  entry_finder::add_storage(sum, slots);
  unacked_sections::add_storage(sum, settings.max_unacked_sections, slots);
  return sum.size();
}

encoder::encoder(const encoder_settings& settings, std::span<std::byte> storage) noexcept : settings_(settings) {
  storage_cursor memory(storage);
  const std::size_t slots = dynamic_table::slots_for(settings.max_table_capacity);
  table_ = dynamic_table(memory, settings.max_table_capacity);
  finder_ = entry_finder(memory, slots, settings.hash_seed);
  unacked_ = unacked_sections(memory, settings.max_unacked_sections, slots);
}

bool encoder::set_peer_settings(std::uint64_t capacity, std::uint64_t blocked_streams) noexcept {
  if (table_.capacity() != 0 && capacity != peer_capacity_) return false;
  peer_capacity_ = capacity;
  peer_blocked_ = blocked_streams;
  full_range_ = 2 * (capacity / field_overhead);
  capacity_ = std::min(capacity, table_.most());
  return true;
}

std::size_t encoder::max_section_size(std::span<const field> fields) noexcept {
  std::size_t size = line_overhead;
  for (const field& f : fields) size += line_overhead + f.name.size() + f.value.size();
  return size;
}

encoded encoder::encode(std::uint64_t stream_id, std::span<const field> fields, base::byte_span section_out,
                        base::byte_span encoder_stream_out) noexcept {
  if (section_out.size() < max_section_size(fields)) return {};
  const bool has_table = capacity_ >= field_overhead && !unacked_.is_full();
  std::uint8_t* const begin = section_out.data();
  section_writer w(*this, begin + usual_prefix, encoder_stream_out, has_table);
  for (const field& f : fields) w.write(f);
  std::size_t size = static_cast<std::size_t>(w.end() - begin);
  const std::size_t instructions = static_cast<std::size_t>(w.instruction_end() - encoder_stream_out.data());
  if (w.required() == 0) {
    begin[0] = begin[1] = 0;
    return {true, size, instructions};
  }
  // RFC 9204 4.5.1.1 and 4.5.1.2.
  const bool is_behind = w.required() > w.base();
  const std::uint64_t delta = is_behind ? w.required() - w.base() - 1 : w.base() - w.required();
  const std::uint64_t count = w.required() % full_range_ + 1;
  const std::size_t prefix = integer_size(count, 8) + integer_size(delta, 7);
  if (prefix != usual_prefix) {
    std::memmove(begin + prefix, begin + usual_prefix, size - usual_prefix);
    size += prefix - usual_prefix;
  }
  emit_integer(emit_integer(begin, 0, 8, count), is_behind ? 0x80 : 0, 7, delta);
  unacked_.add(stream_id, w.required(), table_.slot_of(w.lowest()));
  return {true, size, instructions};
}

error encoder::on_decoder_stream(base::byte_view in) noexcept {
  if (has_failed_) return error::decoder_stream;
  for (const std::uint8_t byte : in) {
    std::uint64_t value = 0;
    if (is_inside_) {
      const base::progress p = integer_.add(byte);
      if (p == base::progress::need_more) continue;
      has_failed_ = p == base::progress::malformed;
      value = integer_.value();
    } else {
      instruction_ = byte;
      const std::uint64_t prefix_max = (byte & 0x80) != 0 ? 0x7F : 0x3F;
      value = byte & prefix_max;
      if (value == prefix_max) {
        integer_ = integer_tail(prefix_max);
        is_inside_ = true;
        continue;
      }
    }
    is_inside_ = false;
    if (has_failed_ || !on_instruction(value)) {
      has_failed_ = true;
      return error::decoder_stream;
    }
  }
  return error::none;
}

bool encoder::on_instruction(std::uint64_t value) noexcept {
  if ((instruction_ & 0x80) != 0) {  // RFC 9204 4.4.1
    std::uint64_t required = 0;
    if (!unacked_.acknowledge(value, required)) return false;
    known_ = std::max(known_, required);
    return true;
  }
  if ((instruction_ & 0x40) != 0) {  // RFC 9204 4.4.2
    unacked_.remove_all(value);
    return true;
  }
  if (value == 0 || value > table_.inserted() - known_) return false;  // RFC 9204 4.4.3
  known_ += value;
  return true;
}

}  // namespace millrace::h3::qpack
