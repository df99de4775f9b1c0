// buf/limited_reader.hpp - the reader of one body inside a pipe: sees its length and not a byte more.
//
// Shape    header-first delivery: who parsed a header hands out a limited_reader for the body that follows it, before
//          the body has arrived. What its reader leaves is drained, so that the pipe stands at the next header.
// Units    bytes; remaining() is what the body still has, arrived or not.
// Owner    nothing: it borrows the pipe, which outlives it, and is the pipe's only reader meanwhile. 16 bytes, copied
//          freely, but one copy is used.
// Errors   a body of 0, or read to its end, is `ended` with an empty window. A stream that ends before the body does is
//          `truncated` (never `ended`), one that failed is `failed`. Reaching beyond the body is `false`, nothing
//          changed.
// Threads  one lcore.
// Tests    test/buf/limited_reader_test.cpp       Bench  bench/buf/pipe_bench.cpp
#pragma once

#include "buf/pipe.hpp"

namespace millrace::buf {

class limited_reader {
  pipe* from_ = nullptr;
  std::uint64_t remaining_ = 0;

 public:
  limited_reader() noexcept = default;
  limited_reader(pipe& from, std::uint64_t body_bytes) noexcept : from_(&from), remaining_(body_bytes) {}

  [[nodiscard]] std::uint64_t remaining() const noexcept { return remaining_; }
  // What the window holds.
  [[nodiscard]] std::size_t available() const noexcept {
    if (from_ == nullptr) return 0;
    return static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, from_->size()));
  }
  // `ended` as soon as the window holds all that is left.
  [[nodiscard]] read_status poll() noexcept {
    if (remaining_ <= available()) return read_status::ended;
    const read_status status = from_->poll();
    return status == read_status::ended ? read_status::truncated : status;
  }
  [[nodiscard]] cursor window() const noexcept {
    if (from_ == nullptr) return {};
    cursor in = from_->window();
    in.limit(available());
    return in;
  }
  // pipe::advance_to() inside the body.
  [[nodiscard]] bool advance_to(std::size_t consumed, std::size_t examined) noexcept {
    if (consumed > examined || examined > available() || from_ == nullptr) return false;
    remaining_ -= consumed;  // first: the pipe may call back
    if (from_->advance_to(consumed, examined)) return true;
    remaining_ += consumed;
    return false;
  }
  [[nodiscard]] bool consume(std::size_t count) noexcept { return advance_to(count, count); }
  // pipe::take() inside the body.
  [[nodiscard]] bool take(std::size_t count, chain& out) noexcept {
    if (count > available() || from_ == nullptr) return false;
    remaining_ -= count;
    if (from_->take(count, out)) return true;
    remaining_ += count;
    return false;
  }
  // Frees what has arrived of the body; answers what is still to come. Call again on on_readable until that is 0 (or
  // poll() says that it will not come).
  std::uint64_t drain() noexcept {
    if (from_ == nullptr) return 0;
    const bool consumed = consume(available());
    MILLRACE_ASSERT(consumed);
    static_cast<void>(consumed);
    return remaining_;
  }
};

}  // namespace millrace::buf
