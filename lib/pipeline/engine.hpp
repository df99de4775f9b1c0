// pipeline/engine.hpp - forwarding over several ports and lcores: who does what, start, stop, and the balance.
//
// Shape    make() deals streams out to workers; seed() puts frames into the loops; start() launches the workers, or,
//          with no lcore of their own, leaves them to turn(), which the main lcore calls; stop() ends them; drain()
//          takes back what is still queued in rings of this process.
// Balance  rx + originated == tx + held + drops, at any time after stop(), packet by packet: seeds and generated frames
//          are originated, what drain() found is received and held, all else that was not sent has a drop reason.
// Owner    the engine owns its workers. Ports, pool and frames are the role's, started before start(), alive until the
//          engine is gone.
// Errors   make(): an unusable configuration (no frames for a mode that sends them, frames larger than a buffer, a
//          burst beyond capacity). Exhaustion while running is counted.
// Threads  control thread: make, seed, start, turn, stop, drain. Figures may be read at any time.
// Tests    test/pipeline/engine_test.cpp
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "pipeline/worker.hpp"
#include "port/port.hpp"

namespace millrace::pipeline {

struct engine_settings {
  worker_settings work;
  port::topology topology = port::topology::paired;
  std::uint64_t flows = 0;            // of modes that generate; 0: the frame set as it is
  std::vector<unsigned> lcores = {};  // workers; empty: the calling lcore does everything
};

struct seeded {
  std::uint64_t made = 0;
  std::uint64_t queued = 0;  // the rest was refused and dropped
};

class engine {
 public:
  [[nodiscard]] static base::result<engine> make(const engine_settings& settings,
                                                 std::span<const port::port* const> ports, mem::packet_pool& pool,
                                                 const frame_set& frames);
  engine(engine&&) noexcept;
  engine& operator=(engine&&) = delete;
  ~engine();  // stops

  // `bursts` bursts into every transmit queue of the streams.
  seeded seed(unsigned bursts);
  base::outcome start();
  // One slice of every worker, on the calling lcore. For engines without lcores of their own; counts its heap calls.
  void turn() noexcept;
  void stop() noexcept;
  // Receives and frees what software rings still hold; answers how many packets. After stop().
  std::uint64_t drain() noexcept;

  [[nodiscard]] bool has_lcores() const noexcept { return !settings_.lcores.empty(); }
  [[nodiscard]] std::size_t workers() const noexcept { return workers_.size(); }
  [[nodiscard]] unsigned lcore_of(std::size_t worker) const noexcept;
  [[nodiscard]] const std::vector<worker_stream>& streams_of(std::size_t worker) const noexcept {
    return workers_[worker]->streams();
  }
  [[nodiscard]] figures of_worker(std::size_t worker) const noexcept { return read(workers_[worker]->counters()); }
  [[nodiscard]] figures of_control() const noexcept { return read(*control_); }  // seeds and drained packets
  [[nodiscard]] figures total() const noexcept;
  // "lcore 1: port 0 queue 0 -> port 1 queue 0, ..." a line a worker.
  [[nodiscard]] std::string describe() const;

 private:
  struct alignas(64) stop_signal {  // a line of its own: every worker reads it between slices
    std::atomic<bool> raised{false};
  };
  struct launch_record {
    worker* work;
    const std::atomic<bool>* stop;
  };

  engine_settings settings_;
  mem::packet_pool* pool_;
  const frame_set* frames_;
  std::vector<const port::port*> ports_;
  std::vector<std::unique_ptr<worker>> workers_;
  std::unique_ptr<lcore_counters> control_;
  std::unique_ptr<stop_signal> stop_;
  std::vector<launch_record> launched_;
  bool running_ = false;
  std::uint64_t turned_cpu_ns_ = 0;  // CPU time of the calling lcore at its first turn(); 0 before

  engine(engine_settings settings, std::span<const port::port* const> ports, mem::packet_pool& pool,
         const frame_set& frames);
  void deal_out();
  [[nodiscard]] worker_stream make_stream(const port::stream& link, std::uint64_t number) const;
};

}  // namespace millrace::pipeline
