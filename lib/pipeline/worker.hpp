// pipeline/worker.hpp - what one lcore does: its streams, polled in turn, burst by burst.
//
// Shape    slice() makes a fixed number of passes over all streams and returns, so that the same code runs on a worker
//          lcore (slices until told to stop), on the main lcore alone (slices between looks at the clock) and in tests
//          (as many as wanted). The mode is chosen once: each has its own compiled loop.
// Owner    a worker owns its burst, cursors and counters; ports, pool and frames are the engine's.
// Rules    a burst that transmit refused is tried again a bounded number of times, then dropped (tx_ring_full): nothing
//          stays in a worker between two passes.
// Threads  slice() on one lcore at a time; counters() from anywhere.
// Tests    test/pipeline/engine_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "buf/burst.hpp"
#include "mem/packet_pool.hpp"
#include "pipeline/counts.hpp"
#include "pipeline/forward_mode.hpp"
#include "pipeline/frame_set.hpp"
#include "pipeline/idle.hpp"
#include "pipeline/meter.hpp"
#include "pipeline/stage_generate.hpp"
#include "pipeline/stage_mac.hpp"
#include "pipeline/stage_parse.hpp"
#include "port/topology.hpp"

namespace millrace::pipeline {

inline constexpr unsigned default_tx_retries = 8;

struct worker_settings {
  forward_mode mode = forward_mode::io;
  std::uint16_t burst_pkts = 32;
  unsigned tx_retries = default_tx_retries;
  bool exact_cycles = false;  // stamp every pass (--record-core-cycles)
  idle_policy idle = idle_policy::adaptive;
  parse_settings parse;
};

// A stream, and what a worker needs at hand for it.
struct worker_stream {
  port::stream link;
  address_pair addresses;  // mode mac
  frame_cursor frames;     // modes that generate
};

class worker {
 public:
  static constexpr unsigned passes_per_slice = 4 * sample_stride;

  worker(const worker_settings& settings, std::vector<worker_stream> streams, mem::packet_pool& pool);
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  void slice() noexcept { (this->*slice_)(); }
  // Slices until `stop` is set, with this thread's heap calls counted.
  void run(const std::atomic<bool>& stop) noexcept;

  [[nodiscard]] lcore_counters& counters() noexcept { return counters_; }
  [[nodiscard]] const lcore_counters& counters() const noexcept { return counters_; }
  [[nodiscard]] const std::vector<worker_stream>& streams() const noexcept { return streams_; }

 private:
  using slice_function = void (worker::*)() noexcept;

  // Read on every burst, in one line or two; the counters have their own.
  slice_function slice_;
  mem::packet_pool* pool_;
  std::uint16_t burst_pkts_;
  unsigned tx_retries_;
  idler idler_;
  std::uint64_t stamp_cycles_;
  interruption_limit limit_;
  std::vector<worker_stream> streams_;
  std::unique_ptr<parse_work> parse_;  // mode parse only
  lcore_counters counters_;
  buf::burst burst_;

  static slice_function choose(forward_mode mode, bool exact) noexcept;
  template <forward_mode Mode>
  static slice_function choose_for(bool exact) noexcept;
  template <forward_mode Mode, bool Exact>
  void slice_of() noexcept;
  template <forward_mode Mode, class Meter>
  unsigned pass(Meter& meter) noexcept;
  template <forward_mode Mode>
  void measured_pass() noexcept;
  template <forward_mode Mode, class Meter>
  unsigned turn(worker_stream& s, Meter& meter) noexcept;
  template <forward_mode Mode>
  std::uint64_t work(worker_stream& s) noexcept;
  std::uint64_t generate(worker_stream& s) noexcept;
  template <forward_mode Mode>
  unsigned transmit(const port::stream& to, std::uint64_t bytes) noexcept;
  unsigned retry(const port::stream& to) noexcept;
  void after(unsigned moved) noexcept;
  bool note_pass(std::uint64_t cycles, unsigned moved) noexcept;
};

}  // namespace millrace::pipeline
