// h3/qpack/integer.hpp - integers that begin in the low bits of a byte whose high bits say what they are for.
//
// Shape    parse reads from a byte_reader and leaves it alone unless it answers `done`; emit writes the shortest form.
// Limits   values up to max_integer (2^62-1) in at most max_integer_size bytes: padding with zero groups beyond that is
//          refused, so that no integer is work without end.
// Errors   parse: need_more (input ends inside), malformed (too large). emit cannot fail once there is room.
// Source   RFC 9204 4.1.1, RFC 7541 5.1. Tests  test/h3/qpack/integer_test.cpp
#pragma once

#include "base/byte_reader.hpp"
#include "base/parse_status.hpp"

namespace millrace::h3::qpack {

inline constexpr std::uint64_t max_integer =
    (std::uint64_t{1} << 62) - 1;                    // RFC 9204 4.1.1: 62 bits must be understood
inline constexpr std::size_t max_integer_size = 11;  // a prefix and ten groups of seven bits

// Takes continuation bytes one by one: add() answers done on the last. value() then holds the whole.
class integer_tail {
  std::uint64_t value_ = 0;
  unsigned shift_ = 0;

 public:
  integer_tail() noexcept = default;
  explicit integer_tail(std::uint64_t prefix_max) noexcept : value_(prefix_max) {}
  [[nodiscard]] base::progress add(std::uint8_t byte) noexcept {
    if (shift_ > 63) return base::progress::malformed;
    const std::uint64_t group = byte & 0x7F;
    if (group > (max_integer >> shift_)) return base::progress::malformed;
    value_ += group << shift_;  // both below 2^62 (the prefix is at most 255): no wrap
    if (value_ > max_integer) return base::progress::malformed;
    shift_ += 7;
    return (byte & 0x80) != 0 ? base::progress::need_more : base::progress::done;
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }
};

[[nodiscard]] inline base::progress parse_long_integer(base::byte_view in, std::uint64_t prefix_max, std::size_t& used,
                                                       std::uint64_t& out) noexcept {
  integer_tail tail(prefix_max);
  for (std::size_t i = 1; i < in.size(); ++i) {
    const base::progress p = tail.add(in[i]);
    if (p == base::progress::need_more) continue;
    if (p == base::progress::done) {
      used = i + 1;
      out = tail.value();
    }
    return p;
  }
  return base::progress::need_more;
}

// The integer whose first `prefix_bits` (1..8) are the low bits of the next byte; the bits above are not looked at.
[[nodiscard]] inline base::progress parse_integer(base::byte_reader& in, unsigned prefix_bits,
                                                  std::uint64_t& out) noexcept {
  const base::byte_view rest = in.rest();
  if (rest.empty()) return base::progress::need_more;
  const std::uint64_t prefix_max = (1U << prefix_bits) - 1;
  const std::uint64_t low = rest[0] & prefix_max;
  std::size_t used = 1;
  if (low < prefix_max) {
    out = low;
  } else if (const auto p = parse_long_integer(rest, prefix_max, used, out); p != base::progress::done) {
    return p;
  }
  (void)in.skip(used);
  return base::progress::done;
}

[[nodiscard]] constexpr std::size_t integer_size(std::uint64_t value, unsigned prefix_bits) noexcept {
  const std::uint64_t prefix_max = (1U << prefix_bits) - 1;
  if (value < prefix_max) return 1;
  std::size_t size = 2;
  for (value -= prefix_max; value >= 0x80; value >>= 7) ++size;
  return size;
}

// Writes `value` behind `high` (the byte's bits above the prefix) at `p`, where integer_size() bytes are free; answers
// the byte behind it.
inline std::uint8_t* emit_integer(std::uint8_t* p, std::uint8_t high, unsigned prefix_bits,
                                  std::uint64_t value) noexcept {
  const std::uint64_t prefix_max = (1U << prefix_bits) - 1;
  if (value < prefix_max) {
    *p++ = static_cast<std::uint8_t>(high | value);
    return p;
  }
  *p++ = static_cast<std::uint8_t>(high | prefix_max);
  for (value -= prefix_max; value >= 0x80; value >>= 7) *p++ = static_cast<std::uint8_t>(0x80 | (value & 0x7F));
  *p++ = static_cast<std::uint8_t>(value);
  return p;
}

}  // namespace millrace::h3::qpack
