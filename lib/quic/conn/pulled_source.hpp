// quic/conn/pulled_source.hpp - a body of any length on a stream: pulled from its source block by block, as
// acknowledgements make room.
//
// Shape    s.source = &body.buffer(); body.pump(c, s), and again from application::on_writable(), and when a source
// that
//          had nothing has some. The stream is finished with the body's end.
// Memory   blocks that are not acknowledged: `limits.pause_bytes` and one block at most, whatever the body's length.
//          That is also what is in flight at most, so it bounds the rate over a long way.
// Owner    the object, which outlives its stream's sending part. The source is borrowed.
// Errors   a source that fails, or ends before the length that was promised: the stream is reset with `code`, never
//          ended short. No memory, or nothing there yet: `wait_memory`, `wait_source`; the caller pumps again.
// Threads  one lcore. Tests  test/quic/sim/source_test.cpp
#pragma once

#include "buf/stream_sender.hpp"
#include "quic/conn/chain_source.hpp"

namespace millrace::quic::conn {

class pulled_source {
  chain_source out_;
  buf::stream_sender from_;
  std::uint64_t failed_code_;
  bool over_ = false;

 public:
  // Four blocks of 64 KiB; a block is pulled when one has been acknowledged.
  static constexpr buf::pipe_limits default_limits{
      .pause_bytes = 4 * buf::large_block_bytes, .resume_bytes = 3 * buf::large_block_bytes + 1, .pause_segments = 0};

  pulled_source(buf::pull_source from, const buf::stream_sender_config& body, std::uint64_t failed_code,
                const buf::pipe_limits& limits = default_limits) noexcept
      : out_({}, limits), from_(from, body), failed_code_(failed_code) {}

  [[nodiscard]] chain_source& buffer() noexcept { return out_; }
  [[nodiscard]] std::uint64_t pulled_bytes() const noexcept { return from_.sent(); }

  buf::send_status pump(connection& c, live_stream& s) noexcept {
    const buf::send_status got = from_.into(out_.pipe());
    static_cast<void>(out_.submit(c, s));
    if (over_) return got;
    if (got == buf::send_status::done) {
      over_ = true;
      c.finish(s);
    } else if (got == buf::send_status::short_source || got == buf::send_status::failed) {
      over_ = true;
      c.reset(s, failed_code_);
    }
    return got;
  }
};

}  // namespace millrace::quic::conn
