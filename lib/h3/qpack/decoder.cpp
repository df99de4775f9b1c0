// How it works. A section's prefix says which entries it needs; if they are there, its lines are read one by one. Raw
// strings are told where they lie, Huffman code is decoded into the scratch memory: name first, value behind it.
//
// What could go wrong. Every index is held against the Required Insert Count and against what was evicted, so that no
// section depends on when it is decoded. The size limit is checked before the sink hears of a field, so that a section
// of references, a byte each, cannot make more of it than was allowed (RFC 9204 7.3).
#include "h3/qpack/decoder.hpp"

#include <algorithm>

#include "base/byte_reader.hpp"
#include "h3/qpack/instruction.hpp"
#include "h3/qpack/static_table.hpp"

namespace millrace::h3::qpack {

namespace {

enum class read : std::uint8_t { ok, no_room, malformed };

struct section_prefix {
  std::uint64_t required = 0;
  std::uint64_t base = 0;
};

// RFC 9204 4.5.1.1: the count back from its remainder; false where no encoder makes that.
bool expand_required(std::uint64_t coded, std::uint64_t capacity, std::uint64_t inserted, std::uint64_t& out) noexcept {
  if (coded == 0) {
    out = 0;
    return true;
  }
  const std::uint64_t most = capacity / field_overhead;
  const std::uint64_t full_range = 2 * most;
  if (coded > full_range) return false;
  const std::uint64_t max_value = inserted + most;
  std::uint64_t required = max_value / full_range * full_range + coded - 1;
  if (required > max_value) {
    if (required <= full_range) return false;
    required -= full_range;
  }
  out = required;
  return required != 0;
}

bool read_prefix(base::byte_reader& in, std::uint64_t capacity, std::uint64_t inserted, section_prefix& out) noexcept {
  std::uint64_t coded = 0;
  std::uint64_t delta = 0;
  std::uint8_t sign = 0;
  if (parse_integer(in, 8, coded) != base::progress::done) return false;
  if (!expand_required(coded, capacity, inserted, out.required)) return false;
  if (!in.peek(sign) || parse_integer(in, 7, delta) != base::progress::done) return false;
  if ((sign & 0x80) == 0) {
    out.base = out.required + delta;
    return true;
  }
  if (out.required <= delta) return false;  // RFC 9204 4.5.1.2: no negative Base
  out.base = out.required - delta - 1;
  return true;
}

// The lines of one section.
class section_lines {
  base::byte_reader in_;
  const dynamic_table& table_;
  section_prefix prefix_;
  std::span<char> scratch_;
  std::size_t used_ = 0;  // of scratch_, by this line

 public:
  section_lines(base::byte_reader in, const dynamic_table& table, section_prefix prefix,
                std::span<char> scratch) noexcept
      : in_(in), table_(table), prefix_(prefix), scratch_(scratch) {}

  [[nodiscard]] bool empty() const noexcept { return in_.empty(); }

  [[nodiscard]] read next(field& out) noexcept {
    const std::uint8_t first = in_.rest()[0];
    used_ = 0;
    if ((first & 0x80) != 0) return indexed((first & 0x40) != 0, out);
    if ((first & 0x40) != 0) {  // RFC 9204 4.5.4
      out.never_index = (first & 0x20) != 0;
      return (first & 0x10) != 0 ? with_name(static_name(4, out), out) : with_name(relative_name(out), out);
    }
    if ((first & 0x20) != 0) {  // RFC 9204 4.5.6
      out.never_index = (first & 0x10) != 0;
      return with_name(text(3, out.name), out);
    }
    std::uint64_t index = 0;
    if ((first & 0x10) != 0) {  // RFC 9204 4.5.3
      if (parse_integer(in_, 4, index) != base::progress::done || !post_base(index)) return read::malformed;
      out = {table_.name(index), table_.value(index), false};
      return read::ok;
    }
    out.never_index = (first & 0x08) != 0;  // RFC 9204 4.5.5
    if (parse_integer(in_, 3, index) != base::progress::done || !post_base(index)) return read::malformed;
    out.name = table_.name(index);
    return text(7, out.value);
  }

