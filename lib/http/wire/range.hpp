// http/wire/range.hpp - parts of a resource, by bytes.
//
// Shape    parse_range() reads a Range field against the size the resource has. One range is answered as 206 with
//          Content-Range; several, which a server may answer as it likes (RFC 9110 14.2), are answered as the whole:
//          many ranges, or overlapping ones, are how servers are made to send a resource over and over (RFC
//          9110 17.15).
// Units    bytes; `first` and `last` are both part of the range.
// Source   RFC 9110 14.1 14.2 14.4. Tests  test/http/wire/range_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace millrace::http::wire {

enum class range_verdict : std::uint8_t {
  whole,            // no range, one that cannot be read, of other units, or several: 200
  part,             // 206
  not_satisfiable,  // 416
};

struct byte_range {
  range_verdict verdict = range_verdict::whole;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
[[nodiscard]] byte_range parse_range(std::string_view value, std::uint64_t size) noexcept;

// "bytes 0-99/1234", or "bytes */1234" for 416.
inline constexpr std::size_t content_range_size_max = 6 + 3 * 20 + 2;
struct content_range_text {
  std::array<char, content_range_size_max> chars;
  std::size_t size;
  [[nodiscard]] std::string_view view() const noexcept { return {chars.data(), size}; }
};
[[nodiscard]] content_range_text emit_content_range(const byte_range& range, std::uint64_t size) noexcept;

}  // namespace millrace::http::wire
