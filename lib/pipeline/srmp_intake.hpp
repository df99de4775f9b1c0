// pipeline/srmp_intake.hpp - the frames of one SRMP connection, taken off the QUIC stream that carries it.
//
// Shape    next() until it answers `wait`, then settle(). A frame's payload is one run. Most lie in one received packet
//          and are read there; one that crosses packets is copied together, once: into the lcore's scratch when all of
//          it is there, else into a block that it keeps until it is whole. Bytes are consumed, and the peer's credit
//          given back, when a frame was handled and not before: who stops calling next() stops the peer.
// Credit   a frame of at most keep_bytes waits for its end in the stream itself. A longer one is moved to a block, so
//          that the unfinished frames of many streams cannot use up their connection's window and wait for each other.
// Large    a frame longer than `whole` is told by its header alone, not consumed: its payload is the caller's to pass
//          on or drop.
// Owner    views live until the next call of any intake of the store. Blocks go back by settle() and abandon().
// Limits   intake_limits; as many blocks as the store has: without one a frame waits in the stream, counted.
// Errors   `malformed` is final; why() says the reason.
// Threads  one lcore. Source  the SRMP sheet, 1 and 2. Tests  test/pipeline/srmp_streams_test.cpp
#pragma once

#include "mem/object_pool.hpp"
#include "mem/region.hpp"
#include "quic/conn/connection.hpp"
#include "srmp/wire/frame.hpp"
#include "stats/drop_counters.hpp"

namespace millrace::pipeline {

struct intake_limits {
  std::uint32_t whole = srmp::wire::max_short_payload;  // longest payload given as one run; at most that
  std::uint32_t ceiling = srmp::wire::default_ceiling;  // longest payload at all
  std::uint32_t keep_bytes = 4096;                      // of an unfinished frame, left in the stream
};

// What the intakes of one lcore share.
class intake_store {
 public:
  static constexpr std::size_t frame_bytes = srmp::wire::long_header_size + srmp::wire::max_short_payload;
  struct block {
    std::array<std::uint8_t, frame_bytes> bytes;
    block() noexcept {}  // not zeroed: it is written before it is read
  };
  intake_limits limits;
  stats::counter copied_frames;  // crossed packets
  stats::counter without_block;

  [[nodiscard]] static base::result<std::unique_ptr<intake_store>> make(const intake_limits& limits,
                                                                        std::uint32_t blocks);
  [[nodiscard]] mem::object_pool<block>& blocks() noexcept { return blocks_; }
  [[nodiscard]] base::byte_span scratch() noexcept { return scratch_.array<std::uint8_t>(); }

 private:
  mem::object_pool<block> blocks_;
  mem::region scratch_;
  intake_store(const intake_limits& l, mem::object_pool<block> blocks, mem::region scratch) noexcept
      : limits(l), blocks_(std::move(blocks)), scratch_(std::move(scratch)) {}
};

enum class intake_found : std::uint8_t { frame, large, wait, malformed };

class srmp_intake {
  intake_store* store_;
  intake_store::block* block_ = nullptr;
  std::uint32_t have_ = 0;  // bytes of the frame in the block
  std::uint32_t need_ = 0;
  std::uint32_t used_ = 0;  // bytes of the stream that were handled and not consumed yet
  bool crossing_ = false;   // they are of several packets
  srmp::wire::header_errc why_ = srmp::wire::header_errc::ok;

 public:
  explicit srmp_intake(intake_store& store) noexcept : store_(&store) {}
  srmp_intake(const srmp_intake&) = delete;
  srmp_intake& operator=(const srmp_intake&) = delete;
  ~srmp_intake() { abandon(); }

  // `out` is written for `frame`; its header for `large`.
  [[nodiscard]] intake_found next(quic::conn::connection& c, quic::conn::live_stream& s,
                                  srmp::wire::frame& out) noexcept {
    if (!crossing_ && block_ == nullptr) [[likely]] {
      const base::byte_view front = s.recv.front().subspan(used_);
      srmp::wire::frame_header header;
      if (front.size() >= srmp::wire::long_header_size &&
          srmp::wire::decode_header_in_stream(base::load_le64(front.data()), store_->limits.whole, header) &&
          header.frame_size() <= front.size()) [[likely]] {
        out = {header, front.subspan(header.header_size, header.payload_size)};
        used_ += header.frame_size();
        return intake_found::frame;
      }
    }
    return next_slowly(c, s, out);
  }
  // What next() gave is done with. Before anything else is done to the stream's receiving part.
  void settle(quic::conn::connection& c, quic::conn::live_stream& s) noexcept {
    if (block_ != nullptr && have_ == need_) abandon();
    crossing_ = false;
    if (used_ != 0) c.consume(s, std::exchange(used_, 0));
  }
  // Forgets an unfinished frame.
  void abandon() noexcept {
    store_->blocks().give(std::exchange(block_, nullptr));
    have_ = need_ = used_ = 0;
    crossing_ = false;
  }
  // Bytes of a frame are there, and its end is not. After settle().
  [[nodiscard]] bool is_inside(const quic::conn::live_stream& s) const noexcept {
    return block_ != nullptr || s.recv.readable() != 0;
  }
  [[nodiscard]] srmp::wire::header_errc why() const noexcept { return why_; }

 private:
  [[nodiscard]] intake_found next_slowly(quic::conn::connection& c, quic::conn::live_stream& s,
                                         srmp::wire::frame& out) noexcept;
  [[nodiscard]] intake_found fill(quic::conn::connection& c, quic::conn::live_stream& s,
                                  srmp::wire::frame& out) noexcept;
};

}  // namespace millrace::pipeline
