// port/plan.hpp - queues, descriptors, offloads and the size of the packet pool, derived before anything is set up.
//
// Shape    make_plan() is pure: facts of the ports and wishes in, numbers and sentences out. describe() prints it.
//            pool = sum of descriptors + per-lcore caches + bursts in flight + what the role itself keeps
//          Every packet that can be somewhere at once has a buffer, so a run that holds its promises never finds the
//          pool empty.
// Units    packets, descriptors; data room in bytes of one buffer.
// Errors   more queues than a port has, or a pool given smaller than the descriptors, is an unusable configuration.
//          Descriptors outside the driver's limits are moved into them, with a remark.
// Threads  control code.
// Tests    test/port/plan_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mem/packet_pool.hpp"
#include "port/facts.hpp"

namespace millrace::port {

inline constexpr std::uint16_t default_descriptors = 1024;
inline constexpr std::uint16_t default_cache_pkts = 256;

struct worker_place {
  unsigned lcore = 0;
  int socket = -1;
};

struct plan_request {
  std::uint16_t rxq = 1;
  std::uint16_t txq = 1;
  std::uint16_t rxd = 0;  // 0: the driver's preference, else 1024
  std::uint16_t txd = 0;
  std::uint16_t burst_pkts = 32;
  std::uint16_t cache_pkts = default_cache_pkts;
  std::uint16_t mtu = 0;                 // 0: leave the port's
  std::vector<std::uint16_t> mtus = {};  // one a port, in their order, instead of `mtu`
  std::uint32_t budget_pkts = 0;         // what the role keeps besides: seeds, reassembly, retransmission
  std::uint32_t mbufs = 0;               // the pool's size; 0: derived
  bool one_pool = true;                  // all packets sent come from this pool, alone referenced: fast free is allowed
  bool chains = true;                    // chains may be sent, so segments must be possible where the driver can
  bool checksums = false;                // wants received checksums judged
  bool tx_checksums = false;             // wants IPv4 and UDP checksums put in by the port
  std::vector<worker_place> workers = {};
};

struct port_plan {
  port_facts facts;
  std::uint16_t rxq = 1;
  std::uint16_t txq = 1;
  std::uint16_t rxd = default_descriptors;
  std::uint16_t txd = default_descriptors;
  std::uint16_t mtu = 0;  // 0: leave
  offloads use;           // asked for and possible
};

struct pool_sum {
  std::uint64_t descriptors = 0;
  std::uint64_t caches = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t budget = 0;
  [[nodiscard]] std::uint64_t total() const noexcept { return descriptors + caches + in_flight + budget; }
};

struct plan {
  std::vector<port_plan> ports;
  pool_sum needs;
  mem::packet_pool_config pool;
  std::vector<std::string> remarks;   // decisions an operator may want to know: clamped, done in software
  std::vector<std::string> warnings;  // what costs or surprises: memory of another node, a small pool
};

[[nodiscard]] base::result<plan> make_plan(std::span<const port_facts> ports, const plan_request& wish);

// Lines of text, each ended: ports, pool with its sum, then remarks and warnings.
[[nodiscard]] std::string describe(const plan& p);

// The pool `ports` unknown ports would need, for the memory estimate that comes before EAL.
// `ring_frame_bytes`: largest_ring_frame() of the arguments.
[[nodiscard]] mem::packet_pool_config expected_pool(unsigned ports, unsigned workers, const plan_request& wish,
                                                    std::uint32_t ring_frame_bytes = 0);

}  // namespace millrace::port
