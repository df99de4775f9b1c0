// loadgen/srmp_load.hpp - the client of N connections to one SRMP server over UDP, as a service of a loop.
//
// Shape    make(settings); open_on(loop) takes its local ports; the loop does the rest. It knocks with one message
//          after another until the target answers, then sends: as fast as the windows let (closed loop), or at a rate
//          (open loop), until so many were sent, or so long, or it is told to stop; then it waits for what is in
//          flight.
//              auto load = srmp_load::make(settings);
//              load->open_on(*loop); loop->run(stop);          // elsewhere: load->is_done(), figures(), latency()
// Checks   every reply: sequence, sender, size and content. Each request carries a stamp of its own, so that a reply
//          to another request is not taken for a right one.
// Latency  ns from the turn that sent a request, in open loop from the time it was meant to be sent, to the turn that
//          received its reply. Knocks are not in it.
// Owner    the object; the loop it is opened on must not outlive it.
// Limits   load_settings. Memory is taken in make(): about 7 KB a connection. Nothing later.
// Errors   make(): what of the settings cannot work, or no memory. open_on(): the loop's. Everything else is counted.
// Threads  one lcore; is_done(), figures() and latency() from anywhere.
// Tests    test/loadgen/srmp_load_test.cpp, test/e2e/load_link_test.py       Bench  bench/loadgen/load_bench.cpp
#pragma once

#include <memory>

#include "loadgen/load_settings.hpp"
#include "pipeline/udp_service.hpp"
#include "stats/latency_histogram.hpp"

namespace millrace::pipeline {
class service_loop;
}

namespace millrace::loadgen {

class srmp_load final : public pipeline::udp_service {
  struct passkey {};  // make() alone constructs
  struct parts;

 public:
  [[nodiscard]] static base::result<std::unique_ptr<srmp_load>> make(const load_settings& settings);
  srmp_load(passkey, std::unique_ptr<parts> of) noexcept;
  ~srmp_load() override;

  // Before the loop runs.
  base::outcome open_on(pipeline::service_loop& loop);

  void on_datagrams(std::span<const pipeline::udp_arrival> arrivals, pipeline::service_turn& turn) noexcept override;
  [[nodiscard]] std::uint64_t due_ns() const noexcept override;
  void on_time(pipeline::service_turn& turn) noexcept override;
  void on_stop(pipeline::service_turn& turn) noexcept override;
  [[nodiscard]] bool is_finished() const noexcept override;

  // Everything was sent, and answered or given up; or the target never answered.
  [[nodiscard]] bool is_done() const noexcept { return is_finished(); }
  [[nodiscard]] load_figures figures() const noexcept;
  [[nodiscard]] const stats::latency_histogram& latency() const noexcept;
  [[nodiscard]] const load_settings& settings() const noexcept;

 private:
  std::unique_ptr<parts> of_;
};

}  // namespace millrace::loadgen
