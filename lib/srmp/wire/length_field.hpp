// srmp/wire/length_field.hpp - frames whose length stands in front of them: the simplest codec of the same stack.
//
//   [ `offset` bytes, sent as zeros ][ length: 1, 2 or 4 bytes, or a varint ][ payload ]
//
// Shape    parse_length_field() is resumable: done, need_more (with the bytes needed in all), or malformed.
//          The length counts the payload alone. A varint has seven bits a byte, low group first, 0x80 = more.
// Units    bytes.
// Limits   a varint has at most five bytes; 0..max_length_offset bytes in front; a payload above `ceiling` is
// too_large. Owner    nothing. Errors  as below; `out` is written on success only. Tests
// test/srmp/wire/length_field_test.cpp (vectors L1, L2), test/fuzz/length_field_fuzz.cpp
#pragma once

#include <optional>

#include "base/bytes.hpp"
#include "base/endian.hpp"
#include "base/parse_status.hpp"
#include "base/segments.hpp"

namespace millrace::srmp::wire {

inline constexpr std::size_t max_length_offset = 64;
inline constexpr std::size_t max_length_varint = 5;
inline constexpr std::uint32_t max_length_payload = 0x7FFF'FFFF;  // four bytes are a signed number there
inline constexpr std::size_t max_length_header = max_length_offset + max_length_varint;

// Made by make() only, so that what is parsed with it need not be checked again.
class length_format {
  std::int8_t size_ = 2;
  std::uint8_t offset_ = 0;

 public:
  constexpr length_format() noexcept = default;  // two bytes, little-endian, nothing in front
  // `size` as the other stack writes it: 1, 2, 4 little-endian, -1, -2, -4 big-endian, 0 a varint. Nullopt for any
  // other.
  [[nodiscard]] static constexpr std::optional<length_format> make(int size, std::size_t offset = 0) noexcept {
    const int width = size < 0 ? -size : size;
    if ((width != 0 && width != 1 && width != 2 && width != 4) || offset > max_length_offset) return std::nullopt;
    length_format made;
    made.size_ = static_cast<std::int8_t>(size);
    made.offset_ = static_cast<std::uint8_t>(offset);
    return made;
  }

  [[nodiscard]] constexpr bool is_varint() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr bool is_big_endian() const noexcept { return size_ < 0; }
  // Bytes of the length; 0 for a varint, which says itself.
  [[nodiscard]] constexpr std::size_t width() const noexcept {
    return static_cast<std::size_t>(size_ < 0 ? -size_ : size_);
  }
  [[nodiscard]] constexpr std::size_t offset() const noexcept { return offset_; }
  // The largest payload this form can announce.
  [[nodiscard]] constexpr std::uint32_t max_payload() const noexcept {
    return width() == 1 ? 0xFF : width() == 2 ? 0xFFFF : max_length_payload;
  }
};

struct length_header {
  std::uint32_t payload_size = 0;
  std::uint32_t header_size = 0;  // all in front of the payload: offset and length

  // At most 2^31 - 1 + 69, which fits.
  [[nodiscard]] constexpr std::uint32_t frame_size() const noexcept { return header_size + payload_size; }
  friend constexpr bool operator==(const length_header&, const length_header&) noexcept = default;
};

enum class length_errc : std::uint8_t {
  ok,
  negative_length,  // the top bit of four bytes
  bad_varint,       // a fifth byte that says more, or holds more than 31 bits allow
  too_large,        // above the ceiling the caller set
};

[[nodiscard]] constexpr std::string_view to_string(length_errc code) noexcept {
  switch (code) {
    case length_errc::ok:
      return "ok";
    case length_errc::negative_length:
      return "negative_length";
    case length_errc::bad_varint:
      return "bad_varint";
    case length_errc::too_large:
      return "too_large";
  }
  return "unknown";
}

struct [[nodiscard]] length_result {
  base::progress outcome = base::progress::need_more;
  length_errc why = length_errc::ok;  // malformed: the reason
  std::uint8_t need = 0;              // need_more: bytes of header needed in all, as far as is known
};

namespace detail {

inline length_result judge_length(std::uint32_t size, std::size_t header_size, std::uint32_t ceiling,
                                  length_header& out) noexcept {
  if (size > ceiling) [[unlikely]]
    return {base::progress::malformed, length_errc::too_large, 0};
  out = {size, static_cast<std::uint32_t>(header_size)};
  return {base::progress::done, length_errc::ok, 0};
}

}  // namespace detail

// Reads the varint length at `at` of `in`. A longer form than needed is read, as the other stack does.
length_result parse_length_varint(base::byte_view in, std::size_t at, std::uint32_t ceiling,
                                  length_header& out) noexcept;

inline length_result parse_length_field(base::byte_view in, length_format format, std::uint32_t ceiling,
                                        length_header& out) noexcept {
  const std::size_t at = format.offset();
  if (format.is_varint()) return parse_length_varint(in, at, ceiling, out);
  const std::size_t header_size = at + format.width();
  if (in.size() < header_size) [[unlikely]]
    return {base::progress::need_more, length_errc::ok, static_cast<std::uint8_t>(header_size)};
  const std::uint8_t* p = in.data() + at;
  std::uint32_t size = p[0];
  if (format.width() == 2) {
    size = format.is_big_endian() ? base::load_be16(p) : base::load_le16(p);
  } else if (format.width() == 4) {
    size = format.is_big_endian() ? base::load_be32(p) : base::load_le32(p);
    if (size > max_length_payload) [[unlikely]]
      return {base::progress::malformed, length_errc::negative_length, 0};
  }
  return detail::judge_length(size, header_size, ceiling, out);
}

// The same over bytes in several buffers, `offset` bytes in; a length may be cut anywhere.
length_result parse_length_field(const base::segments& in, std::size_t offset, length_format format,
                                 std::uint32_t ceiling, length_header& out) noexcept;

// Bytes in front of a payload of that size.
[[nodiscard]] std::size_t length_header_size(length_format format, std::uint32_t payload_size) noexcept;

// Writes what stands in front of a payload; answers its bytes, or 0 (and nothing written) when the room is too small or
// the format cannot say that length.
[[nodiscard]] std::size_t emit_length_field(base::byte_span out, length_format format,
                                            std::uint32_t payload_size) noexcept;

}  // namespace millrace::srmp::wire
