// app/ring_pair.hpp - two ports joined in memory, opened and started, with the pool of their packets: what `loopback`
// runs on.
//
// Units    packets; bytes of IP for the MTU.
// Owner    the object. Whoever uses ports or pool goes first; then close(), which leaves the pool to be counted.
// Errors   make(): a failure that an operator understands.
// Threads  control thread. Tests  test/app/loopback_test.py
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "port/crossed_rings.hpp"
#include "port/port.hpp"

namespace millrace::app {

struct ring_pair_wish {
  std::uint16_t queues = 1;
  std::uint32_t slots = 1024;  // of each ring, a power of two
  std::uint16_t mtu = 1500;    // rings have none of their own: it is told to the hosts, and sizes the buffers
  std::uint16_t burst_pkts = 32;
  std::uint32_t budget_pkts = 0;  // kept besides: what services, wires and hosts hold
  std::vector<port::worker_place> workers = {};
};

class ring_pair {
  struct passkey {};

  port::plan plan_;
  std::optional<mem::packet_pool> pool_;
  std::optional<port::crossed_rings> rings_;
  std::deque<port::port> ports_;

 public:
  [[nodiscard]] static base::result<std::unique_ptr<ring_pair>> make(const ring_pair_wish& wish);
  explicit ring_pair(passkey) noexcept {}

  [[nodiscard]] const port::port& first() const noexcept { return ports_[0]; }
  [[nodiscard]] const port::port& second() const noexcept { return ports_[1]; }
  [[nodiscard]] const std::deque<port::port>& ports() const noexcept { return ports_; }
  [[nodiscard]] mem::packet_pool& pool() noexcept { return *pool_; }
  [[nodiscard]] const port::plan& plan() const noexcept { return plan_; }

  // Packets still queued in the rings, received and freed: to be counted as held.
  [[nodiscard]] std::uint64_t drain() noexcept;
  // Ports and rings go; the pool stays.
  void close() noexcept;
};

// Memory that make() will take, for EAL's start: with `workers` lcores besides the main one.
[[nodiscard]] std::size_t expected_bytes(const ring_pair_wish& wish, unsigned workers) noexcept;

}  // namespace millrace::app