 private:
  // RFC 9204 4.5.2.
  [[nodiscard]] read indexed(bool is_static, field& out) noexcept {
    std::uint64_t index = 0;
    if (parse_integer(in_, 6, index) != base::progress::done) return read::malformed;
    if (is_static) {
      if (index >= static_table_size) return read::malformed;  // RFC 9204 3.1
      const static_field& f = static_at(index);
      out = {f.name, f.value, false};
      return read::ok;
    }
    if (!relative(index)) return read::malformed;
    out = {table_.name(index), table_.value(index), false};
    return read::ok;
  }
  [[nodiscard]] read static_name(unsigned prefix_bits, field& out) noexcept {
    std::uint64_t index = 0;
    if (parse_integer(in_, prefix_bits, index) != base::progress::done || index >= static_table_size)
      return read::malformed;
    out.name = static_at(index).name;
    return read::ok;
  }
  [[nodiscard]] read relative_name(field& out) noexcept {
    std::uint64_t index = 0;
    if (parse_integer(in_, 4, index) != base::progress::done || !relative(index)) return read::malformed;
    out.name = table_.name(index);
    return read::ok;
  }
  [[nodiscard]] read with_name(read name, field& out) noexcept { return name == read::ok ? text(7, out.value) : name; }

  // RFC 9204 2.2.3: below the Required Insert Count, and still there.
  [[nodiscard]] bool usable(std::uint64_t index) const noexcept {
    return index < prefix_.required && table_.has(index);
  }
  // RFC 9204 3.2.5, to an absolute index.
  [[nodiscard]] bool relative(std::uint64_t& index) const noexcept {
    if (index >= prefix_.base) return false;
    index = prefix_.base - 1 - index;
    return usable(index);
  }
  // RFC 9204 3.2.6.
  [[nodiscard]] bool post_base(std::uint64_t& index) const noexcept {
    index += prefix_.base;  // both below 2^63
    return usable(index);
  }

  [[nodiscard]] read text(unsigned prefix_bits, std::string_view& out) noexcept {
    std::uint8_t first = 0;
    std::uint64_t size = 0;
    base::byte_view bytes;
    if (!in_.peek(first) || parse_integer(in_, prefix_bits, size) != base::progress::done || !in_.bytes(size, bytes))
      return read::malformed;
    if ((first >> prefix_bits & 1) == 0) {
      out = base::as_text(bytes);
      return read::ok;
    }
    const huffman_result r = huffman_decode(bytes, scratch_.subspan(used_));
    if (r.status == huffman_status::no_room) return read::no_room;
    if (r.status == huffman_status::malformed) return read::malformed;
    out = {scratch_.data() + used_, r.size};
    used_ += r.size;
    return read::ok;
  }
};

constexpr section_result malformed{section_outcome::malformed, 0, 0};

section_result tell(section_lines lines, std::uint64_t limit, field_sink& to) noexcept {
  section_result result;
  while (!lines.empty()) {
    field f;
    const read r = lines.next(f);
    if (r == read::malformed) return malformed;
    if (r == read::no_room || field_size(f.name, f.value) > limit - result.size_bytes) {  // RFC 9114 4.2.2
      result.outcome = section_outcome::too_large;
      return result;
    }
    result.size_bytes += field_size(f.name, f.value);
    if (to.on_field(f) == sink_answer::stop) {
      result.outcome = section_outcome::stopped;
      return result;
    }
  }
  return result;
}

}  // namespace

std::size_t decoder::storage_size(const decoder_settings& settings) noexcept {
  storage_sum sum;
  table_updates::add_storage(sum, settings.max_table_capacity);
  return sum.add<pending>(settings.max_pending).add<blocked_stream>(settings.max_blocked_streams).size();
}

decoder::decoder(const decoder_settings& settings, std::span<std::byte> storage, std::span<char> scratch) noexcept
    : settings_(settings), scratch_(scratch) {
  storage_cursor memory(storage);
  updates_ = table_updates(memory, settings.max_table_capacity);
  pending_ = memory.take<pending>(settings.max_pending);
  blocked_ = memory.take<blocked_stream>(settings.max_blocked_streams);
}

section_result decoder::decode(std::uint64_t stream_id, base::byte_view section, field_sink& to) noexcept {
  base::byte_reader in(section);
  section_prefix prefix;
  if (!read_prefix(in, table().most(), insert_count(), prefix)) return malformed;
  if (prefix.required > insert_count()) {
    if (!block(stream_id, prefix.required)) return malformed;
    return {section_outcome::blocked, prefix.required, 0};
  }
  if (prefix.required != 0 && pending_count_ == pending_.size()) return {section_outcome::busy, 0, 0};
  if (blocked_count_ != 0) unblock(stream_id);
  const section_result result =
      tell(section_lines(in, table(), prefix, scratch_), settings_.max_field_section_bytes, to);
  // RFC 9204 2.2.2.1. Also where the rest will never be read: the peer need keep nothing for it.
  if (prefix.required != 0 && result.outcome != section_outcome::malformed) {
    push(stream_id, false);
    known_ = std::max(known_, prefix.required);
  }
  return result;
}

bool decoder::block(std::uint64_t stream_id, std::uint64_t required) noexcept {
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < blocked_count_; ++i) {  // what is ready, but was not asked for, does not count
    const blocked_stream b = blocked_[i];
    if (b.stream_id != stream_id && !is_ready(b.required)) blocked_[kept++] = b;
  }
  blocked_count_ = kept;
  if (blocked_count_ >= blocked_.size()) return false;  // RFC 9204 2.1.2
  blocked_[blocked_count_++] = {stream_id, required};
  return true;
}

