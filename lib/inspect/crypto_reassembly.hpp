// inspect/crypto_reassembly.hpp - the CRYPTO streams of handshakes under observation, put together in any order.
//
// Shape    a crypto_stream is an ordered set of byte ranges over blocks from one shared store. add() takes a frame,
//          prefix() tells how many bytes from offset 0 are there without a hole, copy_out() hands them over.
// Units    bytes of the CRYPTO stream, from 0.
// Owner    blocks are the store's until release(); frames are copied in, because their packet is gone by the next one.
// Limits   `stream_bytes` of one stream, max_hello_ranges ranges of one stream, blocks in all.
// Errors   reassembly_errc; whatever is not `ok` left the stream as it was. A conflict keeps what came first, as a
//          receiver that had already consumed it would.
// Source   RFC 9000 7.5, 19.6, 2.2 (data at an offset must not change). Tests  test/inspect/crypto_reassembly_test.cpp
#pragma once

#include "base/bytes.hpp"
#include "inspect/aged_pool.hpp"
#include "inspect/limits.hpp"

namespace millrace::inspect {

enum class reassembly_errc : std::uint8_t {
  ok,
  conflict,  // overlaps what is there with different bytes
  too_far,   // ends beyond stream_bytes
  full,      // no block is free, or the ranges would be too many
};

struct crypto_stream {
  struct range {
    std::uint32_t begin;
    std::uint32_t end;
  };
  std::array<range, max_hello_ranges> ranges;                // ascending, neither overlapping nor touching
  std::array<std::uint32_t, max_hello_blocks> blocks_and_1;  // 0: no block for these bytes yet
  std::uint32_t range_count;

  [[nodiscard]] std::uint32_t prefix() const noexcept {
    return range_count != 0 && ranges[0].begin == 0 ? ranges[0].end : 0;
  }
};

class crypto_reassembly {
 public:
  using block = std::array<std::uint8_t, hello_block_bytes>;

 private:
  std::span<block> blocks_;
  std::span<std::uint32_t> next_and_1_;  // of the free list, beside the blocks so that those stay untouched
  std::uint32_t free_and_1_ = 0;
  std::uint32_t untouched_ = 0;
  std::uint32_t in_use_ = 0;
  std::uint32_t stream_bytes_ = 0;

  [[nodiscard]] std::uint32_t free_count() const noexcept {
    return static_cast<std::uint32_t>(blocks_.size()) - in_use_;
  }
  [[nodiscard]] std::uint32_t take_block() noexcept;
  [[nodiscard]] bool same_bytes(const crypto_stream& s, std::uint32_t at, base::byte_view data) const noexcept;
  [[nodiscard]] bool contradicts(const crypto_stream& s, std::uint32_t at, base::byte_view data) const noexcept;

 public:
  crypto_reassembly() noexcept = default;
  crypto_reassembly(carver& memory, const limits& l) noexcept
      : crypto_reassembly(memory, l.hello_blocks, l.hello_bytes) {}
  crypto_reassembly(carver& memory, std::uint32_t blocks, std::uint32_t stream_bytes) noexcept;

  // A stream whose bytes are all zero is an empty one.
  [[nodiscard]] reassembly_errc add(crypto_stream& s, std::uint64_t offset, base::byte_view data) noexcept;
  // The first `count` <= prefix() bytes.
  void copy_out(const crypto_stream& s, std::uint32_t count, std::uint8_t* out) const noexcept {
    copy_out(s, 0, count, out);
  }
  // `count` bytes from `from` on; their end is not beyond prefix().
  void copy_out(const crypto_stream& s, std::uint32_t from, std::uint32_t count, std::uint8_t* out) const noexcept;
  void release(crypto_stream& s) noexcept;
  // Clears the bytes of all blocks that were ever taken: the last call.
  void wipe() noexcept;

  [[nodiscard]] std::uint32_t blocks_in_use() const noexcept { return in_use_; }
  [[nodiscard]] std::uint32_t stream_bytes() const noexcept { return stream_bytes_; }
};

}  // namespace millrace::inspect
