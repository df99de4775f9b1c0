// srmp/frame_batch.hpp - frames for one peer, laid into datagrams where they will be sent from.
//
// Shape    claim(n) answers room for a payload of up to n bytes behind a header's worth of room; whoever claimed writes
//          there and calls commit(flags, seq, size). A frame that no longer fits closes the datagram and begins
//          another. claim_any() is for a payload whose size its writer does not know yet: the rest of a fresh datagram,
//          or, when the datagram has frames already, the spill, whose content is copied to where it fits: a copy of one
//          small frame instead of a datagram left half empty.
// Owner    the sink owns the datagrams: open() lends room (a packet behind its headers), close(n) sends the first n
//          bytes of it. The batch closes what it opened when it is flushed and when it dies. The spill is the caller's.
// Units    bytes of UDP payload. batch_bytes is the datagram size that frames are gathered up to; one frame alone may
//          be as large as the room the sink opens.
// Limits   frames in short form: a datagram holds no other. One claim at a time; a claim not committed is forgotten.
// Errors   claim(): empty when the frame fits no datagram, or the sink has none left. commit(): false likewise, the
//          frame is lost. lost() tells the two apart. Threads  one.
// Tests    test/srmp/frame_batch_test.cpp
#pragma once

#include <concepts>
#include <cstring>

#include "srmp/wire/frame_header.hpp"

namespace millrace::srmp {

// open() lends room for one datagram's payload, at least the batch's batch_bytes; empty when no buffer is free. A sink
// that has open_large(size) lends room for a frame too large for open()'s there; what open() lent is given back first.
// close(size) takes it back: the first `size` bytes are to be sent; 0: nothing was written, keep or free the buffer.
template <class Sink>
concept datagram_sink = requires(Sink& sink, std::size_t size) {
  { sink.open() } noexcept -> std::same_as<base::byte_span>;
  { sink.close(size) } noexcept;
};

enum class lost_frame : std::uint8_t { none, too_large, no_buffer };

template <datagram_sink Sink>
class frame_batch {
  static constexpr std::size_t header_size = wire::short_header_size;

  Sink& sink_;
  std::size_t batch_bytes_;
  base::byte_span spill_;
  base::byte_span room_;   // of the datagram that is open; empty when none is
  std::size_t used_ = 0;   // bytes of frames in it
  base::byte_span claim_;  // header and payload; empty when nothing is claimed
  lost_frame lost_ = lost_frame::none;
  bool spilled_ = false;
  std::uint64_t datagrams_ = 0;

  base::byte_span refuse(lost_frame why) noexcept {
    lost_ = why;
    claim_ = {};
    return {};
  }
  // Room for a whole frame of `size` bytes in a datagram, a fresh one when need be.
  [[nodiscard]] bool make_room(std::size_t size) noexcept {
    if (used_ != 0 && used_ + size > batch_bytes_) close();
    if (room_.empty()) room_ = sink_.open();
    if constexpr (requires { sink_.open_large(size); }) {
      if (size > room_.size() && used_ == 0 && !room_.empty()) [[unlikely]] {
        sink_.close(0);
        room_ = sink_.open_large(size);
      }
    }
    return size <= room_.size() - used_;
  }
  [[nodiscard]] lost_frame reason() const noexcept {
    return room_.empty() ? lost_frame::no_buffer : lost_frame::too_large;
  }
  void close() noexcept {
    if (room_.empty()) return;
    sink_.close(used_);
    datagrams_ += used_ != 0 ? 1 : 0;
    room_ = {};
    used_ = 0;
  }

 public:
  // One frame a datagram when batch_bytes is 0. The spill is as large as the largest datagram, or claim_any() answers
  // less.
  frame_batch(Sink& sink, std::size_t batch_bytes, base::byte_span spill) noexcept
      : sink_(sink), batch_bytes_(batch_bytes), spill_(spill) {}
  frame_batch(const frame_batch&) = delete;
  frame_batch& operator=(const frame_batch&) = delete;
  ~frame_batch() { close(); }

  // Room for a payload of exactly up to `size` bytes.
  [[nodiscard]] base::byte_span claim(std::size_t size) noexcept {
    if (size > wire::max_short_payload) return refuse(lost_frame::too_large);
    if (!make_room(header_size + size)) [[unlikely]]
      return refuse(reason());
    spilled_ = false;
    claim_ = room_.subspan(used_, header_size + size);
    return claim_.subspan(header_size);
  }

  // Room for a payload of as many bytes as a datagram of its own can hold.
  [[nodiscard]] base::byte_span claim_any() noexcept {
    if (room_.empty()) room_ = sink_.open();
    if (room_.empty()) return refuse(lost_frame::no_buffer);
    spilled_ = used_ != 0;
    claim_ = spilled_ ? spill_ : room_;
    if (claim_.size() <= header_size) return refuse(lost_frame::too_large);
    if (claim_.size() > header_size + wire::max_short_payload)
      claim_ = claim_.first(header_size + wire::max_short_payload);
    return claim_.subspan(header_size);
  }

  // The first `size` bytes of what was claimed are a frame's payload.
  [[nodiscard]] bool commit(std::uint8_t flags, std::uint8_t seq, std::size_t size) noexcept {
    if (claim_.empty() || size > claim_.size() - header_size) return false;
    if (spilled_) {
      if (!make_room(header_size + size)) {
        refuse(reason());
        return false;
      }
      if (size != 0) std::memcpy(room_.data() + used_ + header_size, claim_.data() + header_size, size);
    }
    const std::uint32_t header =
        std::uint32_t{flags} | std::uint32_t{seq} << 8 | static_cast<std::uint32_t>(size) << 16;
    base::store_le32(room_.data() + used_, header);
    used_ += header_size + size;
    claim_ = {};
    if (used_ >= batch_bytes_) close();
    return true;
  }

  // Closes the datagram that is open, if any.
  void flush() noexcept { close(); }

  [[nodiscard]] lost_frame lost() const noexcept { return lost_; }  // why the last refused claim or commit was
  [[nodiscard]] std::uint64_t datagrams() const noexcept { return datagrams_; }  // closed with something in them
};

}  // namespace millrace::srmp
