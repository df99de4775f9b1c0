// buf/stream_sender.hpp - sends a body of any length from a source, block by block, in a bounded number of blocks.
//
// Shape    next() gives one block while the consumer has credit for it: blocks of 64 KiB (block_bytes), the last one
// shorter.
//          The consumer gives credit back with grant() as it finishes with bytes, so at most credit_bytes of the body
//          exist at a time, whatever its length. into() lets a pipe's marks be the credit instead.
// Units    bytes. The length is known beforehand, or the body goes to the source's end.
// Owner    a block is the caller's. The source is borrowed.
// Errors   a source that ends before a known length is `short_source`: the peer was promised more, so the caller resets
//          the stream or connection (srmp.md section 8, [ours]); never a silently short body. done, short_source and
//          failed are final; the rest can be asked again. Bytes of the source beyond a known length are not read.
// Threads  one lcore.
// Tests    test/buf/stream_sender_test.cpp       Bench  bench/buf/stream_bench.cpp
#pragma once

#include "buf/pipe.hpp"
#include "buf/pull_source.hpp"

namespace millrace::buf {

enum class send_status : std::uint8_t {
  block,         // here is one; there may be more
  wait_credit,   // after grant(), or when the pipe is open again
  wait_source,   // it has nothing yet
  wait_memory,   // no block or mbuf is free
  done,          // all of it was given
  short_source,  // the source ended before the length that was promised
  failed,        // the source failed
  closed,        // into(): nobody reads the pipe any more
};

struct stream_sender_config {
  static constexpr std::uint64_t to_the_end = UINT64_MAX;
  std::uint64_t length = to_the_end;
  std::uint32_t block_bytes = large_block_bytes;  // 1..65536; less where credit_bytes is less
  std::uint64_t credit_bytes = 2 * std::uint64_t{large_block_bytes};
};

class stream_sender {
  pull_source source_;
  std::uint64_t left_;  // to_the_end: not known
  std::uint64_t credit_;
  std::uint64_t sent_ = 0;
  std::uint32_t block_bytes_;
  send_status final_ = send_status::block;  // until one of the final answers

 public:
  explicit stream_sender(pull_source source, const stream_sender_config& config = {}) noexcept
      : source_(source),
        left_(config.length),
        credit_(config.credit_bytes),
        block_bytes_(static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
            std::min<std::uint64_t>(config.block_bytes, config.credit_bytes), 1, large_block_bytes))) {}

  // The consumer is done with `bytes` of what it got (or allows that many more).
  void grant(std::uint64_t bytes) noexcept { credit_ = bytes > UINT64_MAX - credit_ ? UINT64_MAX : credit_ + bytes; }
  [[nodiscard]] std::uint64_t credit() const noexcept { return credit_; }
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }

  // One block into `out` (`block`), or why there is none; `out` is then untouched.
  [[nodiscard]] send_status next(packet& out) noexcept;
  // Blocks into the pipe until it is paused (`wait_credit`), or what next() says. Credit is not looked at.
  [[nodiscard]] send_status into(pipe& target) noexcept;

 private:
  [[nodiscard]] send_status pull(packet& out) noexcept;
  [[nodiscard]] send_status finish(send_status how) noexcept { return final_ = how; }
  [[nodiscard]] std::uint32_t wanted() const noexcept {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(block_bytes_, left_));
  }
};

}  // namespace millrace::buf
