// pipeline/service_loop.hpp - the run-to-completion loop of one lcore: hosts below, services above.
//
// Shape    a turn: receive a burst from each interface, have its host judge all of it with the next packets on their
// way
//          into the cache, group what is for services by service, hand each its group, transmit what was said, then
//          whose time is due, then the mailbox. slice() makes a fixed number of turns; run() makes slices until told to
//          stop, and then finishes.
//              auto loop = service_loop::make(settings, interfaces, pool);
//              loop->open(5500, srmp);  loop->open(7, echo);
//              loop->run(stop);                                                  // or slice(), ..., finish()
// Stop     services are told (on_stop), what was received and what still waits in the receive rings is handled, the
//          replies are sent: a request that was answered is never lost. All within stop_patience_ns.
// Balance  rx + originated == tx + delivered + held + drops, in figures(), after finish().
// Units    ns of TSC time; packets.
// Owner    the loop owns hosts and outputs. Ports, pool and services are the caller's and outlive it.
// Errors   make(), open(): a failure that an operator understands. Exhaustion while running is counted.
// Threads  one lcore; counters(), host figures and figures() may be read from anywhere. make(), open(), join() before
// run(). Not here connections, and which loop owns one: datagrams are answered by the lcore whose queue they came to.
// Tests    test/pipeline/service_loop_test.cpp       Bench  bench/pipeline/service_loop_bench.cpp
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "env/tsc_clock.hpp"
#include "pipeline/idle.hpp"
#include "pipeline/impairment.hpp"
#include "pipeline/loop_meter.hpp"
#include "pipeline/udp_service.hpp"
#include "port/mailbox.hpp"

namespace millrace::pipeline {

// One queue pair of a port, and who answers there.
struct loop_interface {
  std::uint16_t port = 0;
  std::uint16_t rx_queue = 0;
  std::uint16_t tx_queue = 0;
  net::host_config host;
};

struct loop_settings {
  std::uint16_t burst_pkts = 32;
  idle_policy idle = idle_policy::adaptive;
  std::uint64_t tx_patience_ns = 10'000'000;
  std::uint64_t stop_patience_ns = 1'000'000'000;
};

class service_loop {
  struct passkey {};

 public:
  static constexpr unsigned turns_per_slice = 256;
  static constexpr unsigned max_interfaces = 16;

  [[nodiscard]] static base::result<std::unique_ptr<service_loop>> make(const loop_settings& settings,
                                                                        std::span<const loop_interface> interfaces,
                                                                        mem::packet_pool& pool);
  service_loop(passkey, const loop_settings& settings, mem::packet_pool& pool) noexcept;
  service_loop(const service_loop&) = delete;
  service_loop& operator=(const service_loop&) = delete;
  ~service_loop();

  // Datagrams to this UDP port, on every address of every interface, are the service's. Before the loop runs.
  base::outcome open(std::uint16_t udp_port, udp_service& service);
  // A service that has a clock and no port of its own yet.
  base::outcome attach(udp_service& service);
  // What comes in by this interface has passed a bad wire. nullptr: a good one. Before the loop runs; `wire` is the
  // caller's and outlives the loop.
  void receive_through(std::size_t interface, impairment* wire) noexcept;
  // Loops whose hosts share interfaces (host_config::instances): what one host learns the others are told. All loops of
  // one appliance, in the order of their instances, once, before they run. `name` is unique in the process.
  static base::outcome join(std::span<service_loop* const> loops, const std::string& name);

  // Slices until `stop` is set, then finish(), with this thread's heap calls counted. On the loop's lcore.
  void run(const std::atomic<bool>& stop) noexcept;
  // For who runs several loops on one lcore, or a test: the first call starts the hosts.
  void slice() noexcept;
  void turn() noexcept;
  // So many turns, of which one in sample_stride is measured, counted over calls; which one is left to chance, because
  // two ends that take turns on one lcore fall into step.
  void turns(unsigned count) noexcept;
  // The first step of a stop alone: services are told, and the loop goes on. For who has to run both ends of an
  // exchange until it is over.
  void tell_services_to_stop() noexcept;
  // Stops gracefully; afterwards nothing is queued or open.
  void finish() noexcept;

  [[nodiscard]] lcore_counters& counters() noexcept { return counters_; }
  [[nodiscard]] std::size_t interfaces() const noexcept { return ways_.size(); }
  [[nodiscard]] net::host& host(std::size_t interface) noexcept;
  [[nodiscard]] udp_output& output(std::size_t interface) noexcept;
  // The loop's counters with what its hosts dropped after having kept it.
  [[nodiscard]] figures total() const noexcept;

 private:
  struct way;            // an interface: port, host, output
  struct neighbourhood;  // the loops whose hosts share our interfaces
  static constexpr unsigned max_services = 16;

  [[nodiscard]] service_turn make_turn(std::uint64_t now_ns) noexcept { return {now_ns, outputs_, counters_.drops}; }
  void start_hosts(std::uint64_t now_ns) noexcept;
  template <class Meter>
  unsigned pass(Meter& meter) noexcept;
  template <class Meter>
  unsigned receive(way& w, Meter& meter, std::uint64_t now_ns) noexcept;
  void judge(way& w, std::uint64_t now_ns) noexcept;
  void hand_over(std::uint64_t now_ns) noexcept;
  void hand_over_mixed(service_turn& turn) noexcept;
  void keep_time(std::uint64_t now_ns) noexcept;
  void exchange_news(std::uint64_t now_ns) noexcept;
  [[nodiscard]] unsigned transmit() noexcept;
  [[nodiscard]] std::uint64_t next_due_ns() const noexcept;
  [[nodiscard]] bool is_quiet() const noexcept;
  void after(unsigned moved) noexcept;
  void measured_turn() noexcept;

  loop_settings settings_;
  mem::packet_pool* pool_;
  env::tsc_clock clock_;
  idler idler_;
  std::uint64_t stamp_cycles_;
  interruption_limit limit_;
  bool started_ = false;
  unsigned until_measured_ = sample_stride;  // turns
  std::uint32_t chance_ = 1;
  bool told_ = false;          // services, to stop
  std::uint64_t turn_ns_ = 0;  // the time of the turn that runs, or ran last
  std::vector<std::unique_ptr<way>> ways_;
  std::vector<udp_output*> outputs_;  // of ways_, as services see them
  std::vector<udp_service*> services_;
  std::unique_ptr<neighbourhood> neighbours_;  // none: this loop is alone
  lcore_counters counters_;
  unsigned arrived_ = 0;  // of arrivals_
  bool mixed_ = false;    // they are for more than one service
  buf::burst rx_;
  std::array<udp_arrival, buf::burst::capacity> arrivals_;
  std::array<std::uint8_t, buf::burst::capacity> service_of_;
  std::array<udp_arrival, buf::burst::capacity> sorted_;
  std::array<std::uint8_t, 65536> service_at_{};  // by UDP port: index into services_ and 1; 0: nobody
  std::array<std::uint8_t, 65536> scratch_;       // a chain as one run
};

}  // namespace millrace::pipeline
