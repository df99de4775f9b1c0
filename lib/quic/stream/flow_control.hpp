// quic/stream/flow_control.hpp - credit for bytes and for streams, as giver and as taker: the same for a stream and for
// the whole connection.
//
// Shape    receive_window is what we let the peer send: it counts highest offsets (RFC 9000 4.1: a byte sent again
//          costs nothing), and its limit moves only with what the application has consumed. A window that is consumed
//          faster than twice a round trip is too small for the path and doubles, up to its cap; data that is merely
//          received wins nothing. send_credit is what the peer lets us send. stream_count is both of that for streams.
// Units    bytes, streams, ns.
// Errors   receive_window: false is FLOW_CONTROL_ERROR; stream_count: false is STREAM_LIMIT_ERROR.
// Source   RFC 9000 4. Tests  test/quic/stream/flow_control_test.cpp
#pragma once

#include <algorithm>

#include "quic/stream/stream_id.hpp"

namespace millrace::quic::stream {

class receive_window {
  std::uint64_t limit_;         // what was promised last
  std::uint64_t window_;        // how far beyond the consumed bytes it reaches
  std::uint64_t most_;          // window_ never exceeds it
  std::uint64_t received_ = 0;  // highest offset, or the sum of highest offsets
  std::uint64_t consumed_ = 0;
  std::uint64_t promised_ns_ = 0;  // when `limit_` was; 0: in the handshake

 public:
  // `window` was declared in the handshake; `most` bounds what it grows to.
  receive_window(std::uint64_t window, std::uint64_t most) noexcept
      : limit_(window), window_(window), most_(std::max(window, most)) {}

  // The highest offset rose by `bytes` (0 when it did not). False: more than was promised, and nothing changed.
  [[nodiscard]] bool on_received(std::uint64_t bytes) noexcept {
    if (bytes > limit_ - received_) return false;
    received_ += bytes;
    return true;
  }
  // The application is done with so many bytes; or nobody will ever read them (a reset stream's), which counts alike.
  void on_consumed(std::uint64_t bytes) noexcept { consumed_ += bytes; }

  // Whether MAX_DATA or MAX_STREAM_DATA is worth a frame: half a window was consumed since the last.
  [[nodiscard]] bool should_update() const noexcept {
    return consumed_ + window_ - limit_ >= window_ / 2 && next_limit() > limit_;
  }
  // The limit to send now, promised from here on. `rtt_ns` 0: not known, the window stays.
  [[nodiscard]] std::uint64_t update(std::uint64_t now_ns, std::uint64_t rtt_ns) noexcept {
    if (promised_ns_ != 0 && rtt_ns != 0 && now_ns - promised_ns_ < 2 * rtt_ns) window_ = std::min(2 * window_, most_);
    promised_ns_ = std::max<std::uint64_t>(now_ns, 1);
    return limit_ = std::max(limit_, next_limit());
  }
  // A lower layer's memory is short: nothing promised is taken back, but the window grows no further than this.
  void set_most(std::uint64_t bytes) noexcept {
    most_ = bytes;
    window_ = std::min(window_, most_);
  }

  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::uint64_t window() const noexcept { return window_; }
  [[nodiscard]] std::uint64_t received() const noexcept { return received_; }
  [[nodiscard]] std::uint64_t consumed() const noexcept { return consumed_; }

 private:
  [[nodiscard]] std::uint64_t next_limit() const noexcept { return std::min(consumed_ + window_, max_offset); }
};

class send_credit {
  std::uint64_t limit_;
  std::uint64_t used_ = 0;
  std::uint64_t blocked_at_ = UINT64_MAX;  // the limit that a BLOCKED frame was sent for

 public:
  explicit send_credit(std::uint64_t limit) noexcept : limit_(limit) {}

  // True when there is more than before. RFC 9000 4.1: a limit never goes back; a smaller one is late and ignored.
  bool on_limit(std::uint64_t limit) noexcept {
    if (limit <= limit_) return false;
    limit_ = limit;
    return true;
  }
  [[nodiscard]] std::uint64_t available() const noexcept { return limit_ - used_; }
  // New bytes only: what is sent again was paid for.
  void use(std::uint64_t bytes) noexcept { used_ += std::min(bytes, available()); }
  [[nodiscard]] std::uint64_t used() const noexcept { return used_; }
  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  // RFC 9000 4.1: there is data and no credit; DATA_BLOCKED is sent once for each limit, not at each attempt.
  [[nodiscard]] bool should_say_blocked() const noexcept { return available() == 0 && blocked_at_ != limit_; }
  void on_blocked_sent() noexcept { blocked_at_ = limit_; }
  void on_blocked_lost() noexcept { blocked_at_ = UINT64_MAX; }
};

// Streams of one kind and opener. As the one who grants: the peer may open `limit` of them; credit comes back when a
// stream is closed and its handler is done, not when it was reset (RFC 9000 4.6; rapid reset).
class stream_count {
  std::uint64_t limit_;
  std::uint64_t opened_ = 0;
  std::uint64_t window_;
  std::uint64_t closed_ = 0;

 public:
  explicit stream_count(std::uint64_t limit) noexcept : limit_(limit), window_(limit) {}

  // RFC 9000 2.1: opening a stream opens all below. False: beyond the limit; nothing changed.
  [[nodiscard]] bool on_peer_opened(std::uint64_t index) noexcept {
    if (index >= limit_) return false;
    opened_ = std::max(opened_, index + 1);
    return true;
  }
  void on_closed() noexcept { ++closed_; }
  [[nodiscard]] bool should_update() const noexcept {
    return window_ != 0 && next_limit() > limit_ && next_limit() - limit_ >= std::max<std::uint64_t>(window_ / 2, 1);
  }
  [[nodiscard]] std::uint64_t update() noexcept { return limit_ = std::max(limit_, next_limit()); }

  // As the one who is granted.
  [[nodiscard]] bool can_open() const noexcept { return opened_ < limit_; }
  [[nodiscard]] std::uint64_t open() noexcept { return opened_++; }  // the new stream's index; can_open() before
  bool on_limit(std::uint64_t limit) noexcept {                      // RFC 9000 4.6: a smaller one is ignored
    if (limit <= limit_ || limit > max_streams) return false;
    limit_ = limit;
    return true;
  }

  void start_over() noexcept { limit_ = 0; }  // what was granted is void (RFC 9001 4.6.2); what was opened stays

  [[nodiscard]] std::uint64_t opened() const noexcept { return opened_; }
  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }

 private:
  [[nodiscard]] std::uint64_t next_limit() const noexcept { return std::min(closed_ + window_, max_streams); }
};

}  // namespace millrace::quic::stream
