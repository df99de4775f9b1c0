// srmp/frame_pump.hpp - the frames of one connection, taken off a pipe: header first, or whole.
//
// Shape    next_header() delivers a header as soon as its 4 or 8 bytes are there and binds body() to exactly the
//          payload that follows, arrived or not. next_whole() waits for the last byte and cuts the frame out, uncopied.
//          Either first drains what the last body's reader left, so that the next header is never a piece of a payload.
//          Both may be mixed. Call again until the answer is not `ready`; after `wait`, when the pipe's on_readable
//          fires.
// Units    bytes.
// Owner    borrows the pipe, which outlives it, and is its only reader (body() reads for it). A whole frame belongs to
//          the caller and keeps its mbufs alive. Nothing is allocated.
// Limits   a payload above the mode's ceiling is malformed: 16 MiB whole, 2^31 - 1 streamed, unless told otherwise.
//          A frame longer than the pipe's pause mark is no deadlock: who waits for it un-pauses the pipe.
// Errors   pump_status. malformed is final: no later boundary is guessed. The connection is then to be closed, after
//          what is queued for it was sent.
// Threads  one lcore.
// Tests    test/srmp/frame_pump_test.cpp     Bench  bench/srmp/frame_pump_bench.cpp
#pragma once

#include "buf/limited_reader.hpp"
#include "srmp/wire/frame_header.hpp"

namespace millrace::srmp {

enum class pump_status : std::uint8_t {
  ready,      // a header, or a frame
  wait,       // more bytes are needed; the pipe's on_readable will be called once
  ended,      // the stream ended between two frames
  truncated,  // it ended inside a header or a payload
  failed,     // the writer's stream broke: pipe::error() says why
  malformed,  // why() says the reason; final
  exhausted,  // next_whole() only: too many frames of one mbuf are still held. Free some and call again
  closed,     // the pipe's reader side is done
};

[[nodiscard]] std::string_view to_string(pump_status status) noexcept;

struct pump_limits {
  std::uint32_t whole = wire::default_ceiling;  // largest payload that next_whole() takes
  std::uint32_t streamed = wire::max_payload;   // and next_header()
};

struct whole_frame {
  wire::frame_header header;
  buf::chain bytes;  // header and payload

  // Steps over the header: `bytes` is the payload afterwards. Once.
  void drop_header() noexcept { bytes.consume(header.header_size); }
};

class frame_pump {
  buf::pipe* from_;
  buf::limited_reader body_;
  pump_limits limits_;
  wire::header_errc why_ = wire::header_errc::ok;

 public:
  explicit frame_pump(buf::pipe& from, const pump_limits& limits = {}) noexcept
      : from_(&from), limits_{wire::clamp_ceiling(limits.whole), wire::clamp_ceiling(limits.streamed)} {}

  // `out` is written when ready; body() then reads the payload.
  [[nodiscard]] pump_status next_header(wire::frame_header& out) noexcept {
    const base::byte_view front = from_->front();
    wire::frame_header header;
    if (can_look(front) && wire::decode_header_in_stream(base::load_le64(front.data()), limits_.streamed, header) &&
        bind_body(header)) [[likely]] {
      out = header;
      return pump_status::ready;
    }
    return next_header_slowly(out);
  }
  // The payload of the header delivered last. A stream that ends before the payload does is `truncated` there, whatever
  // was read of it.
  [[nodiscard]] buf::limited_reader& body() noexcept { return body_; }

  // `out` is written when ready, and loses what it held.
  [[nodiscard]] pump_status next_whole(whole_frame& out) noexcept {
    const base::byte_view front = from_->front();
    wire::frame_header header;
    if (can_look(front) && wire::decode_header_in_stream(base::load_le64(front.data()), limits_.whole, header) &&
        header.frame_size() <= from_->size() && from_->take(header.frame_size(), out.bytes)) [[likely]] {
      out.header = header;
      return pump_status::ready;
    }
    return next_whole_slowly(out);
  }

  [[nodiscard]] wire::header_errc why() const noexcept { return why_; }
  // Bytes of a frame are there, and its end is not, as of the last call: what a wire::partial_timer watches.
  [[nodiscard]] bool is_inside_frame() const noexcept { return body_.remaining() != 0 || from_->size() != 0; }

 private:
  [[nodiscard]] bool can_look(base::byte_view front) const noexcept {
    return front.size() >= wire::long_header_size && body_.remaining() == 0 && why_ == wire::header_errc::ok;
  }
  [[nodiscard]] bool bind_body(const wire::frame_header& header) noexcept {
    if (!from_->consume(header.header_size)) return false;
    body_ = buf::limited_reader(*from_, header.payload_size);
    return true;
  }
  [[nodiscard]] bool peek(std::uint32_t ceiling, wire::frame_header& out) noexcept;
  [[nodiscard]] pump_status wait_for_more() noexcept;
  [[nodiscard]] pump_status next_header_slowly(wire::frame_header& out) noexcept;
  [[nodiscard]] pump_status next_whole_slowly(whole_frame& out) noexcept;
};

}  // namespace millrace::srmp
