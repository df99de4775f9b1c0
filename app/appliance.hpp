// app/appliance.hpp - what `serve` runs, and the server's half of `loopback`: loops, hosts and services from a
// configuration.
//
// Shape    make() puts, for each lcore, a service_loop together: a host for each interface (instances of one another),
//          the SRMP service (over UDP, over QUIC), hq-interop and the UDP echo as configured. Then either
//              start(); ...; stop();            // each loop on its worker lcore
//          or, made without lcores,
//              slice(); slice(); ...; stop();   // the one loop on the calling lcore
// Ports    one an interface of the configuration, in its order, opened and started, with a queue for each loop.
// Units    as pipeline::figures says.
// Owner    loops, hosts, services and the method table are the appliance's. Ports and pool are the caller's and outlive
//          it. After stop() no packet is held.
// Errors   make(), start(): a failure that an operator understands. Exhaustion while running is counted.
// Threads  control thread; figures, readiness and counters may be read at any time.
// Tests    test/app/appliance_test.cpp, test/app/serve_test.py
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/config.hpp"
#include "pipeline/counts.hpp"
#include "port/port.hpp"

namespace millrace::app {

// Addresses and their duplicate detection, over all loops.
struct appliance_readiness {
  bool settled = false;                                 // every address is ours, or known to be somebody else's
  std::vector<std::pair<std::string, bool>> addresses;  // as configured, "198.18.0.1/24"; whether it is ours
};

// Requests and one-way messages that services took in.
struct appliance_messages {
  std::uint64_t srmp = 0;       // over UDP
  std::uint64_t srmp_quic = 0;  // over QUIC
  std::uint64_t hq = 0;         // bodies that were asked for
  std::uint64_t echo = 0;       // datagrams
  std::uint64_t echo_quic = 0;  // streams

  [[nodiscard]] std::uint64_t all() const noexcept { return srmp + srmp_quic + hq + echo + echo_quic; }
};

class appliance {
 public:
  // `lcores`: EAL worker lcores, a loop each; empty: one loop, for slice(). `name`: unique in the process, for the
  // mailboxes between loops.
  [[nodiscard]] static base::result<std::unique_ptr<appliance>> make(const serve_config& config,
                                                                     std::span<const port::port* const> ports,
                                                                     std::span<const unsigned> lcores,
                                                                     mem::packet_pool& pool,
                                                                     const std::string& name = "serve");
  appliance(const appliance&) = delete;
  appliance& operator=(const appliance&) = delete;
  ~appliance();  // stops

  base::outcome start();  // with lcores only
  // Without lcores only; counts its heap calls.
  void slice(unsigned turns = pipeline::service_loop::turns_per_slice) noexcept;
  void stop() noexcept;  // graceful: what was received is answered; returns when every loop has finished

  // What rings of this process still hold on the appliance's ports is received and freed: counted as held. After
  // stop(); answers how many packets.
  std::uint64_t drain() noexcept;

  [[nodiscard]] bool has_lcores() const noexcept;
  [[nodiscard]] std::size_t loops() const noexcept;
  // For what is to be set before the start: methods besides the built-in ones; nullptr where none are called.
  [[nodiscard]] rpc::method_table* methods() noexcept;
  // The same: a bad wire, another service.
  [[nodiscard]] pipeline::service_loop& loop(std::size_t which) noexcept;
  // The lcore of a loop; of the one without lcores, the lcore that called make().
  [[nodiscard]] unsigned lcore_of(std::size_t loop) const noexcept;
  [[nodiscard]] pipeline::figures of_loop(std::size_t loop) const noexcept;
  [[nodiscard]] pipeline::figures total() const noexcept;
  [[nodiscard]] appliance_readiness readiness() const;

  // The control thread's part, a few times a second: the key log is written, files that were replaced are freed.
  void keep_up() noexcept;
  // Where directories are served: loads them again; what is under way keeps the files it began with. A failure: all is
  // as it was. Takes as long as reading the files does; an appliance without lcores answers nobody meanwhile.
  base::outcome reload();
  [[nodiscard]] bool has_directories() const noexcept;
  // What is served from them, and what not: lines, each ended; empty without.
  [[nodiscard]] std::string describe_directories() const;
  // Of the QUIC certificate; empty without QUIC.
  [[nodiscard]] std::string spki_pin() const;
  // Made by TLS handshakes on data-path lcores.
  [[nodiscard]] std::uint64_t handshake_heap_calls() const noexcept;
  // Of QUIC, with commas between; empty without QUIC.
  [[nodiscard]] std::string protocols() const;
  [[nodiscard]] appliance_messages messages() const noexcept;
  // Counters of hosts and services that tell of trouble, by kind ("srmp_malformed", "rpc_unknown", ...); no zeroes.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> errors() const;
  // Lines of text, each ended: loops with their lcores and queues, interfaces with their addresses, services.
  [[nodiscard]] std::string describe() const;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
  explicit appliance(std::unique_ptr<parts> made) noexcept;
};

}  // namespace millrace::app
