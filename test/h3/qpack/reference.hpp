// test/h3/qpack/reference.hpp - a QPACK decoder written to be read: strings and vectors, one bit at a time, no limits
// but the table's. What it says of any input is held against the decoder of lib/.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "h3/qpack/huffman_code.hpp"
#include "h3/qpack/static_table.hpp"
#include "h3/qpack/support.hpp"

namespace millrace::test {

class reference_decoder {
  struct cursor {
    base::byte_view in;
    std::size_t at = 0;
    bool failed = false;
    bool is_short = false;  // failed because the input ends

    [[nodiscard]] bool empty() const { return at == in.size(); }
    std::uint8_t byte() {
      if (empty()) failed = is_short = true;
      return failed ? std::uint8_t{0} : in[at++];
    }
    std::uint64_t integer(std::uint8_t first, unsigned prefix) {
      const std::uint64_t most = (1U << prefix) - 1;
      std::uint64_t value = first & most;
      if (value < most) return value;
      for (unsigned shift = 0;; shift += 7) {
        const std::uint8_t b = byte();
        if (shift > 63 || (shift > 56 && (b & 0x7F) >> (62 - std::min(shift, 62U)) != 0)) failed = true;
        if (failed) return 0;
        value += std::uint64_t{b & 0x7FU} << shift;
        if (value >= std::uint64_t{1} << 62) failed = true;
        if ((b & 0x80) == 0) return value;
      }
    }
    std::string text(std::uint8_t first, unsigned prefix) {
      const bool is_code = (first >> prefix & 1) != 0;
      const std::uint64_t size = integer(first, prefix);
      if (failed || size > in.size() - at) {
        is_short = is_short || !failed;
        failed = true;
        return {};
      }
      const base::byte_view raw = in.subspan(at, static_cast<std::size_t>(size));
      at += raw.size();
      return is_code ? huffman(raw) : std::string(base::as_text(raw));
    }
    static const std::map<std::pair<unsigned, std::uint32_t>, unsigned>& symbols() {
      static const auto all = [] {
        std::map<std::pair<unsigned, std::uint32_t>, unsigned> map;
        for (unsigned s = 0; s < qpack::huffman_symbols; ++s)
          map[{qpack::huffman.codes[s].length, qpack::huffman.codes[s].bits}] = s;
        return map;
      }();
      return all;
    }
    std::string huffman(base::byte_view raw) {
      std::string out;
      std::uint32_t code = 0;
      unsigned length = 0;
      for (std::size_t bit = 0; bit < raw.size() * 8; ++bit) {
        code = code << 1 | (raw[bit / 8] >> (7 - bit % 8) & 1U);
        ++length;
        const auto found = symbols().find({length, code});
        if (found == symbols().end()) continue;
        if (found->second == qpack::huffman_eos) failed = true;
        out.push_back(static_cast<char>(found->second));
        code = length = 0;
        if (failed) return {};
      }
      if (length > 7 || code != (1U << length) - 1) failed = true;
      return out;
    }
  };

  std::uint64_t most_;
  std::uint64_t capacity_ = 0;
  std::uint64_t evicted_ = 0;
  std::deque<owned_field> table_;  // oldest first
  bytes stream_;                   // what has not made a whole instruction

 public:
  explicit reference_decoder(std::uint64_t most) : most_(most) {}
  [[nodiscard]] std::uint64_t inserted() const { return evicted_ + table_.size(); }
  [[nodiscard]] const std::deque<owned_field>& table() const { return table_; }
  [[nodiscard]] std::uint64_t size() const {
    std::uint64_t sum = 0;
    for (const owned_field& f : table_) sum += f.name.size() + f.value.size() + 32;
    return sum;
  }

  // False: an error. An instruction cut short waits, whatever it says.
  bool on_encoder_stream(base::byte_view in) {
    stream_.insert(stream_.end(), in.begin(), in.end());
    std::size_t done = 0;
    bool fine = true;
    while (done < stream_.size()) {
      cursor c{base::byte_view(stream_).subspan(done)};
      fine = instruction(c);
      if (c.is_short) fine = true;
      if (!fine || c.failed) break;
      done += c.at;
    }
    stream_.erase(stream_.begin(), stream_.begin() + static_cast<std::ptrdiff_t>(done));
    return fine;
  }

