// pipeline/udp_output.hpp - the way out of one interface: datagrams written where they are sent from.
//
// Shape    open() lends room for one datagram's payload in a fresh packet; close() has the host put Ethernet, IP and
// UDP
//          in front of it and queues it. send() takes a payload that lies elsewhere, of any size. What the host says by
//          itself is queued with it, through frames(). The loop transmits at the end of its turn; open() does as well,
//          when much is queued.
// Units    bytes of UDP payload; ns of the loop's clock.
// Owner    the output owns the packet that is open and those that wait. Host, pool and counters are the loop's.
// Rules    a packet that the transmit ring refused stays queued, in order, and is tried again every turn; after
//          patience_ns of refusals all that wait are dropped (tx_ring_full). While fewer than `reserve_pkts` places
//          are left, the loop receives nothing from this interface: what could not be answered is not taken in. (Not
//          sooner: two programs that stop listening while they wait for each other to listen wait for ever.)
// Errors   open(): empty when no buffer is free or the queue is full of what the ring refuses. close(), send(): what
// the
//          host said of it; all but `ready` is counted and freed here.
// Threads  one lcore. Tests  test/pipeline/service_loop_test.cpp       Bench  bench/pipeline/service_loop_bench.cpp
#pragma once

#include "buf/burst.hpp"
#include "net/host.hpp"
#include "net/packet_sink.hpp"
#include "pipeline/counts.hpp"

namespace millrace::pipeline {

struct output_settings {
  std::uint16_t port = 0;
  std::uint16_t queue = 0;
  std::uint64_t patience_ns = 10'000'000;
  net::checksum_offload offload;  // what the port puts in, as the host was told
};

class udp_output {
  static constexpr unsigned refill_pkts = 32;
  static constexpr unsigned reserve_pkts = 64;       // for the answers to one burst
  static constexpr unsigned transmit_pkts = 32;      // of one call of the driver
  static constexpr unsigned transmit_at_pkts = 256;  // half the queue: a service that says much is sent in between

  output_settings settings_;
  net::host* host_;
  mem::packet_pool* pool_;
  lcore_counters* counters_;
  std::uint64_t now_ns_ = 0;
  std::uint64_t refused_since_ns_ = 0;  // 0: the ring took everything the last time
  std::uint64_t frames_counted_ = 0;    // of frames_.originated(): how many are in the counters
  rte_mbuf* open_ = nullptr;
  unsigned fresh_count_ = 0;
  std::array<rte_mbuf*, refill_pkts> fresh_;  // only the first fresh_count_ mean anything
  buf::burst queue_;
  net::packet_sink frames_;

  [[nodiscard]] bool take_fresh() noexcept;
  [[nodiscard]] bool enqueue(buf::packet one) noexcept;
  net::tx_what refuse(stats::drop_reason why) noexcept;
  void request_checksums(rte_mbuf* m, base::ip_family family, std::size_t headers) const noexcept;
  void count_frames() noexcept;

 public:
  udp_output(const output_settings& settings, net::host& host, mem::packet_pool& pool,
             lcore_counters& counters) noexcept
      : settings_(settings), host_(&host), pool_(&pool), counters_(&counters), frames_(pool, queue_) {}
  udp_output(const udp_output&) = delete;
  udp_output& operator=(const udp_output&) = delete;
  ~udp_output();  // frees what waits

  // Room for a payload of up to max_payload() bytes. Opened twice without a close, it is the same room.
  [[nodiscard]] base::byte_span open() noexcept {
    if (open_ == nullptr && !take_fresh()) [[unlikely]]
      return {};
    return {static_cast<std::uint8_t*>(open_->buf_addr) + open_->data_off, pool_->data_room()};
  }
  // The first `size` bytes of what open() lent go to flow.remote. 0: nothing was written, the room is kept for the
  // next.
  net::tx_what close(const net::udp_flow& flow, std::size_t size) noexcept;
  // A payload that lies elsewhere, copied: into one packet, or into fragments where it is larger than the path carries.
  net::tx_what send(const net::udp_flow& flow, base::byte_view payload) noexcept;

  [[nodiscard]] std::size_t max_payload() const noexcept { return pool_->data_room(); }
  // How many packets a generator may open now, so that there is room for answers as well.
  [[nodiscard]] unsigned room() const noexcept {
    return queue_.room() > reserve_pkts ? queue_.room() - reserve_pkts : 0;
  }
  [[nodiscard]] net::host& host() noexcept { return *host_; }
  [[nodiscard]] net::frame_sink& frames() noexcept { return frames_; }

  // --- for the loop ---
  void begin_turn(std::uint64_t now_ns) noexcept { now_ns_ = now_ns; }
  // Sends what is queued, as much as the ring takes; answers how many packets went.
  unsigned transmit() noexcept;
  // Whether what the ring refuses leaves no room for answers.
  [[nodiscard]] bool is_blocked() const noexcept { return refused_since_ns_ != 0 && queue_.room() < reserve_pkts; }
  [[nodiscard]] unsigned waiting() const noexcept { return queue_.size(); }
  // What waits is dropped (shutdown).
  void abandon() noexcept;
};

}  // namespace millrace::pipeline
