// buf/send_queue.hpp - what waits to be sent: a bounded queue with water marks, for a sender that may refuse.
//
// Shape    whole messages (chains) in, bytes out in order. Unlike a pipe, which takes everything and asks the writer to
//          stop, push() refuses while the queue is above its marks, and the message stays with the caller.
// Units    bytes of payload.
// Flow     full from high_bytes on, open again below low_bytes: hysteresis as in buf/pipe.hpp. on_room is called once,
//          last, when a push has been refused and there is room again; not after close(), which its caller made. A
//          message is taken whole: the most that is queued is high_bytes - 1 and one message, and one longer than the
//          mark can be sent at all.
// Owner    push() owns the chain when it answers `taken`; otherwise the caller still does. pop() hands bytes over.
// Errors   push_status. close() frees nothing by itself: what was taken is still sent; clear() drops it.
// Threads  one lcore.
// Source   srmp.md section 7: 256 KiB and 128 KiB.      Tests  test/buf/send_queue_test.cpp
#pragma once

#include "buf/chain.hpp"

namespace millrace::buf {

enum class push_status : std::uint8_t { taken, full, closed, exhausted };

struct send_queue_limits {
  std::size_t high_bytes = std::size_t{256} << 10;  // 0: never full
  std::size_t low_bytes = std::size_t{128} << 10;
};

class send_queue {
  chain queued_;
  send_queue_limits limits_;
  mbuf_source spare_;  // to separate a shared last segment; see chain::make_growable
  void* context_;
  void (*on_room_)(void* context) noexcept;
  bool full_ = false;
  bool refused_ = false;
  bool closed_ = false;

 public:
  explicit send_queue(const send_queue_limits& limits = {}, const mbuf_source& spare = {}, void* context = nullptr,
                      void (*on_room)(void* context) noexcept = nullptr) noexcept
      : limits_(limits), spare_(spare), context_(context), on_room_(on_room) {
    limits_.low_bytes = std::max<std::size_t>(1, std::min(limits_.low_bytes, limits_.high_bytes));
  }
  send_queue(const send_queue&) = delete;
  send_queue& operator=(const send_queue&) = delete;

  [[nodiscard]] push_status push(chain&& message) noexcept {
    if (closed_) return push_status::closed;
    if (full_) {
      refused_ = true;
      return push_status::full;
    }
    if (!message.make_growable(spare_) || !queued_.append(std::move(message))) return push_status::exhausted;
    full_ = limits_.high_bytes != 0 && queued_.size() >= limits_.high_bytes;
    return push_status::taken;
  }
  // Up to `most` bytes from the front into `out`; false when the queue is empty (or chain::cut() refuses).
  [[nodiscard]] bool pop(std::size_t most, chain& out) noexcept {
    if (queued_.empty() || !queued_.cut(std::min(most, queued_.size()), out)) return false;
    after_pop();
    return true;
  }
  // Sent already, from front(): freed.
  void consume(std::size_t count) noexcept {
    queued_.consume(count);
    after_pop();
  }
  [[nodiscard]] const chain& front() const noexcept { return queued_; }
  [[nodiscard]] std::size_t size() const noexcept { return queued_.size(); }
  [[nodiscard]] bool is_full() const noexcept { return full_; }
  void close() noexcept { closed_ = true; }
  void clear() noexcept {
    queued_.clear();
    after_pop();
  }

 private:
  void after_pop() noexcept {
    if (!full_ || queued_.size() >= limits_.low_bytes) return;
    full_ = false;
    if (!refused_) return;
    refused_ = false;
    if (on_room_ != nullptr && !closed_) on_room_(context_);
  }
};

}  // namespace millrace::buf
