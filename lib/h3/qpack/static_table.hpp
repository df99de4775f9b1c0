// h3/qpack/static_table.hpp - the 99 fields every peer knows, by index and by what they say.
//
// Shape    static_at(index) reads; find_static(name, value) answers where a field stands in it, in constant time.
// Owner    constants: the views live for ever.
// Errors   find: no_static where nothing matches. An index from a peer is checked against static_table_size first.
// Source   RFC 9204 3.1, appendix A. Tests  test/h3/qpack/static_table_test.cpp
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::h3::qpack {

inline constexpr std::uint8_t static_table_size = 99;
inline constexpr std::uint8_t no_static = 0xFF;

struct static_field {
  std::string_view name;
  std::string_view value;
};

struct static_match {
  std::uint8_t name = no_static;   // the first entry of this name
  std::uint8_t field = no_static;  // the entry of this name and value
};

// `index` below static_table_size.
[[nodiscard]] const static_field& static_at(std::size_t index) noexcept;

[[nodiscard]] static_match find_static(std::string_view name, std::string_view value) noexcept;

}  // namespace millrace::h3::qpack
