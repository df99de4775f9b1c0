// srmp/stream_batch.hpp - frames for one peer, laid into the pipe of a stream where they will be sent from.
//
// Shape    what frame_batch is to datagrams: claim() room for a payload, write there, commit(). A frame that fits a
//          block of the pipe is written in place; one that does not, and one whose size its writer does not know yet,
//          is written into the spill and copied from there, once.
// Units    bytes of payload, at most wire::max_short_payload: frames are in short form.
// Owner    nothing: pipe and spill are the caller's. Nothing else writes to the pipe between claim() and commit().
// Errors   claim(): empty when the frame is too long, or no block is free. commit(): false likewise; lost() tells
//          which. lost_memory() remembers that a frame did not go for want of a block: on a stream that cannot be
//          ignored.
// Threads  one. Tests  test/srmp/stream_batch_test.cpp
#pragma once

#include "buf/pipe.hpp"
#include "srmp/frame_batch.hpp"

namespace millrace::srmp {

class stream_batch {
  static constexpr std::size_t header_size = wire::short_header_size;

  buf::pipe& out_;
  std::size_t block_bytes_;
  base::byte_span spill_;
  base::byte_span claim_;  // header and payload; empty when nothing is claimed
  std::uint64_t frames_ = 0;
  lost_frame lost_ = lost_frame::none;
  bool spilled_ = false;
  bool lost_memory_ = false;

  base::byte_span refuse(lost_frame why) noexcept {
    lost_ = why;
    lost_memory_ = lost_memory_ || why == lost_frame::no_buffer;
    claim_ = {};
    return {};
  }

 public:
  static constexpr std::size_t spill_bytes = header_size + wire::max_short_payload;

  // `block_bytes`: of the pipe's mbufs. The spill has spill_bytes, or claims get less.
  stream_batch(buf::pipe& out, std::size_t block_bytes, base::byte_span spill) noexcept
      : out_(out), block_bytes_(block_bytes), spill_(spill) {}
  stream_batch(const stream_batch&) = delete;
  stream_batch& operator=(const stream_batch&) = delete;

  // Room for a payload of up to `size` bytes.
  [[nodiscard]] base::byte_span claim(std::size_t size) noexcept {
    if (size > wire::max_short_payload || header_size + size > std::max(block_bytes_, spill_.size()))
      return refuse(lost_frame::too_large);
    spilled_ = header_size + size > block_bytes_;
    const base::byte_span room = spilled_ ? spill_ : out_.get_span(header_size + size);
    if (room.empty()) [[unlikely]]
      return refuse(lost_frame::no_buffer);
    claim_ = room.first(header_size + size);
    return claim_.subspan(header_size);
  }
  // Room for as long a payload as can be.
  [[nodiscard]] base::byte_span claim_any() noexcept {
    if (spill_.size() <= header_size) return refuse(lost_frame::too_large);
    spilled_ = true;
    claim_ = spill_.first(std::min(spill_.size(), spill_bytes));
    return claim_.subspan(header_size);
  }
  // The first `size` bytes of what was claimed are a frame's payload.
  [[nodiscard]] bool commit(std::uint8_t flags, std::uint8_t seq, std::size_t size) noexcept {
    if (claim_.empty() || size > claim_.size() - header_size) return false;
    base::store_le32(claim_.data(),
                     std::uint32_t{flags} | std::uint32_t{seq} << 8 | static_cast<std::uint32_t>(size) << 16);
    const base::byte_view whole = claim_.first(header_size + size);
    claim_ = {};
    if (spilled_) {
      if (out_.write(whole) == buf::flow::exhausted) [[unlikely]] {
        refuse(lost_frame::no_buffer);
        return false;
      }
    } else {
      static_cast<void>(out_.advance(whole.size()));
      out_.commit();
    }
    ++frames_;
    return true;
  }

  [[nodiscard]] lost_frame lost() const noexcept { return lost_; }  // why the last refused claim or commit was
  [[nodiscard]] bool lost_memory() const noexcept { return lost_memory_; }
  [[nodiscard]] std::uint64_t frames() const noexcept { return frames_; }
};

}  // namespace millrace::srmp
