// base/byte_reader.hpp - a checked cursor over contiguous bytes; the only way parsers touch input.
//
// Shape    every read answers whether it succeeded; a failed read leaves the cursor and the output as they were.
// Units    offset() and remaining() count bytes from the start of the view handed in.
// Owner    nothing; views it returns die with the bytes it reads.
// Errors   false = not enough bytes. Never reads past the end, never allocates.
// Tests    test/base/byte_reader_test.cpp
#pragma once

#include "base/bytes.hpp"
#include "base/endian.hpp"
#include "base/varint.hpp"

namespace millrace::base {

class byte_reader {
  const std::uint8_t* begin_ = nullptr;
  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;

 public:
  constexpr byte_reader() noexcept = default;
  explicit constexpr byte_reader(byte_view in) noexcept
      : begin_(in.data()), at_(in.data()), end_(in.data() + in.size()) {}

  [[nodiscard]] std::size_t remaining() const noexcept { return static_cast<std::size_t>(end_ - at_); }
  [[nodiscard]] std::uint32_t offset() const noexcept { return static_cast<std::uint32_t>(at_ - begin_); }
  [[nodiscard]] bool empty() const noexcept { return at_ == end_; }
  // What has not been read yet.
  [[nodiscard]] byte_view rest() const noexcept { return {at_, remaining()}; }

  [[nodiscard]] bool u8(std::uint8_t& out) noexcept {
    if (at_ == end_) return false;
    out = *at_++;
    return true;
  }
  [[nodiscard]] bool u16(std::uint16_t& out) noexcept {
    if (remaining() < 2) return false;
    out = load_be16(at_);
    at_ += 2;
    return true;
  }
  [[nodiscard]] bool u24(std::uint32_t& out) noexcept {
    if (remaining() < 3) return false;
    out = load_be24(at_);
    at_ += 3;
    return true;
  }
  [[nodiscard]] bool u32(std::uint32_t& out) noexcept {
    if (remaining() < 4) return false;
    out = load_be32(at_);
    at_ += 4;
    return true;
  }
  [[nodiscard]] bool u64(std::uint64_t& out) noexcept {
    if (remaining() < 8) return false;
    out = load_be64(at_);
    at_ += 8;
    return true;
  }
  // RFC 9000 16.
  [[nodiscard]] bool varint(std::uint64_t& out) noexcept {
    const std::size_t used = decode_varint(rest(), out);
    at_ += used;
    return used != 0;
  }
  // The next `count` bytes, in place. `count` is 64 bits so that a peer's length needs no narrowing before the check.
  [[nodiscard]] bool bytes(std::uint64_t count, byte_view& out) noexcept {
    if (count > remaining()) return false;
    out = {at_, static_cast<std::size_t>(count)};
    at_ += count;
    return true;
  }
  [[nodiscard]] bool skip(std::uint64_t count) noexcept {
    if (count > remaining()) return false;
    at_ += count;
    return true;
  }
  // The next byte without taking it.
  [[nodiscard]] bool peek(std::uint8_t& out) const noexcept {
    if (at_ == end_) return false;
    out = *at_;
    return true;
  }
};

}  // namespace millrace::base
