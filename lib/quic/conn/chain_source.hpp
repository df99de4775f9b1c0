// quic/conn/chain_source.hpp - the send buffer of a stream whose bytes are made as it goes: a pipe that is read by
// offset, and emptied by acknowledgements.
//
// Shape    whoever produces writes into pipe() as into any other (spans, copies, packets, chains), then calls submit();
//          the connection borrows the bytes by their offset, again when a packet was lost, and released() frees what is
//          acknowledged, in order.
//              s.source = &out; out.pipe().write(bytes); out.submit(c, s);
// Flow     the pipe's marks: paused when so much waits to be acknowledged, open again below the lower one. That is what
//          ties a producer to the peer: application::on_writable() comes with each acknowledgement, and is_open() says
//          whether to go on. Nothing is refused and nothing dropped; what is held is the mark and what is written after
//          it was met.
// Finding  an offset is looked for from the place where the last read ended (new bytes and repeated ones have one
//          each), so that reading on is O(1); from the front, where neither helps, O(segments). Inside the segment that
//          was read last no mbuf is looked at: an offset's bytes do not move while they are held.
// Owner    the object, which outlives its stream's sending part (application::on_stream_closed()). Idle, it holds no
//          buffer.
// Errors   those of the pipe; after a reset it is `closed`, and what is written is freed.
// Threads  one lcore. Tests  test/quic/sim/source_test.cpp
#pragma once

#include "buf/pipe.hpp"
#include "quic/conn/connection.hpp"

namespace millrace::quic::conn {

class chain_source final : public send_source {
  struct place {
    const rte_mbuf* segment = nullptr;
    std::uint64_t number = 0;  // of the segment, counted from the stream's beginning
    std::uint64_t offset = 0;  // of its first byte
  };
  buf::pipe bytes_;
  std::uint64_t base_ = 0;       // offset of the first byte held
  std::uint64_t gone_ = 0;       // segments freed
  std::uint64_t submitted_ = 0;  // bytes the stream knows of
  place new_, again_;
  base::byte_view near_;           // bytes of the segment of new_, those that were there when it was found
  std::uint64_t near_offset_ = 0;  // of the first of them

  [[nodiscard]] place find(std::uint64_t offset) const noexcept;
  [[nodiscard]] unsigned borrow_far(std::uint64_t offset, std::size_t size,
                                    std::span<base::byte_view, most_source_parts> parts) noexcept;
  [[nodiscard]] base::byte_view bytes_of(const place& p) const noexcept {
    return bytes_.data().segment(p.segment, static_cast<std::uint32_t>(p.number - gone_));
  }
  [[nodiscard]] bool is_good(const place& p, std::uint64_t offset) const noexcept {
    return p.segment != nullptr && p.number >= gone_ && p.offset <= offset;
  }

 public:
  static constexpr buf::pipe_limits default_limits{
      .pause_bytes = 256 << 10, .resume_bytes = 128 << 10, .pause_segments = 1024};

  // `blocks` feeds what is written by copy, and outlives the source.
  explicit chain_source(const buf::mbuf_source& blocks, const buf::pipe_limits& limits = default_limits) noexcept
      : bytes_(limits, blocks) {}

  [[nodiscard]] buf::pipe& pipe() noexcept { return bytes_; }
  [[nodiscard]] bool is_open() const noexcept { return bytes_.state() == buf::flow::open; }
  [[nodiscard]] std::uint64_t end() const noexcept { return base_ + bytes_.size(); }  // offset behind the last byte
  [[nodiscard]] std::size_t waiting_bytes() const noexcept { return bytes_.size(); }  // not acknowledged
  [[nodiscard]] std::uint32_t segments() const noexcept { return bytes_.data().segments(); }

  // What was committed since the last call may be sent. False: the stream takes no more.
  bool submit(connection& c, live_stream& s) noexcept {
    if (bytes_.state() == buf::flow::closed) return false;
    const std::uint64_t more = take_new();
    return more == 0 || c.write(s, more);
  }
  // How many were committed since the last call, for who tells the stream otherwise (send_source::pull).
  [[nodiscard]] std::uint64_t take_new() noexcept { return end() - std::exchange(submitted_, end()); }

  [[nodiscard]] unsigned borrow(std::uint64_t offset, std::size_t size,
                                std::span<base::byte_view, most_source_parts> parts) noexcept override {
    const std::uint64_t skip = offset - near_offset_;  // huge when it lies before
    if (skip >= near_.size() || size > near_.size() - skip || size == 0 || offset < base_)
      return borrow_far(offset, size, parts);
    parts[0] = near_.subspan(static_cast<std::size_t>(skip), size);
    return 1;
  }
  void released(std::uint64_t below) noexcept override;
};

}  // namespace millrace::quic::conn