void decoder::unblock(std::uint64_t stream_id) noexcept {
  for (std::uint32_t i = 0; i < blocked_count_; ++i) {
    if (blocked_[i].stream_id != stream_id) continue;
    blocked_[i] = blocked_[--blocked_count_];
    return;
  }
}

std::size_t decoder::blocked_streams() const noexcept {
  std::size_t count = 0;
  for (const blocked_stream& b : blocked_.first(blocked_count_)) count += is_ready(b.required) ? 0 : 1;
  return count;
}

bool decoder::cancel(std::uint64_t stream_id) noexcept {
  if (table().most() != 0) {
    if (pending_count_ == pending_.size()) return false;
    push(stream_id, true);
  }
  unblock(stream_id);
  return true;
}

void decoder::push(std::uint64_t stream_id, bool is_cancellation) noexcept {
  const std::size_t at = (pending_first_ + pending_count_++) % pending_.size();
  pending_[at] = {stream_id << 1 | (is_cancellation ? 1 : 0)};
}

std::size_t decoder::poll_decoder_stream(base::byte_span out) noexcept {
  std::uint8_t* p = out.data();
  const std::uint8_t* const end = p + out.size();
  for (; pending_count_ != 0; --pending_count_) {
    const std::uint64_t stream_id = pending_[pending_first_].stream_id_and_kind >> 1;
    const bool is_cancellation = (pending_[pending_first_].stream_id_and_kind & 1) != 0;
    const pattern to = is_cancellation ? stream_cancellation_pattern : section_acknowledgment_pattern;
    if (integer_size(stream_id, to.prefix_bits) > static_cast<std::size_t>(end - p)) break;
    p = emit_integer(p, to, stream_id);
    pending_first_ = static_cast<std::uint32_t>((pending_first_ + 1) % pending_.size());
  }
  // Behind the acknowledgments, which tell the peer of known_ entries by themselves (RFC 9204 2.2.2.3).
  const std::uint64_t increment = insert_count() - known_;
  if (pending_count_ == 0 && increment != 0 &&
      integer_size(increment, insert_count_increment_pattern.prefix_bits) <= static_cast<std::size_t>(end - p)) {
    p = emit_integer(p, insert_count_increment_pattern, increment);
    known_ = insert_count();
  }
  return static_cast<std::size_t>(p - out.data());
}

}  // namespace millrace::h3::qpack
