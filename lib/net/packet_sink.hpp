// net/packet_sink.hpp - frames a host makes, as packets of a pool, behind those in a burst.
//
// Shape    the frame_sink of a worker: one packet a frame, appended to the burst that is sent next.
// Owner    the burst owns the packets; pool and burst are borrowed and outlive the sink.
// Errors   take() is refused when the pool is empty (counted there), the burst is full or the frame is longer than a
//          packet's room.
// Threads  one lcore. Tests  test/net/packet_sink_test.cpp
#pragma once

#include "buf/burst.hpp"
#include "net/frame_sink.hpp"

namespace millrace::net {

class packet_sink final : public frame_sink {
  mem::packet_pool* pool_;
  buf::burst* out_;
  std::uint64_t originated_ = 0;

 public:
  packet_sink(mem::packet_pool& pool, buf::burst& out) noexcept : pool_(&pool), out_(&out) {}

  [[nodiscard]] base::byte_span take(std::size_t bytes) noexcept override {
    if (bytes > pool_->data_room() || out_->room() == 0) return {};
    buf::packet one = buf::packet::alloc(*pool_);
    const base::byte_span room = one.append(static_cast<std::uint16_t>(bytes));
    if (room.empty() || !out_->push(std::move(one))) return {};
    ++originated_;
    return room;
  }
  // Packets put into the burst so far: `originated` of the loop's balance.
  [[nodiscard]] std::uint64_t originated() const noexcept { return originated_; }
};

}  // namespace millrace::net
