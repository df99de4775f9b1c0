// h3/qpack/instruction.hpp - how each line of a field section and each instruction of the two streams is written.
//
// Shape    each emit_ writes at `p` and answers the byte behind it. Strings go as Huffman code where that is shorter.
// Limits   a string of n bytes takes at most max_integer_size + n bytes; the caller has checked the room.
// Source   RFC 9204 4.3, 4.4, 4.5. Tests  test/h3/qpack/instruction_test.cpp
#pragma once

#include <cstring>

#include "h3/qpack/huffman.hpp"
#include "h3/qpack/integer.hpp"

namespace millrace::h3::qpack {

// The bits above each prefix, and how many bits it has.
struct pattern {
  std::uint8_t high;
  std::uint8_t prefix_bits;
};

// RFC 9204 4.3: encoder stream.
inline constexpr pattern set_capacity_pattern{0x20, 5};
inline constexpr pattern insert_static_name_pattern{0xC0, 6};
inline constexpr pattern insert_dynamic_name_pattern{0x80, 6};
inline constexpr pattern insert_literal_name_pattern{0x40, 5};
inline constexpr pattern duplicate_pattern{0x00, 5};
// RFC 9204 4.4: decoder stream.
inline constexpr pattern section_acknowledgment_pattern{0x80, 7};
inline constexpr pattern stream_cancellation_pattern{0x40, 6};
inline constexpr pattern insert_count_increment_pattern{0x00, 6};
// RFC 9204 4.5: field section. Where a literal may be never-indexed, never_index_bit says which bit tells.
inline constexpr pattern indexed_static_pattern{0xC0, 6};
inline constexpr pattern indexed_dynamic_pattern{0x80, 6};
inline constexpr pattern indexed_post_base_pattern{0x10, 4};
inline constexpr pattern literal_static_name_pattern{0x50, 4};
inline constexpr pattern literal_dynamic_name_pattern{0x40, 4};
inline constexpr pattern literal_post_base_name_pattern{0x00, 3};
inline constexpr pattern literal_name_pattern{0x20, 3};

// RFC 9204 4.5.4, 4.5.5, 4.5.6: N stands above the prefix, but for the literal name, where H comes between.
[[nodiscard]] constexpr pattern never_indexed(pattern p) noexcept {
  const unsigned n = p.high == literal_name_pattern.high ? 4U : p.prefix_bits == 3 ? 3U : 5U;
  return {static_cast<std::uint8_t>(p.high | (1U << n)), p.prefix_bits};
}

inline std::uint8_t* emit_integer(std::uint8_t* p, pattern to, std::uint64_t value) noexcept {
  return emit_integer(p, to.high, to.prefix_bits, value);
}

// RFC 9204 4.1.2: a string whose length has a prefix of `prefix_bits`, with H above it.
inline std::uint8_t* emit_string(std::uint8_t* p, pattern to, std::string_view text, bool may_code = true) noexcept {
  const std::size_t coded = may_code ? huffman_size(text) : text.size();
  if (coded < text.size()) {
    p = emit_integer(p, static_cast<std::uint8_t>(to.high | (1U << to.prefix_bits)), to.prefix_bits, coded);
    return huffman_encode(text, p);
  }
  p = emit_integer(p, to, text.size());
  if (!text.empty()) std::memcpy(p, text.data(), text.size());
  return p + text.size();
}

inline constexpr pattern value_pattern{0x00, 7};

}  // namespace millrace::h3::qpack
