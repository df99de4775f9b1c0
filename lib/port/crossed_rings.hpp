// port/crossed_rings.hpp - two ports in one process, joined by a cable of rings: what one sends the other receives.
//
// Shape    two ports of net_ring on pairs of rte_ring, one pair a queue. --vdev=net_ring0 cannot do this: such a port
//          is looped to itself.
// Units    packets; a ring of N slots holds N - 1. N is a power of two.
// Owner    the object owns rings and devices; move-only. Close both ports first, and drain them: what is still queued
//          in a ring at the end is freed here.
// Limits   16 queues, the driver's own.
// Errors   make(): a failure; nothing is left behind.
// Threads  each queue end has one reader and one writer.
// Tests    test/port/port_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

struct rte_ring;

namespace millrace::port {

class crossed_rings {
  std::string name_;
  std::vector<rte_ring*> rings_;  // a to b and b to a, queue by queue
  std::uint16_t ports_[2] = {};
  unsigned made_ports_ = 0;

  crossed_rings() = default;

 public:
  crossed_rings(crossed_rings&& other) noexcept;
  crossed_rings& operator=(crossed_rings&&) = delete;
  ~crossed_rings();

  // `name` is unique in the process and at most 16 characters.
  [[nodiscard]] static base::result<crossed_rings> make(const std::string& name, std::uint16_t queues = 1,
                                                        unsigned slots = 1024, int socket = -1);
  [[nodiscard]] std::uint16_t first() const noexcept { return ports_[0]; }
  [[nodiscard]] std::uint16_t second() const noexcept { return ports_[1]; }
};

}  // namespace millrace::port
