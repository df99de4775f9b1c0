// base/bytes.hpp - the byte views that every room passes around.
//
// Shape    byte_view reads, byte_span writes; both are std::span and own nothing.
// Owner    whoever made the bytes; a view dies with them and says so where it is returned.
// Errors   none. Tests  test/base/bytes_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace millrace::base {

using byte_view = std::span<const std::uint8_t>;
using byte_span = std::span<std::uint8_t>;

// Characters as bytes; the view lives as long as `text`.
[[nodiscard]] inline byte_view as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Bytes as characters, unchecked: what is inside need be neither ASCII nor UTF-8.
[[nodiscard]] inline std::string_view as_text(byte_view bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace millrace::base
