// quic/conn/trace.hpp - what happens on connections, as records for somebody on another core to write down.
//
// Shape    a connection that was given a number pushes one record an event; trace_queue carries them from the lcore to
//          one reader. telemetry/qlog.hpp makes qlog of them.
// Units    ns of the lcore's clock, bytes.
// Owner    the queue's memory is a region of its own. Limits  a fixed number of records, and of connections traced at a
//          time: what finds no room is dropped and counted, and never waited for.
// Errors   make(): nullptr when no memory is left.
// Threads  one producer (the lcore), one consumer. Source  draft-ietf-quic-qlog-quic-events. Tests  test/telemetry/
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <utility>

#include "mem/region.hpp"
#include "quic/wire/header.hpp"
#include "stats/drop_counters.hpp"

namespace millrace::quic::conn {

enum class trace_kind : std::uint8_t {
  begun,            // `id`: original destination; number: 1 for a server; a: version
  packet_sent,      // number, frames, size
  packet_received,  // number, frames, size
  packet_lost,      // number, size
  packet_dropped,   // a: stats::drop_reason, size of the datagram
  metrics,          // a: window, b: in flight, c: smoothed RTT, d: least RTT; number: PTO count
  established,      // the handshake is complete
  confirmed,
  key_update,  // number: phases begun, by either side
  moved,       // to another path
  mtu,         // size
  ended,       // a: end_reason, b: code, c: from the application
};

struct trace_record {
  std::uint64_t time_ns = 0;
  std::uint64_t connection = 0;  // its number
  trace_kind kind = trace_kind::begun;
  wire::packet_type type = wire::packet_type::one_rtt;
  std::uint8_t id_size = 0;
  std::uint32_t size = 0;
  std::uint64_t number = 0;
  std::uint64_t frames = 0;  // bit n: a frame of type n
  std::uint64_t a = 0, b = 0, c = 0, d = 0;
  std::array<std::uint8_t, 20> id{};
};

class trace_queue {
  mem::region memory_;
  std::uint64_t mask_;
  std::uint32_t most_open_;
  alignas(64) std::atomic<std::uint64_t> head_{0};  // written by the producer
  std::uint64_t tail_seen_ = 0;
  std::uint64_t next_number_ = 0;
  stats::counter dropped_;
  stats::counter untraced_;
  std::atomic<std::uint32_t> open_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};  // written by the consumer

 public:
  trace_queue(mem::region memory, std::size_t records, std::uint32_t most_open) noexcept
      : memory_(std::move(memory)), mask_(records - 1), most_open_(most_open) {}
  // `records` is rounded up to a power of two.
  [[nodiscard]] static std::unique_ptr<trace_queue> make(std::size_t records, std::uint32_t most_open);

  // --- producer ---
  // A number for a connection that is traced; 0: there are as many as may be.
  [[nodiscard]] std::uint64_t begin() noexcept {
    if (open_.load(std::memory_order_relaxed) >= most_open_) {
      untraced_.add(1);
      return 0;
    }
    open_.fetch_add(1, std::memory_order_relaxed);
    return ++next_number_;
  }
  // An eighth of the room is kept for ends, without which a reader could not close its files.
  void push(const trace_record& r) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    const std::uint64_t spare = r.kind == trace_kind::ended ? 0 : mask_ / 8;
    if (head - tail_seen_ + spare > mask_) {
      tail_seen_ = tail_.load(std::memory_order_acquire);
      if (head - tail_seen_ + spare > mask_) return drop(r);
    }
    memory_.array<trace_record>()[head & mask_] = r;
    head_.store(head + 1, std::memory_order_release);
  }

  // --- consumer ---
  // Calls one(record) for what there is now, `most` at most; answers how many.
  template <class Call>
  std::size_t take(std::size_t most, Call&& one) {
    const std::uint64_t head = head_.load(std::memory_order_acquire);
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    std::size_t taken = 0;
    for (; tail != head && taken < most; ++tail, ++taken) {
      one(std::as_const(memory_.array<trace_record>()[tail & mask_]));
      tail_.store(tail + 1, std::memory_order_release);
    }
    return taken;
  }
  // A connection was written to its end.
  void end() noexcept { open_.fetch_sub(1, std::memory_order_relaxed); }

  // --- anybody ---
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.get(); }    // records
  [[nodiscard]] std::uint64_t untraced() const noexcept { return untraced_.get(); }  // connections
  [[nodiscard]] std::uint32_t open() const noexcept { return open_.load(std::memory_order_relaxed); }

 private:
  void drop(const trace_record& r) noexcept {
    dropped_.add(1);
    if (r.kind == trace_kind::ended) end();  // its file stays open with the reader until that is closed
  }
};

// The connection's end of it: off unless it was begun.
class tracer {
  trace_queue* queue_ = nullptr;
  std::uint64_t number_ = 0;

 public:
  void begin(trace_queue* queue, trace_record first) noexcept {
    if (queue == nullptr || (number_ = queue->begin()) == 0) return;
    queue_ = queue;
    tell(first);
  }
  [[nodiscard]] bool is_on() const noexcept { return queue_ != nullptr; }
  void tell(trace_record r) noexcept {
    if (queue_ == nullptr) return;
    r.connection = number_;
    queue_->push(r);
    if (r.kind == trace_kind::ended) queue_ = nullptr;
  }
};

// Types of the frames of a payload that was found to be sound, as trace_record::frames has them.
[[nodiscard]] std::uint64_t frame_types(base::byte_view payload, wire::packet_type type) noexcept;

}  // namespace millrace::quic::conn
