// app/load_quic.hpp - the QUIC clients of `load`: what all lcores share, and a generator for each.
//
// Shape    expected_quic() before EAL runs; make(); then add() a generator for each lcore's loop, in their order.
// Owner    loads are inside; loops that they are opened on go first. The packet pool outlives the object.
// Errors   make(), add(): a failure that an operator understands.
// Threads  control thread; write_key_log() now and then, while the loads run on their lcores.
// Tests    test/app/load_test.py, test/e2e/load_quic_test.py
#pragma once

#include <memory>
#include <vector>

#include "app/fetch_report.hpp"
#include "app/load_quic_options.hpp"
#include "app/load_report.hpp"
#include "app/load_target.hpp"
#include "loadgen/srmp_quic_load.hpp"
#include "tls/key_log.hpp"

namespace millrace::app {

struct quic_need {
  std::size_t memory_bytes = 0;  // of EAL, without packets
  std::uint32_t packets = 0;     // that may wait: received ones for a lost one, sent ones to be acknowledged
};
// Of all generators together.
[[nodiscard]] quic_need expected_quic(load_scheme scheme, const load_quic_options& options, std::size_t lcores);

class quic_clients {
  struct log {  // of one lcore
    tls::key_log_queue queue{65536};
  };
  load_scheme scheme_;
  load_quic_options options_;
  std::shared_ptr<const tls::client_trust> trust_;
  std::vector<std::unique_ptr<log>> logs_;  // behind the contexts that point to them
  tls::key_log_file key_log_;
  bool logs_keys_ = false;
  std::vector<std::unique_ptr<loadgen::fetch_load>> bodies_;
  std::vector<std::unique_ptr<loadgen::srmp_quic_load>> messages_;  // or these

  base::result<std::shared_ptr<const tls::client_context>> make_context(std::string_view protocol);

 public:
  explicit quic_clients(load_scheme scheme, const load_quic_options& options) : scheme_(scheme), options_(options) {}
  [[nodiscard]] static base::result<std::unique_ptr<quic_clients>> make(load_scheme scheme,
                                                                        const load_quic_options& options);

  // The next generator, `i` of `n`, as a service of its lcore's loop.
  base::outcome add(std::size_t i, std::size_t n, mem::packet_pool& pool, pipeline::service_loop& loop);
  // Lines that handshakes have left go into the file; false when it took less.
  bool write_key_log() noexcept;

  [[nodiscard]] bool is_done() const noexcept;
  [[nodiscard]] fetch_end bodies() const { return app::gather(options_.asked, bodies_); }
  [[nodiscard]] load_end messages() const { return app::gather(options_.messages.load, messages_); }
  // How the server's identity is checked, for people.
  [[nodiscard]] std::string_view trust_text() const noexcept;
};

void add_fetch_workload(load_scheme scheme, const load_quic_options& options, workload_parameters& out);
// After add_load_workload(): what SRMP over QUIC has besides.
void add_srmp_quic_workload(const load_quic_options& options, workload_parameters& out);

}  // namespace millrace::app
