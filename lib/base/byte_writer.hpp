// base/byte_writer.hpp - a checked cursor that emits wire integers into room the caller owns.
//
// Shape    writes fail as a whole: false leaves the cursor and the bytes behind it untouched.
// Owner    nothing. Errors  false = no room. Tests  test/base/byte_writer_test.cpp
#pragma once

#include "base/bytes.hpp"
#include "base/endian.hpp"
#include "base/varint.hpp"

namespace millrace::base {

class byte_writer {
  std::uint8_t* begin_ = nullptr;
  std::uint8_t* at_ = nullptr;
  std::uint8_t* end_ = nullptr;

 public:
  constexpr byte_writer() noexcept = default;
  explicit constexpr byte_writer(byte_span room) noexcept
      : begin_(room.data()), at_(room.data()), end_(room.data() + room.size()) {}

  [[nodiscard]] std::size_t room() const noexcept { return static_cast<std::size_t>(end_ - at_); }
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(at_ - begin_); }
  [[nodiscard]] byte_span written() const noexcept { return {begin_, size()}; }

  [[nodiscard]] bool u8(std::uint8_t v) noexcept {
    if (at_ == end_) return false;
    *at_++ = v;
    return true;
  }
  [[nodiscard]] bool u16(std::uint16_t v) noexcept {
    if (room() < 2) return false;
    store_be16(at_, v);
    at_ += 2;
    return true;
  }
  [[nodiscard]] bool u24(std::uint32_t v) noexcept {
    if (room() < 3) return false;
    store_be24(at_, v);
    at_ += 3;
    return true;
  }
  [[nodiscard]] bool u32(std::uint32_t v) noexcept {
    if (room() < 4) return false;
    store_be32(at_, v);
    at_ += 4;
    return true;
  }
  [[nodiscard]] bool u64(std::uint64_t v) noexcept {
    if (room() < 8) return false;
    store_be64(at_, v);
    at_ += 8;
    return true;
  }
  // RFC 9000 16, shortest form; a value above varint_max is refused.
  [[nodiscard]] bool varint(std::uint64_t v) noexcept {
    if (v > varint_max || room() < varint_size(v)) return false;
    at_ += encode_varint(at_, v);
    return true;
  }
  [[nodiscard]] bool bytes(byte_view v) noexcept {
    if (room() < v.size()) return false;
    if (!v.empty()) std::memcpy(at_, v.data(), v.size());
    at_ += v.size();
    return true;
  }
  // Leaves `count` bytes to be filled through `out` later.
  [[nodiscard]] bool reserve(std::size_t count, byte_span& out) noexcept {
    if (room() < count) return false;
    out = {at_, count};
    at_ += count;
    return true;
  }
};

}  // namespace millrace::base