  // Nothing: malformed. `required` tells when it is blocked, and then the list is empty.
  std::optional<field_list> decode(base::byte_view section, std::uint64_t& required) {
    cursor c{section};
    const std::uint64_t coded = c.integer(c.byte(), 8);
    const std::uint64_t range = 2 * (most_ / 32);
    required = 0;
    if (c.failed || coded > range) return {};
    if (coded != 0) {
      // The one count in the window (inserted - MaxEntries, inserted + MaxEntries] with this remainder.
      for (std::uint64_t n = inserted() + range / 2; n != 0; --n) {
        if (n + range / 2 <= inserted()) break;
        if (n % range + 1 == coded) {
          required = n;
          break;
        }
      }
      if (required == 0) return {};
    }
    const std::uint8_t sign = c.byte();
    const std::uint64_t delta = c.integer(sign, 7);
    if (c.failed || ((sign & 0x80) != 0 && delta >= required)) return {};
    if (required > inserted()) return field_list{};
    const std::uint64_t base = (sign & 0x80) != 0 ? required - delta - 1 : required + delta;
    field_list out;
    while (!c.empty()) {
      owned_field f;
      if (!line(c, base, required, f) || c.failed) return {};
      out.push_back(f);
    }
    return out;
  }

 private:
  bool entry(std::uint64_t index, std::uint64_t below, owned_field& out) const {
    if (index >= below || index < evicted_ || index >= inserted()) return false;
    out = table_[static_cast<std::size_t>(index - evicted_)];
    return true;
  }
  static bool known(std::uint64_t index, owned_field& out) {
    if (index >= qpack::static_table_size) return false;
    out = {std::string(qpack::static_at(index).name), std::string(qpack::static_at(index).value)};
    return true;
  }
  bool insert(owned_field f) {
    f.never_index = false;
    const std::uint64_t needed = f.name.size() + f.value.size() + 32;
    if (needed > capacity_) return false;
    shrink(capacity_ - needed);
    table_.push_back(std::move(f));
    return true;
  }
  void shrink(std::uint64_t to) {
    while (size() > to) {
      table_.pop_front();
      ++evicted_;
    }
  }
  bool instruction(cursor& c) {
    const std::uint8_t b = c.byte();
    owned_field f;
    if ((b & 0x80) != 0) {
      const std::uint64_t index = c.integer(b, 6);
      if (c.failed) return false;
      if (!((b & 0x40) != 0 ? known(index, f) : index < inserted() && entry(inserted() - 1 - index, inserted(), f)))
        return false;
    } else if ((b & 0x40) != 0) {
      f.name = c.text(b, 5);
    } else if ((b & 0x20) != 0) {
      const std::uint64_t capacity = c.integer(b, 5);
      if (c.failed || capacity > most_) return false;
      capacity_ = capacity;
      shrink(capacity_);
      return true;
    } else {
      const std::uint64_t index = c.integer(b, 5);
      return !c.failed && index < inserted() && entry(inserted() - 1 - index, inserted(), f) && insert(f);
    }
    f.value = c.text(c.byte(), 7);
    return !c.failed && insert(f);
  }
  bool line(cursor& c, std::uint64_t base, std::uint64_t below, owned_field& f) const {
    const std::uint8_t b = c.byte();
    const auto relative = [&](std::uint64_t i) { return i < base && entry(base - 1 - i, below, f); };
    if ((b & 0x80) != 0) {
      const std::uint64_t index = c.integer(b, 6);
      return !c.failed && ((b & 0x40) != 0 ? known(index, f) : relative(index));
    }
    if ((b & 0xF0) == 0x10) {
      const std::uint64_t index = c.integer(b, 4);
      return !c.failed && entry(base + index, below, f);
    }
    if ((b & 0x40) != 0) {
      const std::uint64_t index = c.integer(b, 4);
      if (c.failed || !((b & 0x10) != 0 ? known(index, f) : relative(index))) return false;
      f.never_index = (b & 0x20) != 0;
    } else if ((b & 0x20) != 0) {
      f.name = c.text(b, 3);
      f.never_index = (b & 0x10) != 0;
    } else {
      const std::uint64_t index = c.integer(b, 3);
      if (c.failed || !entry(base + index, below, f)) return false;
      f.never_index = (b & 0x08) != 0;
    }
    f.value = c.text(c.byte(), 7);
    return !c.failed;
  }
};

}  // namespace millrace::test
