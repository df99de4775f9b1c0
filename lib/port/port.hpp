// port/port.hpp - one ethdev, set up by plan, and the burst calls of the data path.
//
// Shape    open() configures queues; start() lets packets flow; stop() ends it; destruction stops and closes. The burst
//          calls are free functions on plain numbers, so that a worker's loop carries no port object around.
// Owner    rx_burst: the burst owns what arrived. tx_burst: the driver owns what it took, the burst keeps the rest.
//          The pool must outlive the port; packets in a driver's rings go back when it is closed, except those queued
//          in software rings (net_ring): drain these first.
// Errors   open, start: a failure that names the port, the step and what the driver said.
// Threads  one lcore a queue; set-up and figures on the control thread.
// Tests    test/port/port_test.cpp
#pragma once

#include <rte_ethdev.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "buf/burst.hpp"
#include "mem/packet_pool.hpp"
#include "port/facts.hpp"
#include "port/plan.hpp"

namespace millrace::port {

// Receives up to `most` packets behind those already in `into`; answers how many.
inline unsigned rx_burst(std::uint16_t port, std::uint16_t queue, buf::burst& into, std::uint16_t most) noexcept {
  MILLRACE_ASSERT(most <= into.room());
  const std::uint16_t got = rte_eth_rx_burst(port, queue, into.raw() + into.size(), most);
  into.adopt(got);
  return got;
}

// Sends up to `most` packets from `at` on, and leaves them where they stand: forget_front() is the caller's, who has
// several such bursts behind one another. Answers how many the driver took.
inline unsigned tx_some(std::uint16_t port, std::uint16_t queue, buf::burst& from, unsigned at,
                        unsigned most) noexcept {
  MILLRACE_ASSERT(!from.has_holes() && at + most <= from.size());
  return rte_eth_tx_burst(port, queue, from.raw() + at, static_cast<std::uint16_t>(most));
}

// Sends from the front of a burst without holes; answers how many the driver took.
inline unsigned tx_burst(std::uint16_t port, std::uint16_t queue, buf::burst& from) noexcept {
  MILLRACE_ASSERT(!from.has_holes());
  const std::uint16_t took = rte_eth_tx_burst(port, queue, from.raw(), static_cast<std::uint16_t>(from.size()));
  if (took == from.size()) [[likely]]
    from.forget_all();
  else
    from.forget_front(took);
  return took;
}

struct link_state {
  bool up = false;
  std::uint32_t speed_mbps = 0;  // 0: unknown
};

// The driver's own figures, for what the engine cannot see.
struct port_stats {
  std::uint64_t rx_packets = 0;
  std::uint64_t rx_bytes = 0;  // 0 where the driver counts none (facts.counts_bytes())
  std::uint64_t tx_packets = 0;
  std::uint64_t tx_bytes = 0;
  std::uint64_t rx_missed = 0;   // arrived, and no descriptor was free
  std::uint64_t rx_errors = 0;   // arrived broken
  std::uint64_t rx_no_mbuf = 0;  // the driver found the pool empty
  std::uint64_t tx_errors = 0;
};

class port {
  static constexpr std::uint16_t none = UINT16_MAX;
  std::uint16_t id_ = none;
  bool started_ = false;
  port_plan plan_;

  port(std::uint16_t id, port_plan plan) noexcept : id_(id), plan_(std::move(plan)) {}

 public:
  port(port&& other) noexcept
      : id_(std::exchange(other.id_, none)),
        started_(std::exchange(other.started_, false)),
        plan_(std::move(other.plan_)) {}
  port& operator=(port&&) = delete;
  ~port();

  [[nodiscard]] static base::result<port> open(const port_plan& how, mem::packet_pool& pool);
  base::outcome start();
  void stop() noexcept;

  [[nodiscard]] std::uint16_t id() const noexcept { return id_; }
  [[nodiscard]] const port_plan& plan() const noexcept { return plan_; }
  [[nodiscard]] const port_facts& facts() const noexcept { return plan_.facts; }
  [[nodiscard]] link_state link() const noexcept;
  [[nodiscard]] port_stats stats() const noexcept;
};

}  // namespace millrace::port
