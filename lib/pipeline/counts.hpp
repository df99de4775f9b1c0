// pipeline/counts.hpp - the counters of one lcore, and the plain numbers read from them.
//
// Shape    lcore_counters is written by its lcore alone; figures is a copy at one moment, which adds up over lcores and
//          subtracts to a period. Both are arrays by enum, so that a new counter is one word here.
// Units    packets, bytes of frames without FCS, TSC cycles, passes over all streams of a worker.
// Threads  one writer, readers anywhere; a reader may be a burst behind and see rx of a burst without its tx.
// Tests    test/pipeline/counts_test.cpp
#pragma once

#include <array>
#include <cstdint>

#include "mem/heap_counter.hpp"
#include "pipeline/traffic_class.hpp"
#include "stats/drop_counters.hpp"

namespace millrace::pipeline {

enum class count : std::uint8_t {
  rx_pkts,
  rx_bursts,  // receive calls that brought something
  tx_pkts,
  rx_bytes,          // where the mode reads lengths
  tx_bytes,          // the same
  originated_pkts,   // made here: seeds and generated frames
  delivered_pkts,    // consumed here, for what they were meant
  held_pkts,         // still queued in rings of this process at the end
  tx_retries,        // further tries after a transmit took only a part
  ungenerated_pkts,  // frames that txonly or flowgen could not make, the pool being empty
  quic_pkts,         // QUIC packets in classified datagrams, coalesced ones included
  cpu_ns,            // time the lcore had its CPU; known once it stopped
  // measured passes: one of sample_stride, or all with exact cycles
  measured_cycles,
  measured_busy_cycles,  // of passes that moved packets
  measured_pkts,
  interrupted_passes,  // measured, yet left out: the kernel gave the CPU to somebody else meanwhile
  // sampled passes, one of sample_stride: where the cycles went, and how long packets are
  staged_pkts,
  staged_rx_cycles,
  staged_classify_cycles,  // of loops with hosts and services, whose work is the services'
  staged_work_cycles,
  staged_timer_cycles,  // the same
  staged_tx_cycles,
  sampled_bytes,
  end_
};
inline constexpr std::size_t count_count = static_cast<std::size_t>(count::end_);

struct alignas(64) lcore_counters {
  std::array<stats::counter, count_count> counts;
  std::array<stats::counter, traffic_class_count> classes;
  stats::drop_counters drops;
  mem::heap_tally heap;

  void add(count which, std::uint64_t n) noexcept { counts[static_cast<std::size_t>(which)].add(n); }
};

struct figures {
  std::array<std::uint64_t, count_count> counts{};
  std::array<std::uint64_t, traffic_class_count> classes{};
  std::array<std::uint64_t, stats::drop_reason_count> drops{};
  std::uint64_t heap_calls = 0;

  [[nodiscard]] std::uint64_t operator[](count which) const noexcept { return counts[static_cast<std::size_t>(which)]; }
  [[nodiscard]] std::uint64_t dropped() const noexcept;
  [[nodiscard]] std::uint64_t dropped(stats::drop_reason why) const noexcept {
    return drops[static_cast<std::size_t>(why)];
  }
  figures& operator+=(const figures& more) noexcept;
  // What happened since `earlier`, a reading of the same counters.
  [[nodiscard]] figures since(const figures& earlier) const noexcept;

  // design, Loop: every packet is sent, consumed, kept or dropped with a reason.
  [[nodiscard]] bool is_conserved() const noexcept {
    return (*this)[count::rx_pkts] + (*this)[count::originated_pkts] ==
           (*this)[count::tx_pkts] + (*this)[count::delivered_pkts] + (*this)[count::held_pkts] + dropped();
  }
};

[[nodiscard]] figures read(const lcore_counters& from) noexcept;

}  // namespace millrace::pipeline
