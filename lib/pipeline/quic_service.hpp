// pipeline/quic_service.hpp - QUIC connections as a service of the loop: an endpoint between received bursts and the
// interfaces' outputs.
//
// Shape    a burst goes to the endpoint as it is; packets are opened where they lie, streams keep slices of them. What
//          the endpoint has to say is written into the outputs' packets, sealed there, until it has no more or the
//          queue is full; then it waits for the next turn.
// Copies   a datagram that does not lie in one packet of its own (fragments, chains) is copied into one. A datagram for
//          another interface than the last one's is copied, too.
// Owner    the endpoint is the caller's and outlives the service; so is the packet pool.
// Stop     work_under_way, if there is any, is told, and has `patience_ns` to come to its end by itself; then every
//          connection is closed. Finished when that was said.
// Threads  one lcore. Tests  test/loadgen/hq_load_test.cpp
#pragma once

#include <algorithm>

#include "pipeline/udp_service.hpp"
#include "quic/endpoint/endpoint.hpp"

namespace millrace::pipeline {

// Whose work should come to its end before its connections are closed.
class work_under_way {
 public:
  work_under_way() noexcept = default;
  work_under_way(const work_under_way&) = delete;
  work_under_way& operator=(const work_under_way&) = delete;
  virtual ~work_under_way() = default;

  // Nothing new is begun from here on, and peers are told.
  virtual void drain(std::uint64_t now_ns) noexcept = 0;
  [[nodiscard]] virtual bool is_drained() const noexcept = 0;
};

class quic_service final : public udp_service {
  static constexpr std::size_t batch_pkts = 32;
  static constexpr std::uint64_t goodbye_code = 0x100;  // H3_NO_ERROR; hq-interop and SRMP name none
  quic::endpoint::quic_endpoint* endpoint_;
  mem::packet_pool* pool_;
  work_under_way* work_ = nullptr;
  std::uint64_t patience_ns_ = 0;
  std::uint64_t drain_until_ns_ = never_ns;
  std::uint16_t last_interface_ = 0;
  bool is_stopping_ = false;

 public:
  quic_service(quic::endpoint::quic_endpoint& endpoint, mem::packet_pool& pool) noexcept
      : endpoint_(&endpoint), pool_(&pool) {}

  // Before the start. `work` outlives the service; `patience_ns` ends before that of the loop, or nobody says goodbye.
  void drain_first(work_under_way& work, std::uint64_t patience_ns) noexcept {
    work_ = &work;
    patience_ns_ = patience_ns;
  }

  void on_datagrams(std::span<const udp_arrival> arrivals, service_turn& turn) noexcept override;
  [[nodiscard]] std::uint64_t due_ns() const noexcept override {
    return std::min(endpoint_->due_ns(), drain_until_ns_);
  }
  void on_time(service_turn& turn) noexcept override;
  void on_stop(service_turn& turn) noexcept override;
  [[nodiscard]] bool is_finished() const noexcept override {
    return is_stopping_ && drain_until_ns_ == never_ns && !endpoint_->wants_poll();
  }

  // What the endpoint has to say, as far as there is room: for who changed something besides.
  void pump(service_turn& turn) noexcept;
  [[nodiscard]] quic::endpoint::quic_endpoint& endpoint() noexcept { return *endpoint_; }

 private:
  void end_drain(std::uint64_t now_ns) noexcept;
};

}  // namespace millrace::pipeline
