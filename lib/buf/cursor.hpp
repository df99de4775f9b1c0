// buf/cursor.hpp - base::byte_reader across the segments of a chain.
//
// Shape    the same reads with the same answers; what lies in one segment is read in place, what crosses a boundary is
//          put together in a register or in the caller's scratch. Copying a cursor is cheap: try, then keep or discard.
// Units    bytes; offset() counts from where the cursor was made.
// Owner    nothing: it and its views die when the chain changes.
// Errors   false = not enough bytes (or scratch too small); the cursor and the output stay as they were.
// Tests    test/buf/cursor_test.cpp       Bench  bench/buf/chain_bench.cpp
#pragma once

#include <rte_mbuf.h>

#include <algorithm>

#include "base/bytes.hpp"
#include "base/endian.hpp"
#include "base/varint.hpp"

namespace millrace::buf {

class cursor {
  const std::uint8_t* at_ = nullptr;
  const std::uint8_t* end_ = nullptr;      // of the run that can be read in place
  std::size_t beyond_ = 0;                 // bytes behind that run
  std::size_t size_ = 0;                   // of everything, read or not
  const rte_mbuf* segment_ = nullptr;      // holds the run
  const std::uint8_t* tail_at_ = nullptr;  // where the chain's last segment begins: its mbuf does not say
  std::uint32_t segments_ = 0;             // left, with the one that holds the run

  friend class chain;
  cursor(base::byte_view run, std::size_t size, const rte_mbuf* segment, std::uint32_t segments,
         const std::uint8_t* tail_at) noexcept
      : at_(run.data()),
        end_(run.data() + run.size()),
        beyond_(size - run.size()),
        size_(size),
        segment_(segment),
        tail_at_(tail_at),
        segments_(segments) {}

 public:
  cursor() noexcept = default;

  [[nodiscard]] std::size_t remaining() const noexcept { return static_cast<std::size_t>(end_ - at_) + beyond_; }
  [[nodiscard]] std::size_t offset() const noexcept { return size_ - remaining(); }
  [[nodiscard]] bool empty() const noexcept { return at_ == end_ && beyond_ == 0; }
  // What can be read in place now: not empty unless the cursor is.
  [[nodiscard]] base::byte_view run() const noexcept { return {at_, static_cast<std::size_t>(end_ - at_)}; }

  // Forgets everything behind the next `count` bytes; `count` above remaining() changes nothing.
  void limit(std::size_t count) noexcept;

  [[nodiscard]] bool u8(std::uint8_t& out) noexcept {
    return number<1>(out, [](const std::uint8_t* p) { return *p; });
  }
  [[nodiscard]] bool u16(std::uint16_t& out) noexcept { return number<2>(out, base::load_be16); }
  [[nodiscard]] bool u24(std::uint32_t& out) noexcept { return number<3>(out, base::load_be24); }
  [[nodiscard]] bool u32(std::uint32_t& out) noexcept { return number<4>(out, base::load_be32); }
  [[nodiscard]] bool u64(std::uint64_t& out) noexcept { return number<8>(out, base::load_be64); }
  [[nodiscard]] bool u16_le(std::uint16_t& out) noexcept { return number<2>(out, base::load_le16); }
  [[nodiscard]] bool u32_le(std::uint32_t& out) noexcept { return number<4>(out, base::load_le32); }
  [[nodiscard]] bool u64_le(std::uint64_t& out) noexcept { return number<8>(out, base::load_le64); }
  // RFC 9000 16.
  [[nodiscard]] bool varint(std::uint64_t& out) noexcept {
    const std::size_t used = base::decode_varint(run(), out);
    if (used == 0) [[unlikely]]
      return varint_across(out);
    advance_in_run(used);
    return true;
  }
  // The next byte without taking it.
  [[nodiscard]] bool peek(std::uint8_t& out) const noexcept {
    if (at_ == end_) return false;
    out = *at_;
    return true;
  }
  // The next `count` bytes as one run: in place when they lie in one segment, else copied into `scratch`.
  [[nodiscard]] bool bytes(std::uint64_t count, base::byte_view& out, base::byte_span scratch) noexcept {
    if (count > static_cast<std::size_t>(end_ - at_)) [[unlikely]]
      return bytes_across(count, out, scratch);
    out = {at_, static_cast<std::size_t>(count)};
    advance_in_run(static_cast<std::size_t>(count));
    return true;
  }
  [[nodiscard]] bool skip(std::uint64_t count) noexcept {
    if (count < static_cast<std::size_t>(end_ - at_)) [[likely]] {
      at_ += count;
      return true;
    }
    return skip_across(count);
  }
  // Fills `out` from the next bytes, or reads nothing.
  [[nodiscard]] bool copy(base::byte_span out) noexcept;
  // Views of the next bytes, in order, without taking them; answers how many. Fewer bytes than remaining() when
  // `parts` is too short: compare the size of base::segments{parts}.
  [[nodiscard]] std::size_t gather(std::span<base::byte_view> parts) const noexcept;

 private:
  template <std::size_t Width, class Int, class Load>
  [[nodiscard]] bool number(Int& out, Load load) noexcept {
    if (static_cast<std::size_t>(end_ - at_) >= Width) [[likely]] {
      out = load(at_);
      advance_in_run(Width);
      return true;
    }
    std::uint8_t whole[Width];
    if (!copy(whole)) return false;
    out = load(whole);
    return true;
  }
  // Keeps the promise of run(): the next segment is entered as soon as this one is read.
  void advance_in_run(std::size_t count) noexcept {
    at_ += count;
    if (at_ == end_ && beyond_ != 0) [[unlikely]]
      next_run();
  }
  void next_run() noexcept;
  [[nodiscard]] bool varint_across(std::uint64_t& out) noexcept;
  [[nodiscard]] bool bytes_across(std::uint64_t count, base::byte_view& out, base::byte_span scratch) noexcept;
  [[nodiscard]] bool skip_across(std::uint64_t count) noexcept;
};

}  // namespace millrace::buf
