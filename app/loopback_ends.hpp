// app/loopback_ends.hpp - both halves of a run of SRMP or of bodies: an appliance on the first of two joined ports,
// clients on the second, wires between them.
//
// Shape    make(); start(); step() until is_done(); finish(); then the figures. With worker lcores each of them runs a
//          loop of the server on a queue pair of its own, and the calling lcore runs a client for each. Without, the
//          calling lcore runs both halves in turn, and neither ever sleeps.
// Stop     tell_to_stop(): nothing new is asked; is_done() once what is in flight has been answered or given up.
// Owner    the object has appliance, clients and wires; the pair of ports is the caller's and outlives it. After
//          finish() no packet is held but in the rings.
// Errors   make(), start(): a failure that an operator understands.
// Threads  the calling lcore, which is the clients'. Tests  test/app/loopback_test.py
#pragma once

#include "app/appliance.hpp"
#include "app/fetch_report.hpp"
#include "app/load_report.hpp"
#include "app/loopback_options.hpp"
#include "app/ring_pair.hpp"
#include "app/stream_report.hpp"
#include "loadgen/fetch_load.hpp"
#include "loadgen/srmp_load.hpp"
#include "loadgen/srmp_quic_load.hpp"

namespace millrace::app {

inline constexpr std::uint32_t most_ring_packets = 32'768;  // rings of 64 K slots, a pool of some 180 MB

class loopback_ends {
 public:
  // `lcores`: EAL's workers; `main`: the calling one.
  [[nodiscard]] static base::result<std::unique_ptr<loopback_ends>> make(const loopback_options& options,
                                                                         const ring_pair& pair, mem::packet_pool& pool,
                                                                         std::span<const unsigned> lcores,
                                                                         unsigned main);
  base::outcome start();
  void step() noexcept;
  [[nodiscard]] bool is_done() const noexcept;
  void tell_to_stop() noexcept;
  void finish() noexcept;

  [[nodiscard]] std::string describe() const;
  [[nodiscard]] load_end echoes() const {
    return quic_echoes_.empty() ? gather(asked_echoes_, echoes_) : gather(asked_quic_echoes_.load, quic_echoes_);
  }
  [[nodiscard]] stream_end streams() const { return gather(asked_streams_, streams_); }
  [[nodiscard]] fetch_end bodies() const { return gather(asked_bodies_, bodies_); }

  // After finish(). An lcore's figures, the server's apart.
  struct half {
    unsigned lcore = 0;
    bool is_server = false;
    pipeline::figures did;
  };
  [[nodiscard]] std::vector<half> halves() const;
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> server_errors() const { return server_->errors(); }
  // Made by TLS handshakes of both halves.
  [[nodiscard]] std::uint64_t handshake_heap_calls() const noexcept;
  // A line about the wires, indented and ended; empty where they are good ones.
  [[nodiscard]] std::string wires_text() const;

 private:
  [[nodiscard]] base::outcome make_server(const loopback_options& options, const ring_pair& pair,
                                          mem::packet_pool& pool, std::span<const unsigned> lcores);
  [[nodiscard]] base::outcome make_client(const loopback_options& options, const ring_pair& pair,
                                          mem::packet_pool& pool, std::uint16_t which, std::uint16_t of);
  void add_wires(const loopback_options& options);
  [[nodiscard]] base::outcome make_tls(const loopback_options& options);

  unsigned main_ = 0;
  loadgen::stream_pattern pattern_;
  loadgen::load_settings asked_echoes_;
  loadgen::stream_settings asked_streams_;
  loadgen::fetch_settings asked_bodies_;
  loadgen::srmp_quic_settings asked_quic_echoes_;
  std::vector<std::unique_ptr<pipeline::impairment>> wires_;  // gone behind the loops that receive through them
  std::unique_ptr<appliance> server_;
  std::vector<std::unique_ptr<loadgen::srmp_load>> echoes_;            // a client has one of these
  std::vector<std::unique_ptr<loadgen::stream_load>> streams_;         // or one of these
  std::vector<std::unique_ptr<loadgen::fetch_load>> bodies_;           // or one of these
  std::vector<std::unique_ptr<loadgen::srmp_quic_load>> quic_echoes_;  // or one of these
  std::vector<std::unique_ptr<pipeline::service_loop>> clients_;
  std::uint64_t cpu_ns_ = 0;  // of the calling lcore at start()
};

// What cannot work of a workload, as far as that is known before EAL runs.
[[nodiscard]] base::outcome check_ends(const loopback_options& options);
// Packets that can be between the halves at once: what windows let.
[[nodiscard]] std::uint64_t most_in_flight(const loopback_options& options) noexcept;
// Packets that streams of QUIC may hold, of each half.
[[nodiscard]] std::uint32_t kept_packets(const loopback_options& options) noexcept;
// Bytes of EAL memory that QUIC endpoints of both halves take.
[[nodiscard]] std::size_t expected_endpoint_bytes(const loopback_options& options, std::size_t lcores);
// Bytes of an item, and of the largest that fits a datagram.
[[nodiscard]] std::uint32_t largest_item(const loopback_options& options) noexcept;
[[nodiscard]] std::uint32_t stream_item(const loopback_options& options) noexcept;
// The name of the method that streams.
inline constexpr std::string_view stream_method_name = "Bench/Stream";

}  // namespace millrace::app
